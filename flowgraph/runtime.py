"""What all parts of one run share: its record, its clock, its readers, its slots."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from threading import get_ident
from typing import Any, Literal, TypedDict

import anyio

from . import events as ev
from .backends.base import Backend
from .budget import Budget
from .desk import Desk
from .errors import StoreError
from .grace import Grace
from .journal import Journal
from .keeping import Where
from .memos import Memos
from .node_run import NodeRun
from .past import Past
from .policy import Limits, Policy, Seconds, seconds
from .record import Run
from .slots import Priority, Slot, Slots
from .streams import Reader
from .threads import Pool, waker
from .time_limit import TimeLimit


class ResumeOptions(TypedDict, total=False):
    """What every way of running takes, going on with a run included.

    deps: what nodes see as `ctx.deps`. on_failure: "isolate" (default: branches that do not depend on a failed node go
    on) or "stop" (a failure that nothing handles cancels the rest). limits: a `Limits`. max_concurrency: at most so
    many nodes at work at a time; one that waits for its children does not count (default: no limit). groups: the same
    for nodes whose policy names a group. threads: at most so many worker threads for sync nodes (default 64). replace:
    nodes to swap for this run, see `fg.replace`. answers: path → answer for gates. strict_replay: a resumed run that
    calls other children than before fails. grace: seconds (or timedelta; default 10) after which a node that was told
    to end and goes on is named in a warning of the logger "flowgraph" and in a `Logged` event; the run waits for it
    all the same.
    """

    deps: Any
    on_failure: Literal["isolate", "stop"]
    limits: Limits | None
    max_concurrency: int | None
    groups: Mapping[str, int] | None
    threads: int
    replace: Mapping[str, Any] | None
    answers: Mapping[str, Any] | None
    strict_replay: bool
    grace: Seconds


class RunOptions(ResumeOptions, total=False):
    """What running takes, beside the graph and its inputs: the options of `ResumeOptions`, and these three.

    store: where the run is kept, so that it can be resumed: a path (a SQLite file), the address of a PostgreSQL
    database, or a store (default: nowhere). run_id: a name for the run (default: a random one); when the store has a
    run of that name, it goes on with that. target: where the graph is to be found, such as "pipeline.py:graph"; it is
    kept with the run, so that `flowgraph resume` need not be told.
    """

    run_id: str | None
    store: Where | None
    target: str


class Runtime:
    """One run's services. `tell_*` make an event, fold it into the record and show it to every reader."""

    __slots__ = (
        "_closed",
        "_offset",
        "_thread",
        "_wake",
        "at_work",
        "backend",
        "budgets",
        "deps",
        "desk",
        "fault",
        "grace",
        "groups",
        "journal",
        "late",
        "memos",
        "past",
        "pausing",
        "readers",
        "record",
        "run_id",
        "scope",
        "slots",
        "stop_on_failure",
        "threads",
        "time",
    )

    def __init__(
        self,
        backend: Backend,
        record: Run,
        options: RunOptions,
        run_id: str,
        journal: Journal | None = None,
        past: Past | None = None,
    ) -> None:
        self.backend = backend
        self.record = record
        self.run_id = run_id
        self.journal = journal
        self.past = past
        self.memos = Memos(None if journal is None else journal.store)
        self.desk = Desk(options.get("answers"))
        self.pausing = False  # what is at work is told to end, and none of it is final
        self.fault: StoreError | None = None  # why the run cannot go on
        self.time = TimeLimit()
        self.budgets: tuple[Budget, ...] = ()
        self.deps = options.get("deps")
        limit, groups = options.get("max_concurrency"), options.get("groups") or {}
        self.slots = None if limit is None else Slots(limit)
        self.groups = {name: Slots(size, f"the limit of group '{name}'") for name, size in groups.items()}
        self.stop_on_failure = _stops(options.get("on_failure", "isolate"))
        self.scope: anyio.CancelScope | None = None
        self.threads = Pool(options.get("threads", 64))
        self.grace = Grace(seconds(options.get("grace", 10), "grace"), self._tell_late)
        self.late: list[str] = []
        self.at_work: dict[str, NodeRun] = {}  # path → node run, while an attempt of it is at work
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

    def slot(self, policy: Policy, weight: int) -> Slot | None:
        """What an attempt has to hold while it is at work; None when nothing limits it."""
        if self.slots is None and not self.groups:
            return None
        group = self.groups.get(policy.group) if policy.group is not None else None
        pools = tuple(pool for pool in (group, self.slots) if pool is not None)
        priority: Priority = (policy.priority or 0, weight)
        return Slot(pools, priority) if pools else None

    @property
    def why_cancelled(self) -> str:
        """In words, for the nodes that were cut off."""
        if self.fault is not None:
            return "the run could not be stored"
        timed_out = self.scope is not None and self.scope.cancel_called
        return "the run's time was up" if timed_out else "from outside"

    def _tell_late(self, path: str) -> None:
        """Name what goes on at or below `path`, in the log and in the record of the run."""
        import logging  # not before it is needed

        below = [run for run in self.at_work.values() if _within(run.path, path)]
        parents = {id(run.parent) for run in below}
        for late in [run.path for run in below if id(run) not in parents] or [path]:
            self.late.append(late)
            name = f"'{late}'" if late else f"something of the run of '{self.record.graph}'"
            text = (
                f"{name} goes on {self.grace.seconds:g} s after it was told to end, and the run waits for it: {_ADVICE}"
            )
            logging.getLogger("flowgraph").warning(text)
            self.show(ev.Logged(self.now(), late, text, {"grace": self.grace.seconds}))

    def tell(self, event: ev.Lasting, text: str | None = None) -> None:
        """Keep a lasting event and show it. text: the value that it holds, encoded."""
        self.record.apply(event)
        if self.journal is not None:
            self.journal.add(event, text)
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

    def budget(self, limits: Limits, run: NodeRun, depth: int = 0) -> Budget:
        """A budget for a node run and all below it, with what was used of it in a run that is taken up again."""
        begun = [node for node in run.walk() if node.attempt and node is not run]
        retries = sum(node.attempt - 1 for node in begun)
        return Budget(limits, run.path, self._tell_near, depth, run.usage, len(begun), retries)

    def _tell_near(self, path: str, limit: str, used: float, most: float) -> None:
        self.show(ev.LimitNear(self.now(), path, limit, used, most))

    async def stored(self) -> None:
        """Wait until all events are stored. When they cannot be, the run is told to end, and we with it."""
        assert self.journal is not None
        try:
            await self.journal.stored()
        except StoreError as error:
            self.fault = error
            if self.scope is not None:
                self.scope.cancel()
            await anyio.lowlevel.checkpoint()

    def spawn(self, parent: NodeRun, path: str, kind: str, title: str, inputs: str | None = None) -> NodeRun:
        """Record a child that a node run calls. inputs: their digest."""
        self.tell(ev.Spawned(self.now(), path, self.seq, parent.path, kind, title, inputs))
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


_ADVICE = "it catches cancellation and carries on, or cleans up for long"


def _within(path: str, outer: str) -> bool:
    """Whether a node run is the one at `outer`, or below it."""
    return not outer or path == outer or (path.startswith(outer) and path[len(outer)] in "/#[")


def new_run_id() -> str:
    """A name for a run: short, random, safe in paths."""
    return os.urandom(6).hex()


def _stops(on_failure: str) -> bool:
    if on_failure not in ("isolate", "stop"):
        raise ValueError(f"on_failure must be 'isolate' or 'stop', not {on_failure!r}")
    return on_failure == "stop"
