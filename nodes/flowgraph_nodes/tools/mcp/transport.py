"""The ways to a server: a process's standard streams, streamable HTTP, and server-sent events; all the SDK's."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TextIO, TypeAlias, cast

import anyio
import httpx
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from flowgraph_nodes.tools.mcp.settings import Settings

Streams: TypeAlias = tuple[MemoryObjectReceiveStream[Any], MemoryObjectSendStream[Any]]

_CONNECT: Final = 30.0
"""Seconds for a TCP connection, or to send a request."""
_SILENCE: Final = 86_400.0
"""Seconds between two pieces of an answer: calls have a time limit of their own."""


@asynccontextmanager
async def opened(settings: Settings, errors: TextIO) -> AsyncIterator[Streams]:
    """The streams of messages from and to a server, closed with everything behind them on the way out.

    errors: a real file, for what a process writes to its standard error.
    """
    match settings.transport:
        case "stdio":
            process = StdioServerParameters(
                command=settings.command, args=list(settings.args), env=settings.process_env, cwd=settings.cwd
            )
            async with stdio_client(process, errors) as (incoming, outgoing):
                yield incoming, outgoing
        case "sse":
            async with sse_client(settings.url, settings.http_headers, _CONNECT, _SILENCE, auth=settings.auth) as (
                incoming,
                outgoing,
            ):
                yield incoming, outgoing
        case _:
            gate = _Gate()
            client = httpx.AsyncClient(
                headers=settings.http_headers,
                timeout=httpx.Timeout(_CONNECT, read=_SILENCE),
                auth=settings.auth,
                event_hooks={"request": [gate.pass_on]},
            )
            async with (
                client,
                streamable_http_client(settings.url, http_client=client) as (incoming, outgoing, _),
                incoming,  # the SDK leaves it open when the session was never entered
                gate.before(outgoing) as spaced,
            ):
                yield incoming, spaced


class _Gate:
    """Lets the next message go when the one before is on its way.

    The SDK (1.24 to 1.30 at least) starts a task for each request, and the task looks up *which* when it first runs.
    Where tasks do not run in the order in which they were started, as on trio, of two requests in quick succession the
    second was sent twice and the first never.
    """

    def __init__(self) -> None:
        self._passed = anyio.Event()

    async def pass_on(self, request: httpx.Request) -> None:
        """Called by httpx with each request that it is about to send."""
        if request.method == "POST":
            self._passed.set()

    @asynccontextmanager
    async def before(self, outgoing: MemoryObjectSendStream[Any]) -> AsyncIterator[MemoryObjectSendStream[Any]]:
        """A stream that leads into `outgoing`, one message at a time."""
        entrance, exit_ = anyio.create_memory_object_stream[Any](0)

        async def pump() -> None:
            with exit_, suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                async for message in exit_:
                    self._passed = anyio.Event()
                    await outgoing.send(message)
                    await self._passed.wait()

        async with anyio.create_task_group() as group:
            group.start_soon(pump)
            try:
                yield entrance
            finally:
                entrance.close()
                group.cancel_scope.cancel()


def error_file() -> TextIO:
    """A file that is gone when it is closed."""
    return cast(TextIO, tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace"))


def last_words(errors: TextIO, limit: int = 500) -> str:
    """The end of what a process wrote to its standard error."""
    size = errors.seek(0, 2)
    errors.seek(max(0, size - limit * 4))
    return errors.read()[-limit:].strip()
