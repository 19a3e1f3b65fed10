"""Real servers: two in Python (`mcp-server-time`, `-git`), two in Node (`server-filesystem`, `server-everything`).

They take a second to start, so most tests run on asyncio alone; the raw server is tested on both.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import traceback
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar, Literal

import anyio
import httpx
import pytest
from pydantic import AnyUrl, SecretStr

import flowgraph as fg
from flowgraph.events import Emitted
from flowgraph_nodes import ReactAgent, ScriptedModel, Toolbox, ToolCall, call
from flowgraph_nodes.messages import ToolMessage
from flowgraph_nodes.tools.mcp import McpConnectionError, McpResult, McpServer
from tests.nodes.mcp.servers import alive, free_port, installed, wait_for

pytestmark = [pytest.mark.anyio, pytest.mark.network_local]

MARKER = "marker-5ecret-78"

on_both = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
sloppy_httpx = pytest.mark.filterwarnings("ignore:Async generator '(httpx|httpcore):ResourceWarning")
"""httpx leaves generators of cancelled streams to the garbage collector, which trio calls out."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def clock() -> McpServer:
    return McpServer(command=installed("mcp-server-time"), args=["--local-timezone", "UTC"], name="time")


def files(folder: Path) -> McpServer:
    return McpServer(
        command=installed("mcp-server-filesystem"), args=[str(folder)], name="files", allow=["*_file", "list_*"]
    )


def everything() -> McpServer:
    return McpServer(command=installed("mcp-server-everything"), name="everything", timeout=20)


@contextmanager
def serving(mode: str) -> Iterator[tuple[int, int]]:
    """server-everything over HTTP: its port and pid."""
    command = installed("mcp-server-everything")
    port = free_port()
    process = subprocess.Popen(
        [command, mode],
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_for(port)
        yield port, process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def http_port() -> Iterator[int]:
    with serving("streamableHttp") as (port, _):
        yield port


def texts(result: object) -> list[str]:
    """What the tools of an agent's run answered."""
    return [message.content for message in result.messages if isinstance(message, ToolMessage)]  # type: ignore[attr-defined]


# -- Python, stdio


async def test_the_time_server_tells_the_time() -> None:
    async with clock() as connection:
        assert [item.name for item in connection.tools()] == ["get_current_time", "convert_time"]
        found = json.loads(str(await connection.call("get_current_time", {"timezone": "Europe/Paris"})))
        wrong = await connection.call("get_current_time", {"timezone": "Nowhere/None"})
    assert found["timezone"] == "Europe/Paris"
    assert wrong.failed
    assert "Nowhere/None" in wrong.text


async def test_the_git_server_reads_a_repository(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "--initial-branch=main")
    git("commit", "--allow-empty", "-m", "the first one")
    server = McpServer(command=installed("mcp-server-git"), args=["--repository", str(tmp_path)], deny=["git_reset"])
    model = ScriptedModel([call("git_log", repo_path=str(tmp_path)), "done"])
    result = await ReactAgent(model=model, mcp=server).arun("go")
    assert "the first one" in texts(result)[0]
    offered = [spec.name for spec in model.requests[0].tools]
    assert "git_log" in offered
    assert "git_reset" not in offered


# -- Node, stdio


async def test_the_filesystem_server_stays_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "note.txt").write_text("remember the milk")
    (tmp_path / "out.txt").write_text(MARKER)
    async with files(tmp_path / "in") as connection:
        box = Toolbox(connection.tools())
        calls = [
            ToolCall(str(n), "read_text_file", json.dumps({"path": str(tmp_path / path)}))
            for n, path in enumerate(["in/note.txt", "out.txt"])
        ]
        found, refused = await box.execute(calls)
    assert found.text == "remember the milk"
    assert isinstance(found.value, McpResult)
    assert found.value.structured == {"content": "remember the milk"}
    assert refused.failure is not None
    assert refused.failure.kind == "Failed"
    assert "Access denied" in refused.text
    assert MARKER not in refused.text


async def test_images_resources_and_structured_content_are_kept_and_told_to_the_model_in_words() -> None:
    calls = [
        call("get-tiny-image"),
        call("get-resource-reference", resourceType="Text", resourceId=1),
        call("get-structured-content", location="New York"),
        call("get-resource-links", count=1),
    ]
    agent = ReactAgent(model=ScriptedModel([calls, "done"]), mcp=everything())
    graph = fg.Graph("g")
    graph.add("agent", agent, values={"task": "go"})
    run = await fg.arun(graph)
    kept = {path.rpartition("/")[2]: node.detail["mcp"] for path, node in run.nodes.items() if "mcp" in node.detail}
    assert [part["type"] for part in kept["get-tiny-image"]["content"]] == ["text", "image", "text"]
    assert kept["get-tiny-image"]["content"][1]["mimeType"] == "image/png"
    assert set(kept["get-structured-content"]["structured"]) == {"temperature", "conditions", "humidity"}
    told = [message["content"] for message in run.nodes["agent"].detail["messages"] if message["role"] == "tool"]
    assert "[image, image/png, " in told[0]
    assert "[resource demo://resource/" in told[1]
    assert "temperature" in told[2]
    assert "[resource demo://resource/" in told[3]


async def test_a_server_of_node_sees_only_the_environment_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWGRAPH_TEST_SECRET", MARKER)
    server = McpServer(command=installed("mcp-server-everything"), env={"GIVEN": "yes"})
    async with server as connection:
        text = str(await connection.call("get-env"))
    assert '"GIVEN": "yes"' in text
    assert MARKER not in text


