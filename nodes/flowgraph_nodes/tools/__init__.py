"""Tools: what an agent can do."""

from flowgraph_nodes.tools.context import ToolContext
from flowgraph_nodes.tools.result import Fail, Failure, Stop, ToolResult
from flowgraph_nodes.tools.tool import Tool, tool
from flowgraph_nodes.tools.toolbox import Toolbox

__all__ = ["Fail", "Failure", "Stop", "Tool", "ToolContext", "ToolResult", "Toolbox", "tool"]
