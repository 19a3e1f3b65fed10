"""The journal of a run at work: every lasting event goes to the store; a node starts when all before it is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

import anyio

from . import events as ev
from .errors import StoreError, brief
from .outcome import Status
from .rows import row_of
from .stores.base import Batch, Claim, Head, Store
from .threads import to_its_end


class Journal:
    """Writes the events of one run. `add` never waits; `stored` waits until everything added so far is in the store.

    What many tasks add while a write is under way goes with the next one, in one transaction. store: where it goes.
    error: why nothing more can be written.
    """

    __slots__ = (
        "_added",
        "_at",
        "_claim",
        "_due",
        "_head",
        "_rows",
        "_status",
        "_values",
        "_writing",
        "_written",
        "error",
        "store",
    )

    def __init__(self, store: Store, claim: Claim, head: Head) -> None:
        self.store = store
        self.error: StoreError | None = None
        self._claim = claim
        self._head = head
        self._status, self._at, self._due = head.status, head.updated, head.due
        self._added = self._written = head.length
        self._rows: list[str] = []
        self._values: dict[str, str] = {}
        self._writing: anyio.Event | None = None

    def add(self, event: ev.Lasting, text: str | None = None) -> None:
        """Add an event. text: its output, answer or inputs, as the codec gave it."""
        if self.error is not None:
            return
        row = row_of(event, text)
        self._rows.append(row.text)
        if row.values:
            self._values.update(row.values)
        self._added += 1
        self._at = event.at
        if not event.path:
            self._status = str(_STATUS.get(type(event)) or getattr(event, "status", None) or self._status)
            self._due = event.due if isinstance(event, ev.RunPaused) else None

    async def stored(self) -> None:
        """Wait until all that was added before is stored. Raises StoreError when it cannot be."""
        wanted = self._added
        while self.error is None and self._written < wanted:
            if self._writing is None:
                await self._write()
            else:
                await self._writing.wait()
        if self.error is not None:
            raise self.error

    async def _write(self) -> None:
        """Write what has been added by now. A cancellation waits for it, for a moment: what is stored counts."""
        rows, values = self._rows, self._values
        self._rows, self._values = [], {}
        self._writing = anyio.Event()
        head = replace(self._head, status=self._status, updated=self._at, due=self._due, length=self._added)
        batch = Batch(self._claim, head, self._written, rows, values)
        try:
            await self._call(partial(self._store_batch, batch))
        finally:
            self._writing.set()
            self._writing = None

    def _store_batch(self, batch: Batch) -> None:
        """On the thread: a cancelled caller never hears what came of it."""
        try:
            self.store.write([batch])
        except StoreError as error:
            self.error = error
        except BaseException as error:
            self.error = StoreError(f"run {batch.head.run_id} cannot be stored: {brief(error)}")
            raise
        else:
            self._written += len(batch.rows)

    async def close(self) -> None:
        """Give the run back to whoever claims it next."""
        await self._call(partial(self.store.release, self._claim))

    async def _call(self, body: Callable[[], None]) -> None:
        if self.store.instant:
            body()
        else:
            await to_its_end(body)


_STATUS: Final[dict[type[ev.Lasting], Status]] = {
    ev.RunStarted: Status.RUNNING,
    ev.RunResumed: Status.RUNNING,
    ev.RunPaused: Status.PAUSED,
}
