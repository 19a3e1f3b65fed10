"""The toolbox of one run of an agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flowgraph_nodes.tools import Tool, Toolbox
from flowgraph_nodes.tools.dynamic import DynamicToolbox
from flowgraph_nodes.tools.search import ToolIndex

MAX_OUTPUT: Final = 16_384
"""Characters of a result that a model gets, where the tool does not say: about 4,096 tokens."""


def run_toolbox(tools: Toolbox, controls: Sequence[Tool], index: ToolIndex | None) -> Toolbox:
    """The tools of one run. controls: those that steer the agent. index: of the tools that have to be found first."""
    if index is not None:
        return DynamicToolbox(tools, pinned=controls, parallel=tools.parallel, index=index)
    box = tools.copy()
    for tool in controls:
        box.pin(tool)
    return box
