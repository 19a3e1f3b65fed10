"""Servers of tools that speak the Model Context Protocol. The official SDK is loaded when the first is reached."""

from flowgraph_nodes.tools.mcp.errors import McpConfigError, McpConnectionError, McpMissingError
from flowgraph_nodes.tools.mcp.result import McpResult
from flowgraph_nodes.tools.mcp.server import McpServer, ServerLike, mcp_servers

__all__ = [
    "McpConfigError",
    "McpConnectionError",
    "McpMissingError",
    "McpResult",
    "McpServer",
    "ServerLike",
    "mcp_servers",
]
