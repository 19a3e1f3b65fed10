"""Servers for the tests: real ones, a raw one, and ones of the SDK in this process."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TextIO

import anyio
import pytest
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.memory import create_client_server_memory_streams

from flowgraph_nodes.tools.mcp import McpServer
from flowgraph_nodes.tools.mcp import connection as connections
from flowgraph_nodes.tools.mcp.settings import Settings
from flowgraph_nodes.tools.mcp.transport import Streams, opened
from tests.nodes.mcp.fetch import FOLDER

RAW = Path(__file__).parent / "raw_server.py"
EMPTY: dict[str, Any] = {"type": "object", "properties": {}}


def installed(name: str) -> str:
    """The command of a real server; the test is skipped where it is not installed."""
    for folder in (FOLDER / "venv" / "bin", FOLDER / "node_modules" / ".bin"):
        if (folder / name).exists():
            if folder.parent.name == "node_modules" and shutil.which("node") is None:
                break
            return str(folder / name)
    pytest.skip(f"{name} is not installed: run `python tests/nodes/mcp/fetch.py` once")


def raw(name: str = "raw", options: dict[str, Any] | None = None, **settings: Any) -> McpServer:
    """The raw server. options: see raw_server.py."""
    arguments = [str(RAW), json.dumps(options or {})]
    return McpServer(command=sys.executable, args=["-S", *arguments], **{"name": name, **settings})


def pids(file: Path) -> list[int]:
    """The pid of every start of a raw server."""
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def alive(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(port: int) -> None:
    """Wait until somebody listens there."""
    for _ in range(400):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError(f"nobody listens at port {port}")


def listed(name: str, schema: dict[str, Any] | None = None) -> types.Tool:
    """A tool as a server lists it."""
    return types.Tool(name=name, inputSchema=EMPTY if schema is None else schema)


Pages = Callable[[str | None], tuple[Sequence[types.Tool], str | None]]
"""The tools after a cursor, and the next one."""


def sdk_server(name: str, pages: Pages | Sequence[types.Tool]) -> Server[Any, Any]:
    """A server of the SDK whose every tool says who was called, and with what."""
    server: Server[Any, Any] = Server(name)

    async def list_tools(request: types.ListToolsRequest) -> types.ListToolsResult:
        if not callable(pages):
            return types.ListToolsResult(tools=list(pages))
        tools, cursor = pages(request.params.cursor if request.params else None)
        return types.ListToolsResult(tools=list(tools), nextCursor=cursor)

    async def call_tool(request: types.CallToolRequest) -> types.ServerResult:
        text = f"{name}: {request.params.name} {json.dumps(request.params.arguments, sort_keys=True)}"
        return types.ServerResult(types.CallToolResult(content=[types.TextContent(type="text", text=text)]))

    server.list_tools()(list_tools)
    server.request_handlers[types.CallToolRequest] = call_tool
    return server


class InProcess:
    """Servers of the SDK reached without a process: `McpServer(command="memory", name=…)`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._servers: dict[str, Server[Any, Any]] = {}
        monkeypatch.setattr(connections, "opened", self._opened)

    def add(self, name: str, pages: Pages | Sequence[types.Tool], **settings: Any) -> McpServer:
        """A server that can be connected to."""
        self._servers[name] = sdk_server(name, pages)
        return McpServer(command="memory", name=name, **settings)

    @asynccontextmanager
    async def _opened(self, settings: Settings, errors: TextIO) -> AsyncIterator[Streams]:
        if settings.command != "memory":
            async with opened(settings, errors) as streams:
                yield streams
            return
        server = self._servers[settings.name]
        async with (
            create_client_server_memory_streams() as (client, (read, write)),
            anyio.create_task_group() as group,
        ):
            group.start_soon(server.run, read, write, server.create_initialization_options())
            try:
                yield client
            finally:
                group.cancel_scope.cancel()
