"""A session with a server: opened, held, opened again once and closed by one task, used from any.

The task that holds it (`keep`) is shielded. Whoever is cancelled while a session is open, or is being opened, tells it
to stop, and waits until the process has ended in the orderly way of the SDK: its input closed, then told to end, then
killed with all its children. (A cancellation that reached the SDK's own clean-up would cut it short.)
"""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, TextIO

import anyio
from mcp import ClientSession, McpError, types

from flowgraph_nodes.errors import DuplicateToolError, ToolError
from flowgraph_nodes.tools.mcp.errors import McpConnectionError
from flowgraph_nodes.tools.mcp.link import Link, LostInCallError, NotSentError
from flowgraph_nodes.tools.mcp.listing import list_tools
from flowgraph_nodes.tools.mcp.names import Warn, offered
from flowgraph_nodes.tools.mcp.result import McpResult, Progress, result_of
from flowgraph_nodes.tools.mcp.settings import Settings
from flowgraph_nodes.tools.mcp.tools import tools_of
from flowgraph_nodes.tools.mcp.transport import error_file, last_words, opened
from flowgraph_nodes.tools.tool import Tool

_CLOSING: Final = 10.0
"""Seconds for a server to end; the SDK kills a process after 4."""

_BREATH: Final = 0.1
"""Seconds between two readings of a list that changes and changes."""

_log = logging.getLogger("flowgraph.mcp")


class McpConnection:
    """An open session with a server. Made by `async with McpServer(...) as connection`."""

    def __init__(self, settings: Settings, warn: Warn) -> None:
        self.settings = settings
        self.listed: Mapping[str, types.Tool] = {}
        self._warn = warn
        self._link: Link | None = None
        self._listeners: list[Callable[[], None]] = []
        self._scope = anyio.CancelScope()  # what `stop` cancels
        self._stopped = self._over = self._reached = False
        self._error = ""
        self._refusal: DuplicateToolError | None = None
        self._bell = anyio.Event()

    def __repr__(self) -> str:
        return f"<McpConnection {self.settings.name}: {len(self.listed)} tools>"

    @property
    def session(self) -> ClientSession:
        """The SDK's session, for what is not about tools: resources, prompts. Raises McpConnectionError."""
        if self._link is None:
            raise self._failure()
        return self._link.session

    def tools(self) -> list[Tool]:
        """The server's tools as it last listed them, for any agent or toolbox. They work while it is open."""
        return tools_of(self)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever the server's list of tools, `listed`, has changed."""
        self._listeners.append(listener)

    async def call(
        self, name: str, arguments: Mapping[str, Any] | None = None, progress: Progress | None = None
    ) -> McpResult:
        """Call a tool by the server's own name for it, without a time limit; no call reaches a server twice.

        Raises McpConnectionError when the server cannot be reached or is lost meanwhile (it is started again once),
        and ToolError when it refuses the call.
        """
        params = types.CallToolRequestParams(name=name, arguments=dict(arguments or {}))
        request = types.ClientRequest(types.CallToolRequest(params=params))
        while True:
            link = await self._live()
            try:
                found = await link.ask(request, types.CallToolResult, progress)
            except NotSentError:
                self._lose(link)  # and ask the next session
            except LostInCallError:
                self._lose(link)
                raise McpConnectionError(
                    f"MCP server '{self.settings.name}' was lost during the call; whether it was carried out is unknown"
                ) from None
            except McpError as error:
                raise ToolError(self.settings.shown(error.error.message)) from None
            else:
                return result_of(found, self.settings.masked)

    # -- for `connected`

    async def opened(self) -> None:
        """Wait until it is open. Raises McpConnectionError unless the server is not required, DuplicateToolError."""
        try:
            await self._live()
        except McpConnectionError as error:
            if self._refusal is not None:
                raise self._refusal from None
            if self.settings.required:
                raise
            self._warn(str(error))

    def stop(self) -> None:
        """Tell the task that holds the session to close it."""
        self._stopped = True
        self._scope.cancel()

    async def closed(self) -> None:
        """Wait until nothing is left of it."""
        while not self._over:
            await self._bell.wait()

    async def keep(self) -> None:
        """Hold the session until `stop`; when it is lost, open another one, once."""
        try:
            for again in (False, True):
                await self._hold()
                if self._stopped or not self._reached:
                    return
                if not again:
                    self._warn(f"MCP server '{self.settings.name}' was lost and is started again: {self._error}")
        finally:
            self._over = True
            self._ring()

    # -- one session

    async def _hold(self) -> None:
        """Open a session, and close it when it is lost or `stop` is called. Sets `_error`, never raises."""
        self._reached, self._error = False, ""
        with error_file() as errors:
            try:
                await self._held(errors)
            except Exception as error:
                self._error = _reason(error)
            finally:
                if self._link is not None:
                    self._lose(self._link)
            if not self._error:
                self._error = "it closed the connection" if self._reached else self._no_answer()
            if words := last_words(errors):
                self._error += f"; it wrote: {words}"
            self._error = self.settings.shown(self._error)

    async def _held(self, errors: TextIO) -> None:
        deadline = anyio.current_time() + self.settings.connect_timeout
        with anyio.CancelScope(deadline=deadline, shield=True) as whole:
            self._scope = whole
            if self._stopped:
                return
            async with opened(self.settings, errors) as streams:
                whole.deadline = math.inf
                try:
                    # From here on `stop` ends the session, and leaves the transport to close in its own way.
                    with anyio.CancelScope(deadline=deadline) as self._scope:
                        await self._talk(Link(streams))
                finally:
                    whole.deadline = anyio.current_time() + _CLOSING

    async def _talk(self, link: Link) -> None:
        async with link.session:
            await self._reach(link)
            self._scope.deadline = math.inf
            await self._serve(link)

    async def _reach(self, link: Link) -> None:
        """Say hello and read the list of tools."""
        await link.session.initialize()
        tools = await list_tools(link.session, self.settings.name, self._warn)
        try:
            listed = offered(self.settings, tools, self._warn)
        except DuplicateToolError as error:
            self._refusal = error
            raise
        self._link, self._reached = link, True
        self._take(listed)
        self._ring()

    async def _serve(self, link: Link) -> None:
        """Keep the list of tools as the server has it, until the session is lost."""
        while True:
            await link.wait()
            if link.lost:
                return
            link.stale = False
            try:
                with anyio.fail_after(self.settings.connect_timeout):
                    tools = await list_tools(link.session, self.settings.name, self._warn)
                self._take(offered(self.settings, tools, self._warn))
            except (McpError, DuplicateToolError, TimeoutError) as error:
                name = self.settings.name
                self._warn(f"MCP server '{name}': its changed list of tools is not taken: {_reason(error)}")
            link.refreshed()
            await anyio.sleep(_BREATH)

    def _take(self, listed: Mapping[str, types.Tool]) -> None:
        if listed != self.listed:
            self.listed = listed
            for listener in self._listeners:
                listener()

    # -- waiting for it

    async def _live(self) -> Link:
        while self._link is None:
            if self._over or self._stopped:
                raise self._failure()
            await self._bell.wait()
        return self._link

    def _lose(self, link: Link) -> None:
        link.lose()
        if self._link is link:
            self._link = None

    def _ring(self) -> None:
        bell, self._bell = self._bell, anyio.Event()
        bell.set()

    def _failure(self) -> McpConnectionError:
        who = f"MCP server '{self.settings.name}' ({self.settings.place})"
        if self._stopped:
            return McpConnectionError(f"{who}: the connection is closed; use it within its `async with` block")
        return McpConnectionError(f"{who} {'was lost' if self._reached else 'cannot be reached'}: {self._error}")

    def _no_answer(self) -> str:
        return f"no answer within {self.settings.connect_timeout:g} s"


