"""Every error of flowgraph, in one tree.

FlowgraphError
├── GraphError               the graph is wrong; holds every problem found, not just the first
├── InputError               values given to a run or a node do not fit what it declares (also Permanent)
├── OutputError              a node returned something other than it declared
├── Permanent                raise it, or derive from it, to say that trying again is useless
│   ├── ConditionError       a `when` condition raised
│   ├── ChoiceError          a choice got a label that it has no case for
│   └── InputError
├── NodeTimeout              an attempt ran past its time limit (also a TimeoutError)
├── NodeCancelled            a node run was cancelled
├── SubgraphFailed           a graph that runs as a node ended with unhandled failures
├── LimitExceeded            a run went past one of its limits
├── NoOutput                 an output was asked for that does not exist, with the reason why
├── RunFailed                a run ended with unhandled failures; holds the run and all its partial results
├── RunCancelled             a run was cancelled; holds the run
├── DrawError                a drawing could not be made
└── InternalError            flowgraph broke one of its own promises: please report it

Two signals are raised by user code and are not errors: `Skip` and `Break`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .missing import MISSING


class FlowgraphError(Exception):
    """The base of every error that flowgraph raises on purpose."""


class Permanent(FlowgraphError):
    """An error that no retry can mend: a node that raises it is not tried again."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, or doubtful, in a graph.

    `where` is the path of the node or input it concerns ("" for the graph as a whole); `severity` says whether a
    run refuses the graph ("error") or only mentions it ("warning").
    """

    where: str
    message: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class GraphError(FlowgraphError):
    """A graph cannot be run. `problems` lists everything that is wrong with it."""

    def __init__(self, graph: str, problems: Iterable[Problem]) -> None:
        self.graph = graph
        self.problems = tuple(problems)
        count = len(self.problems)
        lines = "".join(f"\n  - {problem}" for problem in self.problems)
        super().__init__(f"graph '{graph}' has {count} problem{'s' if count != 1 else ''}:{lines}")


class InputError(Permanent):
    """Values given to a run, a node or an agent do not fit what it declares. Nothing was started."""


class OutputError(FlowgraphError):
    """A node returned something other than the type it declares."""


class ConditionError(Permanent):
    """A `when` condition raised, or could not be evaluated. Never read as "false"."""


class ChoiceError(Permanent):
    """A choice got a label that it has no case for, and has no default."""


class NodeTimeout(FlowgraphError, TimeoutError):
    """An attempt ran past its time limit."""


class LimitExceeded(FlowgraphError):
    """A run went past one of its limits. What was produced before is kept."""


class NodeCancelled(FlowgraphError):
    """A node run was cancelled, by its own hand or by somebody else's."""


class NoOutput(FlowgraphError):
    """There is no such output: the node was skipped, failed, or was never reached."""


class _WithErrors(FlowgraphError):
    """An error that stands for several, by path. (Not an ExceptionGroup: those refuse what we need to hold.)"""

    def __init__(self, message: str, errors: Mapping[str, BaseException]) -> None:
        self.errors = dict(errors)
        lines = "".join(f"\n  - {path}: {brief(error)}" for path, error in list(self.errors.items())[:10])
        more = f"\n  - and {len(self.errors) - 10} more" if len(self.errors) > 10 else ""
        super().__init__(message + lines + more)


class SubgraphFailed(_WithErrors):
    """A graph that runs as a node ended with unhandled failures; `errors` maps paths to exceptions, in order."""


class RunFailed(_WithErrors):
    """A run ended with unhandled failures.

    `run` holds everything that was produced, `errors` maps node paths to exceptions in order; `__cause__` is the
    first of them.
    """

    def __init__(self, run: Any, errors: Mapping[str, BaseException]) -> None:
        self.run = run
        super().__init__(f"run of graph '{run.graph}' failed", errors)


class RunCancelled(FlowgraphError):
    """A run was cancelled. `run` holds everything that was produced before."""

    def __init__(self, run: Any) -> None:
        self.run = run
        super().__init__(f"run of graph '{run.graph}' was cancelled")


class DrawError(FlowgraphError):
    """A drawing could not be made: no layout engine was found, or it refused or took too long."""


class InternalError(FlowgraphError):
    """flowgraph broke one of its own promises. Please report it with the graph that did it."""


class Skip(Exception):
    """Raise in a node to skip it: `raise fg.Skip("nothing to check")`. Its readers see a skipped parent."""


class Break(Exception):
    """Raise in the body of a loop to end that loop (the innermost only) at once, with `value` as its output.

    Without a value (then `value` is MISSING) the loop gives what its round before gave; None is a value.
    """

    def __init__(self, value: Any = MISSING) -> None:
        self.value = value
        super().__init__(*(() if value is MISSING else (value,)))


def brief(error: BaseException) -> str:
    """The kind and first line of an error, for lists."""
    text = words_of(error).strip()
    first = text.splitlines()[0] if text else ""
    return f"{type(error).__name__}: {first}"[:300] if first else type(error).__name__


def words_of(error: BaseException) -> str:
    """An error's text, as something that can be printed anywhere. Never raises, whatever its `__str__` does."""
    try:
        text = str(error)
    except Exception:
        return "(its text cannot be had)"
    return text.encode("utf-8", "backslashreplace").decode()
