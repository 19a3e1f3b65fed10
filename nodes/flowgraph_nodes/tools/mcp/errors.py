"""How MCP servers fail.

::

    flowgraph_nodes.errors.ToolError
    ├── McpConfigError        servers cannot be used as they are described; names everything wrong     (permanent)
    │   └── McpMissingError   the package `mcp` is not installed
    └── McpConnectionError    a server cannot be reached, or was lost
"""

from __future__ import annotations

from flowgraph.errors import Permanent
from flowgraph_nodes.errors import ToolError


class McpConfigError(ToolError, Permanent, ValueError):
    """A server, or a file of servers, cannot be used as it is described."""


class McpMissingError(McpConfigError):
    """The package `mcp` is not installed."""

    def __init__(self) -> None:
        super().__init__("MCP servers need the package mcp: pip install 'flowgraph-agents[mcp]'")


class McpConnectionError(ToolError):
    """A server cannot be reached, or was lost. Nothing in the message is secret."""
