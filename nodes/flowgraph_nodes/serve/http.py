"""Serving over streamable HTTP, to many clients."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import anyio
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from flowgraph_nodes.serve.offers import Offer, ServeError
from flowgraph_nodes.serve.service import service

_PATH: Final = "/mcp"
_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


def address_of(text: str) -> tuple[str, int]:
    """Host and port of "HOST:PORT". Raises ServeError."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ServeError(f"--http wants HOST:PORT, such as 127.0.0.1:8000, not {text!r}")
    return host, int(port)


def serve_http(offers: Mapping[str, Offer], host: str, port: int) -> None:
    """Serve until interrupted. There is no authentication: what others may reach belongs behind a proxy that has it."""
    print(f"serving {', '.join(offers)} at http://{host}:{port}{_PATH}", file=sys.stderr)  # noqa: T201 - for people
    config = uvicorn.Config(_app(offers, host, port), host=host.strip("[]"), port=port, log_level="warning")
    anyio.run(uvicorn.Server(config).serve)


def _app(offers: Mapping[str, Offer], host: str, port: int) -> Starlette:
    names = dict.fromkeys((host, *_LOOPBACK))
    # Checked so that no web page can reach a local server by a name of its own (DNS rebinding).
    guard = TransportSecuritySettings(
        allowed_hosts=[f"{name}:{port}" for name in names],
        allowed_origins=[f"http://{name}:{port}" for name in names],
        enable_dns_rebinding_protection=host in _LOOPBACK,
    )
    manager = StreamableHTTPSessionManager(service(offers), security_settings=guard)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    return Starlette(routes=[Route(_PATH, _Endpoint(manager))], lifespan=lifespan)


class _Endpoint:
    """The manager as an application of its own, for every method of one path."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)
