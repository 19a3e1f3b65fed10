"""Stations: what stands behind the context of a node run at work, as far as that needs nothing of its attempts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from . import events as ev
from .attempt import Job
from .budget import Budget
from .call import Call, Place
from .gate import Asked, Sleep
from .gather import gather
from .node import Node
from .node_run import NodeRun
from .outcome import NO_USAGE, Outcome, Usage
from .past import Recorded
from .policy import Policy, Seconds
from .question import Question
from .runtime import Runtime
from .threads import Portal
from .waits import wait_for_answer, wait_until


class Station(ABC):
    """One node run at work, and what its context can do. above: the node run that it is below; None: the run itself.

    job: its attempt. waiting: for a person. blocks, beside: see `background.Body`. touched: in a resumed run, something
    was called anew, here or below.
    """

    __slots__ = (
        "_usage",
        "above",
        "beside",
        "blocks",
        "budgets",
        "depth",
        "detail",
        "job",
        "node",
        "run",
        "runtime",
        "touched",
        "waiting",
    )

    continues: bool
    recorded: Recorded | None
    depth: int
    budgets: tuple[Budget, ...]

    def __init__(self, runtime: Runtime, run: NodeRun, node: Node, above: Station | None) -> None:
        self.runtime = runtime
        self.node = node
        self.depth = 1 if above is None else above.depth + 1
        self.budgets = runtime.budgets if above is None else above.budgets
        self.run = run
        self.above = above
        self.job: Job | None = None
        self.detail: dict[str, Any] | None = None
        self.waiting = False
        self.blocks = self.beside = 0
        self.touched = False
        self._usage = NO_USAGE

    @property
    def path(self) -> str:
        """The path of the node run."""
        return self.run.path

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.runtime.run_id

    @property
    def deps(self) -> Any:
        """What the run was given as deps."""
        return self.runtime.deps

    @property
    def started_at(self) -> float:
        """When the run started."""
        return self.runtime.record.root.started or 0.0

    def now(self) -> float:
        """The run's time."""
        return self.runtime.now()

    def listened(self) -> bool:
        """Whether somebody reads the events."""
        return bool(self.runtime.readers)

    def outcomes(self) -> dict[str, Outcome[Any]]:
        """How its children have ended so far."""
        return {child.name: child.outcome for child in self.run.children}

    async def wait_for_answer(self, question: Question) -> Any:
        """Wait for a person."""
        return await wait_for_answer(self, question)

    def ring(self) -> None:
        """Let it be seen whether nothing is left but to wait for people."""
        if self.runtime.desk.open:
            self.runtime.desk.ring()

    async def wait_until(self, seconds: float) -> None:
        """Sleep for so many seconds, or what is left of them."""
        await wait_until(self, seconds)

    def ask(self, question: Question, name: str) -> Call[Outcome[Any]]:
        """The call of a child that asks a person."""
        asked = Asked(question, name)
        return self.spawn(asked, asked.inputs, Place(name=name), Policy())

    def sleep(self, duration: Seconds) -> Call[Outcome[Any]]:
        """The call of a child that sleeps."""
        sleep = Sleep(duration)
        return self.spawn(sleep, sleep.inputs, Place(), Policy())

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let the time limits of this node run, of those above it and of the run stand still."""
        limits = [self.runtime.time]
        station: Station | None = self
        while station is not None:
            if station.job is not None and station.job.time is not None:
                limits.append(station.job.time)
            station = station.above
        for limit in limits:
            limit.hold()
        try:
            yield
        finally:
            for limit in limits:
                limit.let_go()

    async def gather(self, calls: tuple[Call[Any], ...], limit: int | None) -> list[Any]:
        """Run calls as branches."""
        return await gather(calls, limit)

    async def in_thread(self, function: Callable[[], Any], portal: Portal | None = None) -> Any:
        """Call a function on a worker thread of the run."""
        return await self.runtime.threads.run(function, portal)

    def emit(self, kind: str, data: Any) -> None:
        """Show a custom event."""
        if self.runtime.readers:
            self.runtime.show(ev.Emitted(self.now(), self.path, kind, data))

    def log(self, message: str, fields: dict[str, Any]) -> None:
        """Show a log line."""
        if self.runtime.readers:
            self.runtime.show(ev.Logged(self.now(), self.path, message, fields))

    def charge(self, usage: Usage) -> None:
        """Count usage."""
        self._usage += usage
        admitted = getattr(self.node, "spends", None) is not None
        for budget in self.budgets:
            budget.charge(usage, admitted)

    def keep(self, details: dict[str, Any]) -> None:
        """Keep details."""
        self.detail = {**(self.detail or {}), **details}

    def take_usage(self) -> Usage | None:
        """What was charged since this was asked last."""
        usage, self._usage = self._usage, NO_USAGE
        return None if usage is NO_USAGE else usage

    @abstractmethod
    def spawn(self, node: Any, inputs: Mapping[str, Any] | None, place: Place, policy: Policy) -> Call[Outcome[Any]]:
        """Reserve the place of a child; it starts when the call is awaited."""

    @abstractmethod
    async def run_graph(self, graph: Any, inputs: dict[str, Any]) -> Any:
        """Run a graph in place, its nodes being children."""
