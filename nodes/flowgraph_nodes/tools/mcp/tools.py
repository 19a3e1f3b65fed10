"""A server's tools as tools of ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from flowgraph.context import Context
from flowgraph_nodes.tools.arguments import Arguments, SchemaReader
from flowgraph_nodes.tools.context import ToolContext
from flowgraph_nodes.tools.mcp.result import McpResult, Progress
from flowgraph_nodes.tools.mcp.settings import Settings
from flowgraph_nodes.tools.result import Fail
from flowgraph_nodes.tools.schema import checked_schema
from flowgraph_nodes.tools.tool import Tool

if TYPE_CHECKING:
    from mcp import types


class Remote(Protocol):
    """An open session with a server."""

    settings: Settings
    listed: Mapping[str, types.Tool]

    async def call(
        self, name: str, arguments: Mapping[str, Any] | None = None, progress: Progress | None = None
    ) -> McpResult: ...


@dataclass(frozen=True, slots=True, eq=False)
class RemoteCall:
    """What a tool calls: the server's tool, under the server's own name."""

    connection: Remote
    name: str

    @property
    def source(self) -> str:
        """Where the tool comes from, for messages."""
        return f"'{self.name}' of MCP server '{self.connection.settings.name}'"

    async def __call__(self, arguments: Mapping[str, Any], ctx: ToolContext | None = None) -> McpResult | Fail:
        """Call it. Its progress goes to whoever listens to the run; what is no text is kept with the node run."""
        run = None if ctx is None else ctx.ctx
        progress = None if run is None else _told_to(run, self.name)
        result = await self.connection.call(self.name, arguments, progress)
        if run is not None and not result.plain:
            masked = self.connection.settings.masked(json.dumps(result.to_wire()))
            run.keep(mcp=json.loads(masked))
        if result.failed:
            return Fail(result.text or "the server gives no reason")
        return result


@dataclass(frozen=True, slots=True)
class _OneObject:
    """Reads arguments by a schema and hands them on as one object: their names may be anything."""

    read: SchemaReader

    def __call__(self, given: dict[str, Any]) -> Arguments:
        return Arguments((dict(self.read(given).kwargs),))


def tools_of(connection: Remote) -> list[Tool]:
    """The server's tools as it last listed them. They work as long as the connection is open."""
    return [_tool(connection, name, item) for name, item in connection.listed.items()]


def source_of(tool: Tool) -> str:
    """Where a tool comes from, for messages."""
    return tool.target.source if isinstance(tool.target, RemoteCall) else f"the tool '{tool.name}' given to the agent"


def _tool(connection: Remote, name: str, item: types.Tool) -> Tool:
    schema = checked_schema(item.inputSchema, name)
    return Tool(
        name=name,
        description=item.description or item.title or "",
        parameters=schema,
        target=RemoteCall(connection, item.name),
        read=_OneObject(SchemaReader(schema)),
        context="ctx",
        timeout=connection.settings.timeout,
    )


def _told_to(run: Context[Any], tool: str) -> Progress:
    async def told(progress: float, total: float | None, message: str | None) -> None:
        run.emit("progress", {"tool": tool, "progress": progress, "total": total, "message": message})

    return told
