"""flowgraph: workflow graphs whose nodes are functions, LLM agents and other graphs.

    import flowgraph as fg

    graph = fg.Graph("greeting")
    graph.input("name", str)

    @graph.node
    def hello(name: str) -> str:
        return f"Hello {name}"

    print(fg.run(graph, {"name": "Ada"}).output)

A graph is data, verbs are functions: `check`, `run` / `arun` / `start`, `draw`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .context import Context
from .entry import END
from .errors import (
    AnswerRefused,
    Break,
    ChoiceError,
    ConditionError,
    Diverged,
    DrawError,
    FlowgraphError,
    GraphChanged,
    GraphError,
    InputError,
    InternalError,
    LimitExceeded,
    NodeCancelled,
    NodeTimeout,
    NoOutput,
    NotStorable,
    OutputError,
    Permanent,
    Problem,
    RunBusy,
    RunCancelled,
    RunFailed,
    RunNotFound,
    RunPaused,
    Skip,
    StoreError,
    SubgraphFailed,
)
from .gate import Gate
from .graph import Graph
from .handle import Handle
from .node import Node, Parameter
from .outcome import Maybe, Outcome, Reason, Status, Usage
from .policy import Cache, Join, Limits, Policy, Retry
from .sync_context import SyncContext

if TYPE_CHECKING:
    from .checks import check
    from .keeping import answer, load_run, runs
    from .live_run import LiveRun
    from .node_run import NodeRun
    from .record import Run
    from .render import draw
    from .running import afork, aresume, arun, fork, resume, run, start
    from .stand_in import replace

__all__ = [
    "END",
    "AnswerRefused",
    "Break",
    "Cache",
    "ChoiceError",
    "ConditionError",
    "Context",
    "Diverged",
    "DrawError",
    "FlowgraphError",
    "Gate",
    "Graph",
    "GraphChanged",
    "GraphError",
    "Handle",
    "InputError",
    "InternalError",
    "Join",
    "LimitExceeded",
    "Limits",
    "LiveRun",
    "Maybe",
    "NoOutput",
    "Node",
    "NodeCancelled",
    "NodeRun",
    "NodeTimeout",
    "NotStorable",
    "Outcome",
    "OutputError",
    "Parameter",
    "Permanent",
    "Policy",
    "Problem",
    "Reason",
    "Retry",
    "Run",
    "RunBusy",
    "RunCancelled",
    "RunFailed",
    "RunNotFound",
    "RunPaused",
    "Skip",
    "Status",
    "StoreError",
    "SubgraphFailed",
    "SyncContext",
    "Usage",
    "afork",
    "answer",
    "aresume",
    "arun",
    "check",
    "draw",
    "fork",
    "load_run",
    "replace",
    "resume",
    "run",
    "runs",
    "start",
]


_LATER = {
    "LiveRun": "live_run",
    "NodeRun": "node_run",
    "Run": "record",
    "arun": "running",
    "afork": "running",
    "answer": "keeping",
    "aresume": "running",
    "fork": "running",
    "load_run": "keeping",
    "resume": "running",
    "runs": "keeping",
    "check": "checks",
    "draw": "render",
    "replace": "stand_in",
    "run": "running",
    "start": "running",
}
"""What is loaded when it is first used, and from where: a program that only builds graphs does not pay for the rest."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'flowgraph' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = value  # so that it is looked up once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
