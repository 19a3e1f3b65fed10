"""Events: what happens in a run, as frozen data.

*Lasting* events are numbered without gaps; the record of a run is folded from them alone. *Passing* events (deltas,
logs, heartbeats, custom ones) are not kept: a slow reader loses the oldest and is told so by a `Gap`.

Event
├── Lasting                  seq, at, path
│   ├── RunStarted, RunFinished
│   ├── GraphStarted         a node run that is a graph begins: the node runs below it
│   ├── NodeStarted          an attempt begins
│   ├── NodeRetrying         an attempt failed, the next one follows after a wait
│   ├── Spawned              a node called another: a child node run
│   ├── Decided              a choice took a label or had no case, or a condition was true
│   └── NodeFinished         the one final status of a node run
└── Passing                  at, path
    ├── Emitted              from ctx.emit (kind, data); models emit "text", "reasoning", "tool_call", …
    ├── Logged               from ctx.log
    └── Gap                  events that this reader lost
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .outcome import Reason, Status, Usage

Outline: TypeAlias = tuple[tuple[str, str, str], ...]
"""The nodes of a graph, in order: name, kind and title of each."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at `at` (seconds since the epoch) in the node run `path` ("" is the run itself)."""

    at: float
    path: str


@dataclass(frozen=True, slots=True)
class Lasting(Event):
    """An event that is kept; `seq` counts them from 0 without gaps."""

    seq: int


@dataclass(frozen=True, slots=True)
class RunStarted(Lasting):
    """A run begins: its id, the graph's name and its inputs, and of each of its nodes the name, kind and title."""

    run_id: str
    graph: str
    inputs: dict[str, Any]
    nodes: Outline = ()


@dataclass(frozen=True, slots=True)
class GraphStarted(Lasting):
    """The node run `path` is a graph and begins: its name, and of each of its nodes the name, kind and title."""

    graph: str
    nodes: Outline


@dataclass(frozen=True, slots=True)
class NodeStarted(Lasting):
    """An attempt (1-based) of a node run begins."""

    attempt: int


@dataclass(frozen=True, slots=True)
class NodeRetrying(Lasting):
    """An attempt failed and the next one starts after `delay` seconds."""

    attempt: int
    delay: float
    reason: Reason
    error: BaseException | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Spawned(Lasting):
    """A node run (`parent`) called another node: the child run `path`, of `kind`, drawn with `title`."""

    parent: str
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class Decided(Lasting):
    """A decision about `path`.

    what: "choice" (detail: the label, taken: the targets), "choice_error" (detail: why none of its cases was taken)
    or "when" (detail: the condition with its values).
    """

    what: str
    detail: str
    taken: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeFinished(Lasting):
    """A node run is final. `value` is its output when it succeeded; `usage` what it used itself, without children."""

    status: Status
    value: Any = None
    reason: Reason | None = None
    error: BaseException | None = field(default=None, compare=False)
    usage: Usage | None = None
    detail: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RunFinished(Lasting):
    """The run is final: succeeded, failed or cancelled, with the paths of the failures that nothing handled."""

    status: Status
    unhandled: tuple[str, ...] = ()
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Passing(Event):
    """An event that is shown to whoever listens and then forgotten."""


@dataclass(frozen=True, slots=True)
class Emitted(Passing):
    """From `ctx.emit(kind, data)`. Models emit "text" (a piece of an answer), "reasoning", "tool_call", "restart"."""

    kind: str
    data: Any = None


@dataclass(frozen=True, slots=True)
class Logged(Passing):
    """From `ctx.log(message, **fields)`."""

    message: str
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Gap(Passing):
    """This reader was too slow and lost `count` passing events."""

    count: int
