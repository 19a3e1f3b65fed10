"""Opening a store by its name: the same place twice in a process is one store."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from ..errors import StoreError
from . import addresses, refusals
from .base import Batch, Claim, Head, Journal, Memo, Store

_mutex: Final = threading.Lock()


@dataclass(slots=True)
class _Shared:
    store: Store
    users: int


_shared: Final[dict[object, _Shared]] = {}


def open_store(where: str | os.PathLike[str] | Store) -> Store:
    """The store at a path, "sqlite:///path" or "postgresql://…", made when there is none; or the store that is given.

    Closing what is returned gives back the claims that were made through it, and closes the store itself when it was
    opened here and nobody else in the process uses it. Raises StoreError, and TypeError for what is neither.
    """
    if not isinstance(where, str | os.PathLike):
        if not callable(getattr(where, "claim", None)):
            raise TypeError(f"store= wants a path, an address or a store, not {where!r}: write store='runs.db'")
        return _Share(where, lambda: None)
    # A process that was forked must not use what its parent has open.
    place = (os.getpid(), addresses.parse(where))
    with _mutex:
        if place not in _shared:
            from .sql import SQLStore

            _shared[place] = _Shared(SQLStore(where), 0)
        _shared[place].users += 1
        return _Share(_shared[place].store, lambda: _leave(place))


def _leave(place: object) -> None:
    with _mutex:
        _shared[place].users -= 1
        if _shared[place].users == 0:
            _shared.pop(place).store.close()


class _Share:
    """A store as one of its users sees it."""

    def __init__(self, store: Store, leave: Callable[[], None]) -> None:
        self._store = store
        self._leave = leave
        self._claims: set[Claim] = set()
        self._mutex = threading.Lock()
        self._closed = False

    @property
    def name(self) -> str:
        return self._store.name

    @property
    def instant(self) -> bool:
        return self._store.instant

    def claim(self, run_id: str, new: Head | None = None) -> Claim:
        claim = self._open().claim(run_id, new)
        self._claims.add(claim)
        return claim

    def release(self, claim: Claim) -> None:
        self._claims.discard(claim)
        self._store.release(claim)

    def write(self, batches: Sequence[Batch]) -> None:
        self._open().write(batches)

    def read(self, run_id: str) -> Journal:
        return self._open().read(run_id)

    def heads(self) -> list[Head]:
        return self._open().heads()

    def delete(self, run_id: str) -> None:
        self._open().delete(run_id)

    def recall(self, key: str) -> Memo | None:
        return self._open().recall(key)

    def remember(self, key: str, memo: Memo) -> None:
        self._open().remember(key, memo)

    def forget(self, before: float) -> int:
        return self._open().forget(before)

    def close(self) -> None:
        with self._mutex:
            if self._closed:
                return
            self._closed = True
        for claim in list(self._claims):
            # As in every store: what cannot be noted is no reason to stay open.
            with suppress(StoreError):
                self._store.release(claim)
        self._leave()

    def _open(self) -> Store:
        if self._closed:
            raise refusals.closed(self.name)
        return self._store
