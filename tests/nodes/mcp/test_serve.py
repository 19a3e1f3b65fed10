"""`flowgraph serve-mcp`: used by the SDK's own client, over standard streams and HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

import flowgraph as fg
from flowgraph_nodes import ReactAgent, ScriptedModel, call
from flowgraph_nodes.messages import ToolMessage
from flowgraph_nodes.serve import ServeError, offers_of, serve
from flowgraph_nodes.tools.mcp import McpServer
from tests.nodes.mcp.servers import free_port, wait_for

pytestmark = [pytest.mark.anyio, pytest.mark.network_local]

OFFERED = str(Path(__file__).parent / "offered.py")
COMMAND = ["-m", "flowgraph", "serve-mcp", OFFERED]
ENV = {"PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def client() -> AsyncIterator[ClientSession]:
    """The SDK's client with the server started on the other end."""
    parameters = StdioServerParameters(command=sys.executable, args=COMMAND, env=ENV)
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


def text_of(result: types.CallToolResult) -> str:
    (part,) = result.content
    assert isinstance(part, types.TextContent)
    return part.text


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_graphs_and_agents_are_tools_of_the_sdks_client_whatever_they_print() -> None:
    steps: list[tuple[float, str | None]] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, message))

    async with client() as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        done = await session.call_tool("greeting", {"who": {"name": "Ada"}, "times": 2}, progress_callback=told)
        wrong = await session.call_tool("greeting", {"whom": 1})
        failed = await session.call_tool("broken")
        asked = await session.call_tool("the_helper", {"task": "look around"})
        unknown = await session.call_tool("nothing", {})

    assert list(tools) == ["greeting", "broken", "endless", "the_helper"]
    assert tools["greeting"].description == "Greets somebody."
    assert tools["the_helper"].description == "Helps."
    schema = tools["greeting"].inputSchema
    assert schema["required"] == ["who"]
    assert schema["properties"]["times"] == {"default": 1, "type": "integer"}
    assert schema["$defs"]["Place"]["required"] == ["name"]

    assert (done.isError, done.structuredContent) == (False, {"text": "Hello Ada! Hello Ada!"})
    assert json.loads(text_of(done)) == done.structuredContent
    assert [message for _, message in steps] == [
        "words started",
        "words succeeded",
        "letter started",
        "letter succeeded",
    ]
    assert [progress for progress, _ in steps] == sorted({progress for progress, _ in steps})

    assert wrong.isError
    assert "there is no input 'whom'; input 'who' (Place) is missing" in text_of(wrong)
    assert failed.isError
    assert "fuse: ValueError: the fuse is gone" in text_of(failed)
    assert "abcdefgh12345678" not in text_of(failed)
    assert (asked.isError, text_of(asked), asked.structuredContent) == (False, "done", {"result": "done"})
    assert unknown.isError
    assert "there are: greeting, broken, endless, the_helper" in text_of(unknown)


