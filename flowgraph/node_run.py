"""Node runs: one node in one run, as the record of the run has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .outcome import MISSING, NO_USAGE, Outcome, Reason, Status, Usage


@dataclass(frozen=True, slots=True)
class OpenGate:
    """A question to a person. path: of the node run that waits. schema: JSON schema of the answer.

    opened, due: seconds since the epoch; due None: it has no time limit. has_default: it takes a default when its time
    is up (else the node fails). answer: MISSING until somebody answered.
    """

    path: str
    question: str
    schema: dict[str, Any]
    opened: float
    due: float | None = None
    has_default: bool = False
    answer: Any = MISSING


@dataclass(slots=True, eq=False)
class NodeRun:
    """One node in one run, addressed by its path; `children` are the node runs that it spawned, in order.

    Times are seconds since the epoch by the run's clock. usage: its own and that of everything below it, all
    attempts included. chosen: the label that its choice took. detail: what the node kept (`ctx.keep`), such as an
    agent's messages. Children belong to an attempt: `earlier` holds those of the attempts before the last.
    inputs: a hash of what it was called with. due: until when it waits, for the next attempt or the end of a sleep.
    gate: what it asks, or asked, a person. causes: paths of the children that made it fail. withheld: its output holds
    a secret and was not stored. edges: where it is a graph, those among its nodes, by name.
    spent: seconds of the attempts before the last, and of the waits between them.
    """

    path: str
    name: str
    kind: str = ""
    title: str = ""
    parent: NodeRun | None = field(default=None, repr=False)
    status: Status = Status.PENDING
    reason: Reason | None = None
    error: BaseException | None = None
    value: Any = MISSING
    started: float | None = None
    ended: float | None = None
    attempt: int = 0
    usage: Usage = NO_USAGE
    chosen: str = ""
    detail: dict[str, Any] = field(default_factory=dict)
    children: list[NodeRun] = field(default_factory=list, repr=False)
    earlier: tuple[list[NodeRun], ...] = field(default=(), repr=False)
    inputs: str | None = None
    due: float | None = None
    gate: OpenGate | None = None
    causes: tuple[str, ...] = ()
    withheld: bool = False
    spent: float = 0.0
    edges: tuple[tuple[str, str], ...] = ()

    @property
    def duration(self) -> float | None:
        """Seconds from the first start to the end; None while it has not ended, or when it never ran."""
        return None if self.started is None or self.ended is None else self.ended - self.started

    @property
    def outcome(self) -> Outcome[Any]:
        """How it ended."""
        value = None if self.value is MISSING else self.value
        return Outcome(self.status, value, self.reason, self.error, self.attempt, self.path)

    def walk(self) -> Iterator[NodeRun]:
        """This node run and everything below it, depth first, in order."""
        return (node for node, _ in self.levels())

    def levels(self) -> Iterator[tuple[NodeRun, int]]:
        """The same, each with how far below this one it is."""
        stack = [(self, 0)]
        while stack:
            node, depth = stack.pop()
            yield node, depth
            stack.extend((child, depth + 1) for child in reversed(node.children))
