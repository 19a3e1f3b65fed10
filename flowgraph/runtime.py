"""What all parts of one run share: its record, its clock, its readers, its slots."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from threading import get_ident
from typing import Any

from . import events as ev
from .attempt import Slots
from .backends.base import Backend
from .outcome import Usage
from .record import NodeRun, Run
from .streams import Reader
from .threads import Pool, waker


class Runtime:
    """One run's services. `tell_*` make an event, fold it into the record and show it to every reader."""

    __slots__ = (
        "_closed",
        "_offset",
        "_thread",
        "_wake",
        "backend",
        "deps",
        "readers",
        "record",
        "run_id",
        "slots",
        "threads",
    )

    def __init__(
        self, backend: Backend, record: Run, run_id: str, deps: Any, max_concurrency: int | None, threads: int
    ) -> None:
        self.backend = backend
        self.record = record
        self.run_id = run_id
        self.deps = deps
        self.slots = None if max_concurrency is None else Slots(max_concurrency)
        self.threads = Pool(threads)
        self.readers: list[Reader] = []
        self._closed = False
        self._thread, self._wake = get_ident(), waker()
        self._offset = time.time() - backend.now()

    def now(self) -> float:
        """Seconds since the epoch, by the backend's clock."""
        return self.backend.now() + self._offset

    @property
    def seq(self) -> int:
        """The number of the next lasting event."""
        return len(self.record.events)

    def tell(self, event: ev.Lasting) -> None:
        """Keep a lasting event and show it."""
        self.record.apply(event)
        for reader in self.readers:
            reader.put(event)

    def show(self, event: ev.Passing) -> None:
        """Show a passing event to whoever listens. Worker threads may do so, too."""
        if get_ident() != self._thread:
            with suppress(RuntimeError):  # the loop has gone, and with it everybody who listened
                self._wake(partial(self.show, event))
            return
        for reader in self.readers:
            reader.put(event)

    def spawn(self, parent: NodeRun, path: str, kind: str, title: str) -> NodeRun:
        """Record a child that a node run calls."""
        self.tell(ev.Spawned(self.now(), path, self.seq, parent.path, kind, title))
        return self.record.nodes[path]

    def reader(self) -> Reader:
        """A new reader of everything from the start of the run on."""
        reader = Reader(self.record.events)
        if self._closed:
            reader.close()
        else:
            self.readers.append(reader)
        return reader

    def close(self) -> None:
        """The run is over: readers come to their end."""
        self._closed = True
        for reader in self.readers:
            reader.close()


NO_USAGE = Usage()
