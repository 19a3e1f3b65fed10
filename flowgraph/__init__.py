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
    Break,
    ChoiceError,
    ConditionError,
    DrawError,
    FlowgraphError,
    GraphError,
    InputError,
    InternalError,
    LimitExceeded,
    NodeCancelled,
    NodeTimeout,
    NoOutput,
    OutputError,
    Permanent,
    Problem,
    RunCancelled,
    RunFailed,
    Skip,
    SubgraphFailed,
)
from .graph import Graph
from .handle import Handle
from .node import Node, Parameter
from .outcome import Maybe, Outcome, Reason, Status, Usage
from .policy import Join, Limits, Policy, Retry
from .sync_context import SyncContext

if TYPE_CHECKING:
    from .checks import check
    from .node_run import NodeRun
    from .record import Run
    from .render import draw
    from .running import LiveRun, arun, run, start
    from .stand_in import replace

__all__ = [
    "END",
    "Break",
    "ChoiceError",
    "ConditionError",
    "Context",
    "DrawError",
    "FlowgraphError",
    "Graph",
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
    "Outcome",
    "OutputError",
    "Parameter",
    "Permanent",
    "Policy",
    "Problem",
    "Reason",
    "Retry",
    "Run",
    "RunCancelled",
    "RunFailed",
    "Skip",
    "Status",
    "SubgraphFailed",
    "SyncContext",
    "Usage",
    "arun",
    "check",
    "draw",
    "replace",
    "run",
    "start",
]


_LATER = {
    "LiveRun": "running",
    "NodeRun": "node_run",
    "Run": "record",
    "arun": "running",
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
