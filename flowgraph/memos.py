"""Memos: outputs of nodes that are remembered by what went in, within a run and, with a store, from run to run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, NamedTuple

import anyio

from .codec import decode, digest
from .errors import StoreError
from .stores.base import Memo, Store
from .threads import Pool


class Remembered(NamedTuple):
    """An output, and when it was made (seconds since the epoch)."""

    value: Any
    at: float


class Memos:
    """What one run remembers. store: where it is kept beyond the run; None: nowhere.

    Of equal calls at the same time one is made, and the others wait for what it gives (single flight).
    """

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._own: dict[str, Remembered] = {}
        self._flights: dict[str, anyio.Lock] = {}
        self._pool = Pool(1)

    @asynccontextmanager
    async def flight(self, key: str) -> AsyncIterator[None]:
        """One at a time for each key."""
        async with self._flights.setdefault(key, anyio.Lock()):
            yield

    async def recall(self, key: str, type_: Any, oldest: float) -> Remembered | None:
        """What is remembered under a key, unless it was made before `oldest` (seconds since the epoch)."""
        found = self._own.get(key)
        if found is None and self._store is not None:
            memo: Memo | None = await self._pool.run(partial(self._store.recall, key))
            try:
                found = None if memo is None else Remembered(decode(memo.text, type_), memo.at)
            except StoreError:  # the output's type was another one then
                return None
        return found if found is not None and found.at >= oldest else None

    async def remember(self, key: str, made: Remembered, text: str | None) -> None:
        """Remember an output. text: as the codec gave it, where there is a store."""
        self._own[key] = made
        if self._store is not None and text is not None:
            with anyio.CancelScope(shield=True):
                await self._pool.run(partial(self._store.remember, key, Memo(text, made.at)))


def key_of(place: str, version: str, inputs: dict[str, Any]) -> str | None:
    """A key for a node at a place of a graph, its version and its inputs; None when these have no stable form."""
    hashed = digest(inputs)
    if hashed is None:
        return None
    return hashlib.sha256(json.dumps([place, version, hashed]).encode()).hexdigest()
