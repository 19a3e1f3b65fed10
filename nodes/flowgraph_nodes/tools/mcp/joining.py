"""How the tools of servers join a toolbox, for one run of an agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from flowgraph.context import Context
from flowgraph_nodes.errors import DuplicateToolError
from flowgraph_nodes.tools.mcp.server import McpServer, check_installed
from flowgraph_nodes.tools.mcp.tools import source_of, tools_of
from flowgraph_nodes.tools.tool import Tool
from flowgraph_nodes.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from flowgraph_nodes.tools.mcp.connection import McpConnection


@asynccontextmanager
async def joined(servers: Sequence[McpServer], toolbox: Toolbox, ctx: Context[Any]) -> AsyncIterator[None]:
    """Open a session with each server, side by side, and offer its tools in `toolbox` until the block is left.

    When a server's list of tools changes, so does the toolbox. Oddities are log lines of the node run.

    Raises McpConnectionError, McpMissingError; DuplicateToolError that names both sources of a name.
    """
    if not servers:
        yield
        return
    check_installed()
    from flowgraph_nodes.tools.mcp.connection import connected  # it loads the SDK

    async with connected(*servers, warn=ctx.log) as connections:
        guests = [_Guest(connection, toolbox) for connection in connections]
        for guest in guests:
            guest.move_in()
            guest.connection.on_change(partial(guest.move_again, ctx))
        yield


class _Guest:
    """The tools of one server in a toolbox."""

    def __init__(self, connection: McpConnection, toolbox: Toolbox) -> None:
        self.connection = connection
        self._toolbox = toolbox
        self._ours: list[Tool] = []

    def move_in(self) -> None:
        """Add every tool. Raises DuplicateToolError."""
        for tool in tools_of(self.connection):
            if problem := self._clash(tool):
                raise DuplicateToolError(problem)
            self._ours.append(self._toolbox.add(tool))

    def move_again(self, ctx: Context[Any]) -> None:
        """Put the server's tools of now in place of those of before, except one whose name is taken."""
        for tool in self._ours:
            if self._toolbox.get(tool.name) is tool:
                self._toolbox.remove(tool.name)
        self._ours.clear()
        for tool in tools_of(self.connection):
            if problem := self._clash(tool):
                ctx.log(problem)
            else:
                self._ours.append(self._toolbox.add(tool))

    def _clash(self, tool: Tool) -> str:
        other = self._toolbox.get(tool.name)
        if other is None:
            return ""
        return (
            f"two tools would be called '{tool.name}': {source_of(other)} and {source_of(tool)}; "
            "give the server a prefix=, or rename= the tool"
        )
