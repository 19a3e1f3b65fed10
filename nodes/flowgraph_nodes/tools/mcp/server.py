"""`McpServer`: a server that can be connected to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from flowgraph_nodes.tools.mcp.config import read_config, read_server
from flowgraph_nodes.tools.mcp.errors import McpConfigError, McpMissingError
from flowgraph_nodes.tools.mcp.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from flowgraph_nodes.tools.mcp.connection import McpConnection
    from flowgraph_nodes.tools.mcp.names import Warn


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class McpServer(Settings):
    """A server of tools (Model Context Protocol), started as a process or reached over HTTP; see `Settings`.

    >>> server = McpServer(command="npx -y @modelcontextprotocol/server-filesystem .", allow=["read_*", "list_*"])
    >>> agent = ReactAgent(model="openai/gpt-5-mini", mcp=[server])

    An agent opens sessions of its own for each run. To share one session among agents, or to use it without any:

    >>> async with server as connection:
    ...     agent = ReactAgent(model="openai/gpt-5-mini", tools=connection.tools())
    """

    def connect(self, *, warn: Warn | None = None) -> AbstractAsyncContextManager[McpConnection]:
        """A new session: `async with server.connect() as connection`. One server may have many at once.

        warn: is told what is odd but no reason to stop, beside the log "flowgraph.mcp".
        Raises McpConnectionError, McpMissingError, DuplicateToolError.
        """
        return _one(self, warn)

    async def __aenter__(self) -> McpConnection:
        """`connect`, for one session at a time."""
        if "_open" in vars(self):
            raise McpConfigError(f"MCP server '{self.name}' is open already: use connect() for another session")
        manager = self.connect()
        self._set(_open=manager)
        try:
            return await manager.__aenter__()
        except BaseException:
            del vars(self)["_open"]
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        manager: AbstractAsyncContextManager[McpConnection] = vars(self).pop("_open")
        return await manager.__aexit__(kind, error, traceback)


ServerLike: TypeAlias = McpServer | str | Path | Mapping[str, Any]
"""A server; a URL; a command line; a file of servers (a Path, or a text that ends in .json); or what is in one."""


def mcp_servers(source: str | Path | Mapping[str, Any], **options: Any) -> list[McpServer]:
    """The servers of a file as other clients write them (`{"mcpServers": {…}}`), or of its content.

    options: of `Settings`, for all of them, such as `prefix=True` or `required=False`; over those of the file.

    Raises McpConfigError.
    """
    return [McpServer(**{**found, **options}) for found in read_config(source).values()]


def servers_of(things: ServerLike | Iterable[ServerLike]) -> tuple[McpServer, ...]:
    """The servers that an agent is given, one or many. Raises McpConfigError."""
    if isinstance(things, McpServer | str | Path | Mapping):
        things = (things,)
    if not isinstance(things, Iterable):
        raise McpConfigError(f"mcp= wants servers, not something of type {type(things).__name__}")
    return tuple(server for thing in things for server in _made(thing))


def check_installed() -> None:
    """Raises McpMissingError when the package `mcp` is not there."""
    if find_spec("mcp") is None:
        raise McpMissingError


def _made(thing: ServerLike) -> list[McpServer]:
    match thing:
        case McpServer():
            return [thing]
        case Path():
            return mcp_servers(thing)
        case str() if thing.startswith(("http://", "https://")):
            return [McpServer(**read_server({"url": thing}, ""))]
        case str():
            return mcp_servers(thing) if thing.endswith(".json") else [McpServer(command=thing)]
        case Mapping():
            single = "command" in thing or "url" in thing or "httpUrl" in thing
            return [McpServer(**read_server(thing, str(thing.get("name", ""))))] if single else mcp_servers(thing)
        case _:
            raise McpConfigError(f"something of type {type(thing).__name__} is no MCP server")


@asynccontextmanager
async def _one(server: McpServer, warn: Warn | None) -> AsyncIterator[McpConnection]:
    check_installed()
    from flowgraph_nodes.tools.mcp.connection import connected  # it loads the SDK

    async with connected(server, warn=warn) as (connection,):
        yield connection