async def test_a_cancelled_request_cancels_the_run_and_the_server_goes_on(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    server = McpServer(command=sys.executable, args=COMMAND, env=ENV, timeout=None)
    async with server as connection:
        with anyio.move_on_after(20) as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(connection.call, "endless", {"marks": str(marks)})
                await _until(marks, "began")
                group.cancel_scope.cancel()
        assert not scope.cancelled_caught
        await _until(marks, "cancelled")
        assert not (await connection.call("greeting", {"who": {"name": "Ada"}})).failed


async def test_a_client_that_goes_away_cancels_its_runs(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    async with client() as session:
        with pytest.raises(McpError, match="Timed out"):
            await session.call_tool("endless", {"marks": str(marks)}, read_timeout_seconds=timedelta(seconds=1))
        assert marks.read_text() == "began"
    assert marks.read_text() == "cancelled"


async def test_an_agent_uses_a_served_graph_and_sees_its_progress() -> None:
    server = McpServer(command=sys.executable, args=[*COMMAND[:-1], f"{OFFERED}:greeting"], env=ENV)
    model = ScriptedModel([call("greeting", who={"name": "Ada"}), "done"])
    graph = fg.Graph("g")
    graph.add("agent", ReactAgent(model=model, mcp=server), values={"task": "go"})
    async with fg.start(graph) as run:
        told = [event.data["message"] async for event in run if getattr(event, "kind", "") == "progress"]
        node = (await run.result()).nodes["agent/greeting"]
    assert told[-1] == "letter succeeded"
    assert node.detail["mcp"]["structured"] == {"text": "Hello Ada!"}
    assert [spec.name for spec in model.requests[0].tools] == ["greeting"]
    assert isinstance(model.requests[1].messages[-1], ToolMessage)


async def test_streamable_http() -> None:
    port = free_port()
    command = [sys.executable, *COMMAND, "--http", f"127.0.0.1:{port}"]
    process = subprocess.Popen(command, env={**os.environ, **ENV}, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(port)
        async with (
            streamable_http_client(f"http://127.0.0.1:{port}/mcp") as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            done = await session.call_tool("greeting", {"who": {"name": "Ada"}})
        assert done.structuredContent == {"text": "Hello Ada!"}
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
    assert f"serving greeting, broken, endless, the_helper at http://127.0.0.1:{port}/mcp" in errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_at_once_and_its_runs_though_the_client_is_still_there(
    tmp_path: Path, number: signal.Signals
) -> None:
    def send(method: str, **params: object) -> None:
        line = json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params})
        print(line, file=pipe, flush=True)

    marks = tmp_path / "marks"
    process = subprocess.Popen(
        [sys.executable, *COMMAND], env={**os.environ, **ENV}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        pipe = process.stdin
        send("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
        process.stdout.readline()
        print('{"jsonrpc": "2.0", "method": "notifications/initialized"}', file=pipe, flush=True)
        send("tools/call", name="endless", arguments={"marks": str(marks)})
        anyio.run(_until, marks, "began")
        process.send_signal(number)
        assert process.wait(5) == 128 + number
        assert marks.read_text() == "cancelled"


# -- what can be offered


def graph(name: str, type_: object = str) -> fg.Graph:
    made = fg.Graph(name)
    made.input("it", type_)
    made.add("same", lambda it: it)
    return made


def test_an_offer_has_a_name_that_clients_take_and_one_object_is_offered_once() -> None:
    one = graph("one")
    assert list(offers_of({"a": one, "b": one, "c": 3, "d": graph("d")})) == ["one", "d"]


def test_what_cannot_be_offered_is_said() -> None:
    with pytest.raises(ServeError, match="'a' and 'b' would both be the tool 'one'"):
        offers_of({"a": graph("one"), "b": graph("one")})
    with pytest.raises(ServeError, match="there is no graph and no agent to offer among x"):
        offers_of({"x": 3})
    with pytest.raises(ServeError, match=r"graph 'odd' cannot be offered: .*parameter 'it' has no JSON schema"):
        offers_of({"a": graph("odd", anyio.Event)})
    circle = fg.Graph("circle")
    circle.add("a", lambda b: b)
    with pytest.raises(ServeError, match="'circle' has errors"):
        offers_of({"a": circle})


@pytest.mark.parametrize("http", ["8000", "localhost:", "localhost:http", ":8000"])
def test_an_address_that_is_none_is_refused(http: str) -> None:
    with pytest.raises(ServeError, match="--http wants HOST:PORT"):
        serve(lambda: {"a": graph("one")}, http=http)


def test_a_target_that_is_not_there_is_a_usage_error() -> None:
    command = [sys.executable, *COMMAND[:-1], f"{OFFERED}:absent"]
    done = subprocess.run(command, env={**os.environ, **ENV}, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "has nothing of that name (it has greeting, broken, endless)" in done.stderr


async def _until(file: Path, text: str) -> None:
    for _ in range(400):
        if file.exists() and file.read_text() == text:
            return
        await anyio.sleep(0.02)
    raise TimeoutError(f"{file.name} does not say {text!r}")