async def test_a_long_operation_tells_its_progress() -> None:
    model = ScriptedModel([call("trigger-long-running-operation", duration=0.3, steps=3), "done"])
    graph = fg.Graph("g")
    graph.add("agent", ReactAgent(model=model, mcp=everything()), values={"task": "go"})
    async with fg.start(graph) as run:
        told = [event.data async for event in run if isinstance(event, Emitted) and event.kind == "progress"]
        assert (await run.result()).output == "done"
    assert [(item["progress"], item["total"]) for item in told] == [(1, 3), (2, 3), (3, 3)]


# -- HTTP


class Refusing(BaseHTTPRequestHandler):
    """Remembers the headers of each request, and refuses it."""

    seen: ClassVar[list[Mapping[str, str]]] = []

    def do_POST(self) -> None:
        self.seen.append(dict(self.headers))
        self.send_error(401)

    do_GET = do_POST

    def log_message(self, format: str, *args: object) -> None:
        pass


class Signed(httpx.Auth):
    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["X-Signature"] = "signed"
        yield request


@on_both
@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_headers_bearer_and_auth_reach_the_server_and_no_error(transport: Literal["http", "sse"]) -> None:
    Refusing.seen.clear()
    with HTTPServer(("127.0.0.1", 0), Refusing) as web:
        Thread(target=web.serve_forever, daemon=True).start()
        server = McpServer(
            url=f"http://127.0.0.1:{web.server_port}/mcp?key={MARKER}",
            headers={"X-Team": SecretStr("tea for two")},
            bearer=MARKER,
            auth=Signed(),
            transport=transport,
        )
        with pytest.raises(McpConnectionError, match="HTTP 401 Unauthorized") as caught:
            async with server:
                pass
        web.shutdown()
    seen = Refusing.seen[0]
    assert (seen["Authorization"], seen["X-Team"], seen["X-Signature"]) == (f"Bearer {MARKER}", "tea for two", "signed")
    told = "".join(traceback.format_exception(caught.value))
    assert MARKER not in told
    assert "tea for two" not in told


@on_both
@sloppy_httpx
async def test_streamable_http(http_port: int) -> None:
    server = McpServer(url=f"http://127.0.0.1:{http_port}/mcp", bearer=MARKER, headers={"X-Team": "tea"})
    async with server as connection:
        assert str(await connection.call("echo", {"message": "hello"})) == "Echo: hello"
        assert (await connection.call("echo", {})).failed
        found = await connection.session.read_resource(AnyUrl("demo://resource/static/document/features.md"))
        assert found.contents
    result = await ReactAgent(
        model=ScriptedModel([call("get-sum", a=2, b=3), "done"]), mcp=f"http://127.0.0.1:{http_port}/mcp"
    ).arun("go")
    assert "5" in texts(result)[0]


@on_both
@sloppy_httpx
async def test_many_calls_at_once_over_http_have_each_its_own_result(http_port: int) -> None:
    found: dict[int, str] = {}

    async def ask(n: int) -> None:
        found[n] = str(await connection.call("echo", {"message": str(n)}))

    async with McpServer(url=f"http://127.0.0.1:{http_port}/mcp") as connection:
        with anyio.fail_after(15):
            async with anyio.create_task_group() as group:
                for n in range(30):
                    group.start_soon(ask, n)
    assert found == {n: f"Echo: {n}" for n in range(30)}


@on_both
async def test_server_sent_events() -> None:
    with serving("sse") as (port, _):
        async with McpServer(url=f"http://127.0.0.1:{port}/sse", transport="sse") as connection:
            assert str(await connection.call("echo", {"message": "hello"})) == "Echo: hello"


@on_both
@sloppy_httpx
async def test_an_http_server_that_goes_away_is_an_error_and_hangs_nobody() -> None:
    with serving("streamableHttp") as (port, pid):
        async with McpServer(url=f"http://127.0.0.1:{port}/mcp") as connection:
            os.kill(pid, signal.SIGKILL)
            for _ in range(3):
                with pytest.raises(McpConnectionError):
                    await connection.call("echo", {"message": "hello"})


# -- all together


@on_both
async def test_one_turn_mixes_a_tool_two_servers_and_a_handoff_and_each_call_has_its_own_result(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("from a")
    (tmp_path / "b.txt").write_text("from b")

    def double(n: int) -> int:
        return 2 * n

    calls = [
        call("read_text_file", path=str(tmp_path / "b.txt")),
        call("double", n=21),
        call("get_current_time", timezone="UTC"),
        call("read_text_file", path=str(tmp_path / "a.txt")),
        call("nothing"),
        call("double", n=1),
        call("handoff_task", handoffs=[{"agent_name": "helper", "task": "help", "reasoning": "it can"}]),
    ]
    helper = ReactAgent(model=ScriptedModel(["helped"]), name="helper", description="helps")
    agent = ReactAgent(
        model=ScriptedModel([calls, "done"]), tools=[double], mcp=[files(tmp_path), clock()], handoffs=[helper]
    )
    found = texts(await agent.arun("go"))
    assert "helped" in found[6]
    assert [found[0], found[1], found[3], found[5]] == ["from b", "42", "from a", "2"]
    assert json.loads(found[2])["timezone"] == "UTC"
    assert found[4].startswith("Error (UnknownTool)")


async def test_no_process_is_left_of_a_server_of_node() -> None:
    before = _children()
    async with everything():
        pids = _children() - before
    assert len(pids) == 1
    assert not [pid for pid in pids if alive(pid)]


def _children() -> set[int]:
    """The servers that this process has started and that are still there."""
    found: set[int] = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(words[1]) == os.getpid() and "everything" in (stat.parent / "cmdline").read_text():
            found.add(int(stat.parent.name))
    return found
