"""Options of tools and wrappers of toolboxes: retries, cut results, filters, prefixes, names, approval, time limits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph_nodes import ReactAgent, ScriptedModel, Stop, Toolbox, call, tool
from flowgraph_nodes.errors import DuplicateToolError, ToolDefinitionError, ToolError
from flowgraph_nodes.messages import ToolMessage

pytestmark = pytest.mark.anyio


def results(messages: Any) -> list[str]:
    return [message.content for message in messages if isinstance(message, ToolMessage)]


async def run_of(*replies: Any, tools: list[Any], **options: Any) -> fg.Run:
    graph = fg.Graph("test")
    graph.add("agent", ReactAgent(model=ScriptedModel(replies), tools=tools), values={"task": "go"})
    return await fg.arun(graph, raise_on_failure=False, **options)


# -- retries


def flaky(failures: int, error: Exception) -> tuple[Any, list[int]]:
    tries: list[int] = []

    async def fetch(n: int = 0) -> str:
        tries.append(n)
        if len(tries) <= failures:
            raise error
        return "found"

    return fetch, tries


async def test_idempotent_tools_are_retried_by_the_engine_and_count_once() -> None:
    target, tries = flaky(2, ConnectionError("no route"))
    made = tool(target, idempotent=True, retry=fg.Retry(attempts=3, on=ConnectionError))
    run = await run_of(call("fetch"), "done", tools=[made])
    assert (run.nodes["agent/fetch"].value.text, len(tries)) == ("found", 3)
    assert (run.nodes["agent/fetch"].attempt, run.usage.tool_calls) == (3, 1)


@pytest.mark.parametrize(
    ("retry", "tries"), [(fg.Retry(attempts=2), 2), (fg.Retry(attempts=5, on=TimeoutError), 1), (None, 1)]
)
async def test_when_no_attempt_is_left_the_failure_is_a_result(retry: fg.Retry | None, tries: int) -> None:
    target, made = flaky(9, ConnectionError("no route"))
    run = await run_of(call("fetch"), "done", tools=[tool(target, idempotent=True, retry=retry)])
    assert (run["agent"], len(made)) == ("done", tries)
    assert run.nodes["agent/fetch"].value.text == "Error (ConnectionError): no route"


async def test_when_the_run_has_no_retry_left_the_failure_is_a_result() -> None:
    target, tries = flaky(9, ConnectionError("no route"))
    made = tool(target, idempotent=True, retry=fg.Retry(attempts=5))
    run = await run_of(call("fetch"), "done", tools=[made], limits=fg.Limits(retries=1))
    assert (run["agent"], len(tries)) == ("done", 2)
    assert "Error (ConnectionError): no route" in str(run.nodes["agent"].detail["messages"])


async def test_time_limits_and_bad_arguments() -> None:
    tries = 0

    async def slow(n: int) -> None:
        nonlocal tries
        tries += 1
        await anyio.sleep(30)

    made = tool(slow, timeout=0.01, idempotent=True, retry=fg.Retry(attempts=2))
    run = await run_of([call("slow", n=1), call("slow")], "done", tools=[made])
    assert tries == 2  # of the one whose arguments fit
    assert run.nodes["agent/slow"].value.text == "Error (Timeout): no result within 0.01 s"


async def test_on_error_has_the_last_word() -> None:
    target, tries = flaky(9, ConnectionError("no route"))
    made = tool(target, idempotent=True, retry=fg.Retry(attempts=2), on_error=lambda error: f"sorry: {error}")
    run = await run_of(call("fetch"), "done", tools=[made])
    assert (run.nodes["agent/fetch"].value.text, len(tries)) == ("sorry: no route", 2)


async def test_a_used_up_limit_is_the_stop_reason_and_leaves_no_call_unanswered() -> None:
    made = [call("think"), call("read_file")]
    run = await run_of(made, "done", tools=[think, tool(read_file, exclusive=True)], limits=fg.Limits(tool_calls=1))
    agent = run.nodes["agent"]
    assert isinstance(agent.error, fg.LimitExceeded)
    assert agent.detail["stop_reason"] == "limit"
    assert "tool_calls" in agent.detail["stop_detail"]
    assert [message["content"][:5] for message in agent.detail["messages"][-2:]] == ["hm", "Error"]


# -- cut results


async def test_long_results_are_cut_and_the_whole_text_is_kept() -> None:
    def long() -> str:
        return "0123456789" * 1000

    run = await run_of(call("long"), "done", tools=[tool(long, max_output=25)])
    shown = run.nodes["agent"].detail["messages"][-2]["content"]
    assert shown == "0123456789012345678901234\n[9,975 of 10,000 characters are left out here]"
    assert run.nodes["agent/long"].value.full == "0123456789" * 1000
    (result,) = await Toolbox([tool(long, max_output=25)]).execute([call("long")])
    assert (result.text, result.value) == (shown, "0123456789" * 1000)


async def test_an_agent_cuts_what_has_no_limit_of_its_own() -> None:
    def long(n: int) -> str:
        return "x" * n

    run = await run_of([call("long", n=16_384), call("long", n=16_385)], "done", tools=[long])
    assert run.nodes["agent/long"].value.full is None
    assert len(run.nodes["agent/long~2"].value.full) == 16_385
    run = await run_of(call("long", n=20_000), "done", tools=[tool(long, max_output=50_000)])
    assert run.nodes["agent/long"].value.full is None


async def test_a_payload_that_stops_the_agent_is_not_cut() -> None:
    def stop() -> Stop:
        return Stop("x" * 100)

    run = await run_of(call("stop"), tools=[tool(stop, max_output=10)])
    assert run["agent"] == "x" * 100


# -- wrappers


def read_file() -> str:
    return "read"


def write_file() -> str:
    return "written"


def think() -> str:
    return "hm"


BOX = Toolbox([read_file, write_file, think], parallel=2)


def names(box: Toolbox) -> list[str]:
    return [one.name for one in box]


async def test_filters_take_patterns_lists_and_functions() -> None:
    assert names(BOX.filtered("*_file")) == ["read_file", "write_file"]
    assert names(BOX.filtered(["think", "read_*"])) == ["read_file", "think"]
    assert names(BOX.filtered(deny="write_*")) == ["read_file", "think"]
    assert names(BOX.filtered("*", deny=lambda one: not one.serial)) == []
    assert names(BOX) == ["read_file", "write_file", "think"]
    (result,) = await BOX.filtered("think").execute([call("read_file")])
    assert "no tool 'read_file'" in result.text


async def test_prefixes_and_other_names_run_the_same_tools() -> None:
    box = BOX.prefixed("fs_").renamed({"fs_think": "ponder"})
    assert names(box) == ["fs_read_file", "fs_write_file", "ponder"]
    done = await box.execute([call("ponder"), call("fs_read_file")])
    assert ([one.text for one in done], box.parallel) == (["hm", "read"], 2)
    with pytest.raises(ToolError, match="no tool 'thin'; did you mean 'think'"):
        BOX.renamed({"thin": "x"})
    with pytest.raises(DuplicateToolError):
        BOX.renamed({"think": "read_file"})
    with pytest.raises(ToolDefinitionError, match="64 letters"):
        BOX.prefixed("x" * 64)


async def test_approval_and_time_limits_for_some_or_all() -> None:
    box = BOX.with_approval(of="write_*").with_timeout(5).with_timeout(9, of=["think"])
    assert [(one.approve, one.timeout) for one in box] == [(False, 5), (True, 5), (False, 5)]
    done = await box.execute([call("read_file"), call("write_file")])
    assert [one.text.partition(":")[0] for one in done] == ["read", "Error (Refused)"]


async def test_last_tools_run_after_the_others_and_see_their_results() -> None:
    from flowgraph_nodes import ToolContext

    def summary(ctx: ToolContext) -> list[str]:
        return [f"{one.call.name}: {one.text}" for one in ctx.others]

    box = Toolbox([tool(summary, last=True), read_file, think])
    done = await box.execute([call("summary"), call("think"), call("read_file"), call("summary")])
    assert done[0].value == ["think: hm", "read_file: read"]
    assert done[3].value[0].startswith("summary: ")


async def test_tools_that_are_added_in_a_turn_are_offered_in_the_next() -> None:
    box = Toolbox([read_file])
    now = box.offered()
    box.add(think)
    assert (names(now), names(box.offered())) == (["read_file"], ["read_file", "think"])


def test_what_few_need_is_imported_when_it_is_asked_for() -> None:
    program = (
        "import sys, flowgraph_nodes as nodes; heavy = {'flowgraph_nodes.tools.builtin', 'sqlite3', 'litellm', 'mcp'}; "
        "assert not heavy & set(sys.modules), heavy & set(sys.modules); "
        "assert nodes.builtin_tools('desk', ['grep'])[0].name == 'grep'; assert not hasattr(nodes, 'nothing')"
    )
    root = Path(__file__).parents[2]
    environment = {"PYTHONPATH": f"{root}:{root / 'nodes'}"}
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, env=environment, cwd=root / "tests")
