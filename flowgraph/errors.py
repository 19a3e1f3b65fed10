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
├── LimitExceeded            a run, or a part of it, went past one of its limits (also Permanent)
├── NoOutput                 an output was asked for that does not exist, with the reason why
├── RunFailed                a run ended with unhandled failures; holds the run and all its partial results
├── RunCancelled             a run was cancelled; holds the run
├── RunPaused                an output of a run that waits for people was asked for; holds the run, lists its gates
├── AnswerRefused            an answer does not fit its gate, or there is no such open gate; nothing was changed
├── NotStorable              a value cannot be stored, since loading could not give it back (also Permanent)
├── GraphChanged             a run was begun with another graph; lists the differences
├── Diverged                 code above recorded children called others than before, under strict_replay
├── RecordedError            stands for an error of an earlier process whose class is not to be had
├── StoreError               a store cannot be read or written: damaged, foreign, too new, full
│   ├── RunNotFound          there is no such run in the store
│   ├── RunExists            there is one already
│   └── RunBusy              another process, or another part of this one, is writing the run
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


class LimitExceeded(Permanent):
    """A run, or a part of it, went past one of its limits. What was produced before is kept."""


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


class RunPaused(FlowgraphError):
    """A run waits for people. `run` holds everything that was produced, `run.gates` what is asked."""

    def __init__(self, run: Any) -> None:
        self.run = run
        gates = "".join(f"\n  - {gate.path}: {gate.question}" for gate in run.gates)
        super().__init__(f"run {run.id} of graph '{run.graph}' is paused and waits for an answer to:{gates}")


class AnswerRefused(FlowgraphError):
    """An answer does not fit what its gate asks for, or there is no such open gate. Nothing was changed."""


class NotStorable(Permanent):
    """A value cannot be stored: its type is not declared and it is no plain JSON, or loading would not give it back."""


class GraphChanged(FlowgraphError):
    """A run was begun with another graph. `differences` lists what is not the same."""

    def __init__(self, run_id: str, graph: str, differences: Iterable[str]) -> None:
        self.differences = tuple(differences)
        lines = "".join(f"\n  - {difference}" for difference in self.differences)
        super().__init__(
            f"run {run_id} was begun with another graph '{graph}' (force=True goes on all the same):{lines}"
        )


class Diverged(FlowgraphError):
    """On resume, node code called other children than before, and `strict_replay` was asked for."""


class RecordedError(FlowgraphError):
    """Stands for an error that an earlier process recorded, and whose class is not to be had here. `kind`: its name."""

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        super().__init__(f"{kind}: {text}" if text else kind)


class StoreError(FlowgraphError):
    """A store cannot be read or written. What was in it before is untouched."""


class RunNotFound(StoreError):
    """There is no such run in the store."""


class RunExists(StoreError):
    """There is a run of that id in the store already."""


class RunBusy(StoreError):
    """Somebody is writing the run. `owner` says who."""

    def __init__(self, run_id: str, owner: str) -> None:
        self.run_id = run_id
        self.owner = owner
        super().__init__(f"run {run_id} is at work already, in {owner}: one at a time")


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
