"""The ways to a server: a process's standard streams, streamable HTTP, and server-sent events; all the SDK's."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, TextIO, TypeAlias, cast

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
            timeout = httpx.Timeout(_CONNECT, read=_SILENCE)
            async with (
                httpx.AsyncClient(headers=settings.http_headers, timeout=timeout, auth=settings.auth) as client,
                streamable_http_client(settings.url, http_client=client) as (incoming, outgoing, _),
                incoming,  # the SDK leaves it open when the session was never entered
            ):
                yield incoming, outgoing


def error_file() -> TextIO:
    """A file that is gone when it is closed."""
    return cast(TextIO, tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace"))


def last_words(errors: TextIO, limit: int = 500) -> str:
    """The end of what a process wrote to its standard error."""
    size = errors.seek(0, 2)
    errors.seek(max(0, size - limit * 4))
    return errors.read()[-limit:].strip()
