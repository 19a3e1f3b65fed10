"""Tools: what an agent can do."""

from flowgraph_nodes.tools.approval import Approval
from flowgraph_nodes.tools.context import ToolContext
from flowgraph_nodes.tools.result import Fail, Failure, GiveUp, NeedsFeedback, Stop, ToolResult
from flowgraph_nodes.tools.tool import Tool, tool
from flowgraph_nodes.tools.toolbox import Toolbox

__all__ = [
    "Approval",
    "Fail",
    "Failure",
    "GiveUp",
    "NeedsFeedback",
    "Stop",
    "Tool",
    "ToolContext",
    "ToolResult",
    "Toolbox",
    "tool",
]
