"""Assignments: tasks of sub-agents, run as parallel branches, each of which can be cancelled by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import anyio

from flowgraph.call import Call
from flowgraph.context import Context
from flowgraph.node import Node, Parameter
from flowgraph.outcome import Outcome
from flowgraph_nodes.agents.autonomous.rolls import Assignment, Profile, TaskReport, TaskStatus
from flowgraph_nodes.agents.errors import AgentFailed
from flowgraph_nodes.agents.part import Answer
from flowgraph_nodes.tools.text import to_text


@dataclass(slots=True, eq=False)
class Task:
    """One assignment and how far it is. clock: the run's time."""

    assignment: Assignment
    profile: Profile
    clock: Callable[[], float]
    status: TaskStatus = "pending"
    attempts: int = 0
    text: str = ""
    begun: float | None = None
    ended: float | None = None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    @property
    def open(self) -> bool:
        """Whether something may still come of it."""
        return self.status in ("pending", "running")

    @property
    def report(self) -> TaskReport:
        """Where it stands."""
        own, name = self.assignment, self.profile.name
        return TaskReport(own.task_id, own.agent_id, name, self.status, self.attempts, self.seconds, self.text)

    @property
    def seconds(self) -> float:
        """How long it took, or takes so far, to the millisecond."""
        if self.begun is None:
            return 0.0
        return round((self.clock() if self.ended is None else self.ended) - self.begun, 3)

    def cancel(self) -> None:
        """Stop it."""
        if self.open:
            self.end("cancelled", "it was cancelled before it had a result")
            self.scope.cancel()

    def end(self, status: TaskStatus, text: str) -> None:
        """Nothing more comes of it."""
        if self.open:
            self.status, self.text, self.ended = status, text, self.clock()

    async def run(self, call: Call[Outcome[Answer]]) -> None:
        """Run the sub-agent's node run, and note how it ended. A failure is noted, not raised."""
        if not self.open:
            return
        self.status, self.begun, self.attempts = "running", self.clock(), 1
        with self.scope:
            outcome = await call
            self.attempts = max(outcome.attempts, 1)
            if outcome.ok and outcome.value is not None:
                self.end("completed", to_text(outcome.value.output))
            else:
                self.end("failed", _why(outcome))


@dataclass(frozen=True, slots=True, repr=False)
class Assignments:
    """Assignments as a node: `assign-1`, its children are the sub-agents' runs, `assign-1/<agent_name>`.

    It gives a report for each, in their order, and never fails by a failure of theirs.
    """

    tasks: tuple[Task, ...]
    worker: Callable[[Profile], Node]

    name: ClassVar[str] = "assign"
    kind: ClassVar[str] = "parallel"
    parameters: ClassVar[Mapping[str, Parameter]] = {"assignments": Parameter("assignments", list[Assignment])}
    output_type: ClassVar[Any] = list[TaskReport]

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> list[TaskReport]:
        """Run all of them side by side."""
        calls: list[Call[None]] = []
        for task in self.tasks:
            worker = self.worker(task.profile)
            child = ctx.call(worker, {"task": task.assignment.task}, name=task.profile.name, outcome=True)
            calls.append(Call(child.path, partial(task.run, child), child.announce))
        await ctx.gather(*calls)
        return [task.report for task in self.tasks]


def _why(outcome: Outcome[Any]) -> str:
    error = outcome.error
    if isinstance(error, AgentFailed):
        partial_answer = f"; what there is: {error.partial}" if error.partial else ""
        return f"{error.reason}: {error.detail}{partial_answer}"
    return str(outcome.reason)