@asynccontextmanager
async def connected(*servers: Settings, warn: Warn | None = None) -> AsyncIterator[tuple[McpConnection, ...]]:
    """Sessions with servers, opened side by side, and closed when the block is left, however it is left.

    warn: told what is odd, beside the log. Raises McpConnectionError, DuplicateToolError; what the block raises comes
    out as it is, in no group.
    """

    def told(text: str) -> None:
        _log.warning(text)
        if warn is not None:
            warn(text)

    connections = tuple(McpConnection(settings, told) for settings in servers)
    failure: BaseException | None = None
    async with anyio.create_task_group() as group:
        for connection in connections:
            group.start_soon(connection.keep)
        try:
            for connection in connections:
                await connection.opened()
            yield connections
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:
            failure = error
        finally:
            for connection in connections:
                connection.stop()
            with anyio.CancelScope(shield=True):
                for connection in connections:
                    await connection.closed()
    if failure is not None:
        raise failure


def _reason(error: BaseException) -> str:
    """An error in words, out of whatever groups it came in."""
    return "; ".join(dict.fromkeys(map(_told, _leaves(error))))


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _told(error: BaseException) -> str:
    response = getattr(error, "response", None)
    if response is not None:  # httpx's own words repeat the whole URL
        return f"HTTP {response.status_code} {response.reason_phrase}".strip()
    if isinstance(error, FileNotFoundError):
        return f"there is no '{error.filename}'" if error.filename else "there is no such command or folder"
    return str(error) or type(error).__name__
