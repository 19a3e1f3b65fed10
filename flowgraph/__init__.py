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
from .record import NodeRun, Run
from .replace import replace
from .run import LiveRun, arun, run, start
from .sync_context import SyncContext

if TYPE_CHECKING:
    from .checks import check
    from .render import draw

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


def __getattr__(name: str) -> Any:
    """Load the verbs that need more than the engine when they are first used."""
    if name == "check":
        from .checks import check

        return check
    if name == "draw":
        from .render import draw

        return draw
    raise AttributeError(f"module 'flowgraph' has no attribute {name!r}")
