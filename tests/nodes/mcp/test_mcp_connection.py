"""Sessions: crashes, restarts, limits, cancellation, changes, and that no process and no secret is left over."""

from __future__ import annotations

import gc
import json
import logging
import os
import time
import traceback
from pathlib import Path

import anyio
import pytest
from pydantic import SecretStr

import flowgraph as fg
from flowgraph.events import Emitted
from flowgraph_nodes import ReactAgent, ScriptedModel, Toolbox, ToolCall, call
from flowgraph_nodes.messages import ToolMessage
from flowgraph_nodes.tools.mcp import McpConnectionError, McpMissingError, McpServer
from flowgraph_nodes.tools.mcp import server as servers
from tests.nodes.mcp.servers import alive, pids, raw

pytestmark = pytest.mark.anyio

MARKER = "marker-5ecret-77"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers that do not end by themselves are told to after a moment, not after two seconds."""
    monkeypatch.setattr("mcp.client.stdio.PROCESS_TERMINATION_TIMEOUT", 0.2)


# -- losing it


async def test_a_crashed_server_is_started_again_once_and_the_call_is_not_repeated(tmp_path: Path) -> None:
    file, warnings = tmp_path / "pids", []
    async with raw(options={"pid_file": str(file)}).connect(warn=warnings.append) as connection:
        first = str(await connection.call("pid"))
        with pytest.raises(McpConnectionError, match="lost during the call; whether it was carried out is unknown"):
            await connection.call("crash")
        assert str(await connection.call("pid")) != first
        with pytest.raises(McpConnectionError, match="lost during the call"):
            await connection.call("crash")
        with pytest.raises(McpConnectionError, match=r"MCP server 'raw' .* was lost"):
            await connection.call("pid")
    assert len(pids(file)) == 2
    assert not any(map(alive, pids(file)))
    assert "is started again" in warnings[0]


async def test_a_server_that_died_between_calls_is_started_again_and_the_call_succeeds(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    async with raw(options={"pid_file": str(file)}) as connection:
        os.kill(pids(file)[0], 9)
        while alive(pids(file)[0]) and not _is_zombie(pids(file)[0]):
            await anyio.sleep(0.01)
        await anyio.sleep(0.1)
        assert str(await connection.call("echo", {"a": 1})) == 'echo {"a": 1}'


async def test_a_server_that_does_not_come_back_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    options = {"pid_file": str(tmp_path / "pids"), "die_at": 2, "words": "out of fuel"}
    async with raw(options=options) as connection:
        with pytest.raises(McpConnectionError, match="lost during the call"):
            await connection.call("crash")
        with pytest.raises(McpConnectionError, match=r"cannot be reached: .*out of fuel"):
            await connection.call("pid")


async def test_an_agent_reads_that_the_server_was_lost_and_goes_on(tmp_path: Path) -> None:
    model = ScriptedModel([[call("crash"), call("echo", a=1)], call("echo", a=2), "done"])
    result = await ReactAgent(model=model, mcp=raw()).arun("go")
    texts = [message.content for message in result.messages if isinstance(message, ToolMessage)]
    assert "lost during the call" in texts[0]
    assert texts[2] == 'echo {"a": 2}'


# -- reaching it


@pytest.mark.parametrize(
    ("anyio_backend", "stubborn"), [("asyncio", False), ("trio", False), ("asyncio", True)]
)  # a stubborn one is killed after two seconds
async def test_a_server_that_does_not_answer_is_an_error_in_time_and_no_process_is_left(
    tmp_path: Path, stubborn: bool
) -> None:
    file = tmp_path / "pids"
    server = raw(options={"pid_file": str(file), "silent": True, "stubborn": stubborn}, connect_timeout=0.5)
    with pytest.raises(McpConnectionError, match=r"'raw' .* cannot be reached: no answer within 0.5 s"):
        async with server:
            pass
    assert len(pids(file)) == 1
    assert not alive(pids(file)[0])


async def test_a_cancelled_connect_leaves_no_process(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    with anyio.move_on_after(0.5) as scope:
        async with raw(options={"pid_file": str(file), "silent": True}):
            pass
    assert scope.cancelled_caught
    assert len(pids(file)) == 1
    assert not alive(pids(file)[0])


async def test_an_unreachable_server_is_a_warning_when_it_is_not_required(caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedModel([call("echo"), "done"])
    agent = ReactAgent(model=model, mcp=[raw(), McpServer(command="no-such-command-here", required=False)])
    with caplog.at_level(logging.WARNING, "flowgraph.mcp"):
        assert (await agent.arun("go")).output == "done"
    assert "there is no 'no-such-command-here'" in caplog.text
    with pytest.raises(McpConnectionError, match="there is no 'no-such-command-here'"):
        await ReactAgent(model=ScriptedModel(["done"]), mcp="no-such-command-here").arun("go")


async def test_an_http_server_that_is_not_there_is_an_error_without_its_path(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(McpConnectionError) as caught:
        async with McpServer(url=f"http://127.0.0.1:9/{MARKER}?key={MARKER}", transport="sse"):
            pass
    assert "http://127.0.0.1:9" in str(caught.value)
    assert MARKER not in "".join(traceback.format_exception(caught.value))


async def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "find_spec", lambda name: None)
    agent = ReactAgent(model=ScriptedModel(["done"]), mcp=raw())
    assert "pip install 'flowgraph-agents[mcp]'" in agent.problems()[0]
    with pytest.raises(McpMissingError, match="flowgraph-agents"):
        async with raw():
            pass


# -- in it


async def test_what_the_block_raises_comes_out_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        async with raw():
            1 / 0  # noqa: B018


async def test_one_description_serves_many_sessions_but_its_own_block_one_at_a_time(tmp_path: Path) -> None:
    server = raw(options={"pid_file": str(tmp_path / "pids")})
    async with server as one, server.connect() as other:
        assert str(await one.call("pid")) != str(await other.call("pid"))
        with pytest.raises(ValueError, match=r"open already: use connect\(\)"):
            async with server:
                pass
    with pytest.raises(McpConnectionError, match="the connection is closed"):
        await one.call("pid")


async def test_a_shared_session_gives_its_tools_to_any_agent(tmp_path: Path) -> None:
    async with raw(options={"pid_file": str(tmp_path / "pids")}) as connection:
        for _ in range(2):
            model = ScriptedModel([call("pid"), "done"])
            await ReactAgent(model=model, tools=connection.tools()).arun("go")
    assert len(pids(tmp_path / "pids")) == 1


async def test_a_call_has_a_time_limit_and_the_server_is_told() -> None:
    async with raw(timeout=0.2) as connection:
        box = Toolbox(connection.tools())
        (result,) = await box.execute([ToolCall("1", "wait", "{}")])
        assert result.text == "Error (Timeout): no result within 0.2 s"
        assert json.loads(str(await connection.call("cancelled"))) != []


async def test_an_error_of_the_server_is_an_error_result_with_its_text() -> None:
    async with raw() as connection:
        (result,) = await Toolbox(connection.tools()).execute([ToolCall("1", "fail", "{}")])
    assert (result.ok, result.text) == (False, "Error (Failed): it failed with nothing")


async def test_progress_becomes_events_of_the_run() -> None:
    graph = fg.Graph("g")
    graph.add("agent", ReactAgent(model=ScriptedModel([call("progress"), "done"]), mcp=raw()), values={"task": "go"})
    async with fg.start(graph) as run:
        told = [event async for event in run if isinstance(event, Emitted) and event.kind == "progress"]
    assert [(event.path, event.data["progress"], event.data["message"]) for event in told] == [
        ("agent/progress", 1.0, "step 1"),
        ("agent/progress", 2.0, "step 2"),
    ]


async def test_a_changed_list_of_tools_is_offered_from_the_next_turn_on() -> None:
    model = ScriptedModel([call("change"), call("fresh"), "done"])
    result = await ReactAgent(model=model, mcp=raw()).arun("go")
    offered = [[spec.name for spec in request.tools] for request in model.requests]
    assert "fresh" not in offered[0]
    assert offered[1] == ["echo", "fresh"]
    assert result.messages[4].content == "fresh {}"


async def test_a_list_that_never_rests_holds_up_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flowgraph_nodes.tools.mcp.link._SETTLING", 0.2)
    async with raw(options={"restless": True}) as connection:
        with anyio.fail_after(5):
            assert str(await connection.call("echo")) == "echo {}"


async def test_a_changed_list_that_clashes_with_a_tool_of_the_agent_leaves_that_one() -> None:
    async def fresh() -> str:
        return "ours"

    model = ScriptedModel([call("change"), call("fresh"), "done"])
    result = await ReactAgent(model=model, tools=[fresh], mcp=raw()).arun("go")
    assert result.messages[4].content == "ours"


# -- in graphs


def in_a_map(file: Path, script: list[object], items: int) -> fg.Graph:
    inner = fg.Graph("inner")
    inner.input("item", str)
    agent = ReactAgent(
        model=ScriptedModel(lambda request: script[isinstance(request.messages[-1], ToolMessage)]),
        mcp=raw(options={"pid_file": str(file)}),
        prompt="{item}",
    )
    inner.add("agent", agent)
    graph = fg.Graph("outer")
    graph.input("items", list[str], default=[str(n) for n in range(items)])
    graph.map("each_item", inner, each={"item": "items"})
    return graph


async def test_each_run_of_an_agent_in_a_map_of_nested_graphs_has_its_own_session(tmp_path: Path) -> None:
    graph = in_a_map(tmp_path / "pids", [call("pid"), "done"], 3)
    assert (await fg.arun(graph)).output == ["done"] * 3
    assert len(set(pids(tmp_path / "pids"))) == 3
    assert not any(map(alive, pids(tmp_path / "pids")))


async def test_a_cancelled_run_leaves_no_process(tmp_path: Path) -> None:
    graph = in_a_map(tmp_path / "pids", [call("wait"), "done"], 2)
    async with fg.start(graph) as run:
        while len(pids(tmp_path / "pids")) < 2:
            await anyio.sleep(0.02)
        await anyio.sleep(0.2)
        assert all(map(alive, pids(tmp_path / "pids")))
        begun = time.monotonic()
        run.cancel()
        with pytest.raises(fg.RunCancelled):
            await run.result()
    assert time.monotonic() - begun < 3
    assert not any(map(alive, pids(tmp_path / "pids")))
    gc.collect()  # an unclosed stream or process would warn now, and warnings are errors


# -- C51: secrets


async def test_a_server_gets_what_it_is_given_and_a_safe_minimum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWGRAPH_TEST_SECRET", MARKER)
    async with raw(env={"GIVEN": "yes", "WRAPPED": SecretStr("too")}) as connection:
        found = json.loads(str(await connection.call("env")))
    assert (found["GIVEN"], found["WRAPPED"]) == ("yes", "too")
    assert "PATH" in found
    assert MARKER not in json.dumps(found)
    assert set(found) <= {"GIVEN", "WRAPPED", "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LC_CTYPE"}


async def test_secrets_are_in_no_repr_error_log_record_or_result(caplog: pytest.LogCaptureFixture) -> None:
    env = {"API_TOKEN": MARKER, "PLAIN": SecretStr(MARKER + "-2")}
    server = raw(env=env)
    agent = ReactAgent(model=ScriptedModel([call("fail"), call("env"), "done"]), mcp=[server])
    graph = fg.Graph("g")
    graph.add("agent", agent, values={"task": "go"})
    with caplog.at_level(logging.DEBUG, "flowgraph"):
        run = await fg.arun(graph)
    shown = [repr(server), repr(agent), repr(vars(server)), repr(run), caplog.text]
    shown += [repr(node) + repr(node.detail) + repr(node.value) for node in run.nodes.values()]
    assert not [text for text in shown if MARKER in text]


async def test_secrets_are_not_in_what_a_failing_server_wrote(tmp_path: Path) -> None:
    options = {"pid_file": str(tmp_path / "pids"), "die_at": 1, "words": f"cannot log in with {MARKER}"}
    with pytest.raises(McpConnectionError, match=r"cannot log in with \*\*\*") as caught:
        async with raw(options=options, env={"ANYTHING": MARKER}):
            pass
    assert MARKER not in "".join(traceback.format_exception(caught.value))


def _is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
