"""Events: what happens in a run, as frozen data.

*Lasting* events are numbered without gaps; the record of a run is folded from them alone. *Passing* events (deltas,
logs, heartbeats, custom ones) are not kept: a slow reader loses the oldest and is told so by a `Gap`.

Event
├── Lasting                  seq, at, path
│   ├── RunStarted, RunResumed, RunPaused, RunFinished
│   ├── GraphStarted         a node run that is a graph begins: the node runs below it
│   ├── NodeStarted          an attempt begins, or goes on after a resume
│   ├── NodeRetrying         an attempt failed, the next one follows after a wait
│   ├── NodeFallingBack      the last attempt failed, the fallback takes over
│   ├── NodeWaiting          a node run sleeps until a time
│   ├── Spawned              a node called another: a child node run
│   ├── Decided              a choice took a label or had no case, a condition was true, a call diverged …
│   ├── GateOpened           a node run waits for a person
│   ├── GateAnswered         somebody answered
│   └── NodeFinished         the final status of a node run, until a resume runs it again
└── Passing                  at, path
    ├── Emitted              from ctx.emit (kind, data); models emit "text", "reasoning", "tool_call", …
    ├── Logged               from ctx.log
    ├── LimitNear            a limit is used up by four fifths
    └── Gap                  events that this reader lost
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .outcome import MISSING, Reason, Status, Usage

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
    """A run begins: its id, the graph's name and its inputs, and of each of its nodes the name, kind and title.

    spec: the graph as plain data (see `spec.document`), where it is to be stored. forked_from: the run it continues.
    withheld: inputs that hold secrets, and so are not stored. target: where the graph was found, see `RunOptions`.
    """

    run_id: str
    graph: str
    inputs: dict[str, Any]
    nodes: Outline = ()
    spec: dict[str, Any] | None = None
    forked_from: str = ""
    withheld: tuple[str, ...] = ()
    target: str = ""


@dataclass(frozen=True, slots=True)
class RunResumed(Lasting):
    """A run goes on in another process, or once more in this one. nodes, spec: when it goes on with a changed graph."""

    nodes: Outline = ()
    spec: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RunPaused(Lasting):
    """Nothing is left but to wait for people; nothing of the run is at work any more. due: when a gate's time is up."""

    due: float | None = None


@dataclass(frozen=True, slots=True)
class GraphStarted(Lasting):
    """The node run `path` is a graph and begins: its name, and of each of its nodes the name, kind and title.

    edges: names of parents and children, for what was built in the run and stands in no spec.
    """

    graph: str
    nodes: Outline
    edges: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class NodeStarted(Lasting):
    """An attempt (1-based) of a node run begins. continued: it had begun before, and its recorded children count."""

    attempt: int
    continued: bool = False


@dataclass(frozen=True, slots=True)
class NodeRetrying(Lasting):
    """An attempt failed and the next one starts after `delay` seconds.

    spent: seconds of all attempts and waits up to the next one, as the limit for all of them counts them.
    """

    attempt: int
    delay: float
    reason: Reason
    error: BaseException | None = field(default=None, compare=False)
    usage: Usage | None = None
    spent: float = 0.0


@dataclass(frozen=True, slots=True)
class NodeFallingBack(Lasting):
    """The last attempt of a node run failed, and its fallback takes over. causes: as in NodeFinished."""

    reason: Reason
    error: BaseException | None = field(default=None, compare=False)
    usage: Usage | None = None
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeWaiting(Lasting):
    """A node run sleeps until `due` (seconds since the epoch)."""

    due: float


@dataclass(frozen=True, slots=True)
class Spawned(Lasting):
    """A node run (`parent`) called another node: the child run `path`, of `kind`, drawn with `title`.

    inputs: a hash of what it was called with, where it is to be stored.
    """

    parent: str
    kind: str
    title: str
    inputs: str | None = None


@dataclass(frozen=True, slots=True)
class Decided(Lasting):
    """A decision about `path`.

    what: "choice" (detail: the label, taken: the targets), "choice_error" (detail: why none of its cases was taken),
    "when" (detail: the condition with its values), "cached" (its output is taken from an earlier call) or "diverged"
    (a resumed run called something else here).
    """

    what: str
    detail: str
    taken: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GateOpened(Lasting):
    """The node run `path` waits for a person.

    schema: JSON schema of the answer. due: when its time is up (seconds since the epoch); None: never. has_default:
    whether it then takes a default, or fails.
    """

    question: str
    schema: dict[str, Any]
    due: float | None = None
    has_default: bool = False


@dataclass(frozen=True, slots=True)
class GateAnswered(Lasting):
    """Somebody answered the gate `path`. value: MISSING where it was a secret, and so is not stored."""

    value: Any = MISSING


@dataclass(frozen=True, slots=True)
class NodeFinished(Lasting):
    """A node run is final. `value` is its output when it succeeded; `usage` what it used itself, without children.

    causes: paths of the children whose failures made it fail: a resume calls them again. withheld: the output holds a
    secret and is not stored; a resume runs the node again.
    """

    status: Status
    value: Any = None
    reason: Reason | None = None
    error: BaseException | None = field(default=None, compare=False)
    usage: Usage | None = None
    detail: dict[str, Any] | None = None
    causes: tuple[str, ...] = ()
    withheld: bool = False


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
class LimitNear(Passing):
    """The limit `limit` of the node run `path` ("" is the run) is used up by four fifths or more: `used` of `most`."""

    limit: str
    used: float
    most: float


@dataclass(frozen=True, slots=True)
class Gap(Passing):
    """This reader was too slow and lost `count` passing events."""

    count: int
