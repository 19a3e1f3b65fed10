"""ReactAgent: turns until there is an answer; why it stops, and what comes of it."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph_nodes import Fail, Reply, ScriptedModel, Stop, ToolCall, call, tool
from flowgraph_nodes.agents import AgentFailed, ReactAgent
from flowgraph_nodes.agents.progress import EMPTY
from flowgraph_nodes.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage

pytestmark = pytest.mark.anyio


def add(a: int, b: int) -> int:
    return a + b


@tool
async def wrong(n: int = 0) -> Fail:
    return Fail(f"cannot do {n}")


async def failure(agent: ReactAgent) -> AgentFailed:
    """How an agent fails."""
    with pytest.raises(AgentFailed) as caught:
        await agent.arun("go")
    return caught.value


# -- an answer


async def test_turns_are_taken_until_a_reply_has_no_call() -> None:
    model = ScriptedModel([call("add", a=1, b=2), call("add", a=3, b=3), "six"])
    result = await ReactAgent(model=model, tools=[add]).arun("add")
    assert (result.output, result.stop_reason, len(model.requests)) == ("six", "completed", 3)


async def test_the_output_is_the_answer_alone_and_the_result_has_all_messages_and_the_new_ones() -> None:
    agent = ReactAgent(model=ScriptedModel(["one", "two"]), instructions="Be brief.")
    first = await agent.arun("first")
    assert first.messages == (SystemMessage("Be brief."), UserMessage("first"), AssistantMessage("one"))
    second = await agent.arun("second", history=first.messages)
    assert second.new_messages == (UserMessage("second"), AssistantMessage("two"))
    assert second.messages == (*first.messages, *second.new_messages)


async def test_each_run_has_a_fresh_context_and_one_agent_serves_many_at_once() -> None:
    async def echo(request: Any) -> str:
        await anyio.sleep(0.001)
        return f"{len(request.messages)} {request.messages[-1].content}"

    agent, found = ReactAgent(model=ScriptedModel(echo)), {}

    async def ask(n: int) -> None:
        found[n] = (await agent.arun(f"task {n}")).output

    async with anyio.create_task_group() as group:
        for n in range(5):
            group.start_soon(ask, n)
    assert found == {n: f"1 task {n}" for n in range(5)}


def test_run_is_the_sync_door() -> None:
    assert ReactAgent(model=ScriptedModel(["hello"])).run("hi").output == "hello"


async def test_run_inside_a_loop_is_an_error_that_names_the_async_twin() -> None:
    with pytest.raises(fg.FlowgraphError, match="arun"):
        ReactAgent(model=ScriptedModel(["hello"])).run("hi")


async def test_an_agent_is_a_node_among_others() -> None:
    graph = fg.Graph("briefing")
    graph.input("topic", str)
    graph.add("facts", ReactAgent(model=ScriptedModel(["3 facts"]), prompt="Facts on {topic}."))

    @graph.node
    def brief(facts: str) -> str:
        return facts.upper()

    assert (await fg.arun(graph, {"topic": "bees"})).output == "3 FACTS"


# -- stop reasons


async def test_stop_reason_limit_after_max_turns_says_which_and_keeps_what_there_is() -> None:
    model = ScriptedModel([Reply(text="getting there", calls=[call("add", a=1, b=n)]) for n in range(9)])
    error = await failure(ReactAgent(model=model, tools=[add], max_turns=3))
    assert (error.reason, error.partial, len(model.requests)) == ("limit", "getting there", 3)
    assert "max_turns=3" in str(error)


async def test_max_turns_is_20_by_default() -> None:
    model = ScriptedModel(call("add", a=1, b=n) for n in range(99))
    assert (await failure(ReactAgent(model=model, tools=[add]))).reason == "limit"
    assert len(model.requests) == 20


async def test_stopped_by_tool_succeeds_with_the_payload_after_the_other_calls_are_done() -> None:
    done: list[str] = []

    async def finish() -> Stop:
        return Stop({"grade": 1})

    async def other() -> None:
        await anyio.sleep(0.01)
        done.append("other")

    agent = ReactAgent(model=ScriptedModel([[call("finish"), call("other")]]), tools=[finish, other])
    graph = fg.Graph("g")
    graph.add("agent", agent, values={"task": "go"})
    run = await fg.arun(graph)
    assert run.output == '{"grade": 1}'
    assert done == ["other"]
    detail = run.nodes["agent"].detail
    assert (detail["stop_reason"], detail["stopped_by"]) == ("stopped_by_tool", {"name": "finish", "arguments": "{}"})


async def test_c38_the_same_failing_call_again_and_again_is_stuck() -> None:
    model = ScriptedModel([ToolCall("", "add", '{"a": 1}')] * 50)
    error = await failure(ReactAgent(model=model, tools=[add], tool_retry=2, max_turns=50))
    assert (error.reason, len(model.requests)) == ("tool_failures", 3)
    assert "stuck: 'add' failed 3 times" in error.detail
    assert sum(isinstance(message, ToolMessage) for message in error.messages) == 3


async def test_c38_more_than_three_failures_by_default() -> None:
    model = ScriptedModel([call("wrong")] * 50)
    assert (await failure(ReactAgent(model=model, tools=[wrong]))).reason == "tool_failures"
    assert len(model.requests) == 4


async def test_c38_failures_are_counted_within_one_reply_too() -> None:
    model = ScriptedModel([[call("wrong"), call("wrong")]] * 9)
    assert (await failure(ReactAgent(model=model, tools=[wrong]))).reason == "tool_failures"
    assert len(model.requests) == 2


@pytest.mark.parametrize("between", [call("wrong", n=1), call("add", a=1, b=2)])
async def test_c38_other_arguments_or_a_success_reset_the_count(between: ToolCall) -> None:
    same = call("wrong")
    model = ScriptedModel([same, same, between, same, same, "gave up"])
    agent = ReactAgent(model=model, tools=[wrong, add], tool_retry=2)
    assert (await agent.arun("go")).output == "gave up"


async def test_c38_a_cancel_in_the_loop_is_honoured_at_once() -> None:
    model = ScriptedModel(lambda request: call("wrong", n=len(request.messages)))
    async with ReactAgent(model=model, tools=[wrong], max_turns=10_000).stream("go") as run:
        await anyio.sleep(0.02)
        run.cancel()
        with pytest.raises(fg.RunCancelled):
            await run.result()
    asked = len(model.requests)
    await anyio.sleep(0.01)
    assert len(model.requests) == asked < 10_000


async def test_c39_an_empty_reply_after_a_tool_call_gets_one_nudge() -> None:
    model = ScriptedModel([Reply(text="working", calls=[call("add", a=1, b=2)]), "", "done"])
    result = await ReactAgent(model=model, tools=[add]).arun("go")
    assert result.output == "done"
    assert model.requests[2].messages[-1] == UserMessage(EMPTY)
    assert all(m.content or m.tool_calls for m in result.messages if isinstance(m, AssistantMessage))


@pytest.mark.parametrize("empty", ["", " \n\t ", Reply(reasoning="let me think")])
async def test_c39_always_empty_stops_after_the_nudges_and_is_no_success(empty: Any) -> None:
    model = ScriptedModel([empty] * 9)
    error = await failure(ReactAgent(model=model))
    assert (error.reason, error.partial, len(model.requests)) == ("limit", None, 3)
    assert "max_nudges=2" in error.detail


async def test_c39_no_nudges_at_all() -> None:
    model = ScriptedModel([""] * 9)
    assert (await failure(ReactAgent(model=model, max_nudges=0))).reason == "limit"
    assert len(model.requests) == 1


async def test_a_failed_agent_fails_its_node_with_reason_and_partial() -> None:
    graph = fg.Graph("g")
    graph.add("agent", ReactAgent(model=ScriptedModel([""] * 3), name="poet"), values={"task": "go"})
    run = await fg.arun(graph, raise_on_failure=False)
    error = run.nodes["agent"].error
    assert isinstance(error, AgentFailed)
    assert str(error).startswith("agent 'poet' stopped (limit): max_nudges=2")
    assert run.nodes["agent"].detail["stop_reason"] == "limit"
