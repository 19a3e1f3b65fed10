"""A store in memory, for tests and for what need not outlive the process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..errors import RunBusy, RunExists, RunNotFound
from . import refusals
from .base import Batch, Claim, Head, Journal, Memo


@dataclass(slots=True)
class _Stored:
    head: Head
    rows: list[str] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)


class MemoryStore:
    """Runs that are forgotten when the store is closed, or with the process. See `Store` for the methods."""

    instant = True  # nothing here blocks: no thread is worth its while

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._runs: dict[str, _Stored] = {}
        self._values: dict[str, str] = {}
        self._memos: dict[str, Memo] = {}
        self._claims: dict[str, Claim] = {}
        self._epoch = 0
        self._closed = False

    @property
    def name(self) -> str:
        return "memory"

    def claim(self, run_id: str, new: Head | None = None) -> Claim:
        with self._mutex:
            self._check_open()
            if new is None:
                self._find(run_id)
            elif run_id in self._runs:
                raise RunExists(f"there is a run {run_id} in {self.name} already")
            self._check_free(run_id)
            if new is not None:
                self._runs[run_id] = _Stored(replace(new, run_id=run_id, length=0, owner=""))
            self._epoch += 1
            claim = self._claims[run_id] = Claim(run_id, refusals.this_process(), self._epoch)
            return claim

    def release(self, claim: Claim) -> None:
        with self._mutex:
            if self._claims.get(claim.run_id) == claim:
                del self._claims[claim.run_id]

    def write(self, batches: Sequence[Batch]) -> None:
        with self._mutex:
            self._check_open()
            self._check_batches(batches)
            for batch in batches:
                run = self._runs[batch.claim.run_id]
                run.rows.extend(batch.rows)
                run.head = replace(batch.head, run_id=batch.claim.run_id, length=len(run.rows), owner="")
                run.uses.update(batch.values)
                for digest, text in batch.values.items():
                    self._values.setdefault(digest, text)

    def read(self, run_id: str) -> Journal:
        with self._mutex:
            self._check_open()
            run = self._find(run_id)
            return Journal(self._head(run), list(run.rows), {digest: self._values[digest] for digest in run.uses})

    def heads(self) -> list[Head]:
        with self._mutex:
            self._check_open()
            heads = [self._head(run) for run in self._runs.values()]
        return sorted(heads, key=lambda head: (-head.started, head.run_id))

    def delete(self, run_id: str) -> None:
        with self._mutex:
            self._check_open()
            self._find(run_id)
            self._check_free(run_id)
            dropped = self._runs.pop(run_id).uses
            for run in self._runs.values():
                dropped -= run.uses
            for digest in dropped:
                del self._values[digest]

    def recall(self, key: str) -> Memo | None:
        with self._mutex:
            self._check_open()
            return self._memos.get(key)

    def remember(self, key: str, memo: Memo) -> None:
        with self._mutex:
            self._check_open()
            self._memos[key] = memo

    def forget(self, before: float) -> int:
        with self._mutex:
            self._check_open()
            old = [key for key, memo in self._memos.items() if memo.at < before]
            for key in old:
                del self._memos[key]
            return len(old)

    def close(self) -> None:
        with self._mutex:
            self._closed = True
            for kept in (self._runs, self._values, self._memos, self._claims):
                kept.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise refusals.closed(self.name)

    def _check_free(self, run_id: str) -> None:
        if claim := self._claims.get(run_id):
            raise RunBusy(run_id, claim.owner)

    def _check_batches(self, batches: Sequence[Batch]) -> None:
        """Before anything is added, since nothing may be when one is refused."""
        lengths: dict[str, int] = {}
        for batch in batches:
            run_id = batch.claim.run_id
            if self._claims.get(run_id) != batch.claim:
                raise refusals.lost(batch.claim, self.name, "it was released")
            length = lengths.get(run_id, len(self._runs[run_id].rows))
            if batch.first != length:
                raise refusals.does_not_follow(run_id, self.name, batch.first, length)
            lengths[run_id] = length + len(batch.rows)

    def _find(self, run_id: str) -> _Stored:
        if run_id not in self._runs:
            raise RunNotFound(f"there is no run {run_id} in {self.name}")
        return self._runs[run_id]

    def _head(self, run: _Stored) -> Head:
        claim = self._claims.get(run.head.run_id)
        return replace(run.head, owner=claim.owner if claim else "")
