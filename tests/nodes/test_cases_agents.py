"""Inputs that broke other agents, where no other file says it already; named by their numbers."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph_nodes import LoopFlow, Reply, ScriptedModel, ToolCall, ToolContext, call, errors, tool
from flowgraph_nodes.agents import AgentFailed, ReactAgent
from flowgraph_nodes.agents.result import messages_of
from flowgraph_nodes.messages import AssistantMessage, ToolMessage, UserMessage
from flowgraph_nodes.transcript import Transcript
from tests.engine.cutting import look_at_services, nothing_left

from .test_tools_text import VALUES

pytestmark = pytest.mark.anyio

TRANSIENT = fg.Retry(attempts=4, on=errors.TransientModelError)


def graph_of(agent: Any) -> fg.Graph:
    graph = fg.Graph("test")
    graph.input("task")
    graph.add("agent", agent)
    return graph


def answers(messages: Any) -> list[str]:
    return [message.content for message in messages if isinstance(message, ToolMessage)]


# -- retries


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_c12_an_interrupt_in_a_model_call_is_never_retried(kind: type[BaseException], backend: str) -> None:
    asked = 0

    def reply(request: Any) -> str:
        nonlocal asked
        asked += 1
        raise kind

    agent = ReactAgent(model=ScriptedModel(reply), model_retry=fg.Retry(attempts=5))
    with pytest.raises(kind):
        anyio.run(agent.arun, "go", backend=backend)
    assert asked == 1


async def test_c12_a_cancelled_model_call_is_never_retried() -> None:
    asked = 0

    async def reply(request: Any) -> str:
        nonlocal asked
        asked += 1
        await anyio.sleep_forever()
        return "never"

    with anyio.move_on_after(0.02):
        await ReactAgent(model=ScriptedModel(reply), model_retry=fg.Retry(attempts=5)).arun("go")
    assert asked == 1


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        errors.RateLimitError("slow down", retry_after=1),
        errors.ModelServerError("busy"),
        ConnectionError("cut"),
        TimeoutError("late"),
        fg.OutputError("odd"),
        ExceptionGroup("both", [OSError("a"), errors.ModelTimeoutError("b")]),
        RuntimeError(""),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_c13_no_exception_of_a_tool_makes_the_model_be_asked_again(error: Exception, sync: bool) -> None:
    runs = 0

    def sync_tool() -> None:
        nonlocal runs
        runs += 1
        raise error

    async def async_tool() -> None:
        sync_tool()

    name = "sync_tool" if sync else "async_tool"
    model = ScriptedModel([call(name), "it failed"])
    agent = ReactAgent(model=model, tools=[sync_tool if sync else async_tool], model_retry=TRANSIENT)
    run = await fg.arun(graph_of(agent), {"task": "go"})
    assert (run.output, runs, len(model.requests)) == ("it failed", 1, 2)
    assert [node.attempt for node in run.nodes["agent"].children] == [1, 1, 1]
    (answer,) = answers(model.requests[1].messages)
    assert answer.startswith("Error (")


# -- time and cancellation


async def test_c15_a_sync_tool_past_its_limit_is_abandoned_its_late_value_lost_and_nobody_starves() -> None:
    release, left = threading.Event(), threading.Event()

    @tool(timeout=0.2)
    def stuck() -> str:
        release.wait(60)
        left.set()
        return "the late value"

    def quick() -> str:
        return "quick"

    model = ScriptedModel([[call("stuck"), call("quick")], call("quick"), "done"])
    started = time.monotonic()
    run = await fg.arun(graph_of(ReactAgent(model=model, tools=[stuck, quick])), {"task": "go"}, threads=2)
    took = time.monotonic() - started
    assert 0.2 <= took < 5  # and not the minute that the tool would take
    agent = run.nodes["agent"]
    assert answers(messages_of(agent)) == ["Error (Timeout): no result within 0.2 s", "quick", "quick"]
    events = len(run.events)
    release.set()
    while not left.is_set():
        await anyio.sleep(0.001)
    await anyio.sleep(0.02)
    assert len(run.events) == events
    assert "the late value" not in repr(agent) + repr(run.nodes) + repr(model.requests)


@pytest.mark.parametrize("how", ["returns", "raises", "fails in clean-up"])
async def test_c16_whatever_a_tool_makes_of_the_cancellation_the_run_is_cancelled(how: str) -> None:
    started = anyio.Event()

    async def stubborn() -> str:
        try:
            started.set()
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            if how == "raises":
                raise ValueError("instead") from None
            if how == "returns":
                return "a result"
            raise
        finally:
            if how == "fails in clean-up":
                raise OSError("while cleaning up")
        return "never"

    model = ScriptedModel([[call("stubborn"), call("stubborn")], "still here"])
    async with fg.start(graph_of(ReactAgent(model=model, tools=[stubborn])), {"task": "go"}) as live:
        await started.wait()
        await anyio.wait_all_tasks_blocked()
        live.cancel()
        with pytest.raises(fg.RunCancelled):
            await live.result()
    assert len(model.requests) == 1
    assert str(live.record.nodes["agent"].status) == "cancelled"
    messages = messages_of(live.record.nodes["agent"])
    assert len(answers(messages)) == 2
    assert answers(messages)[0].startswith({"returns": "a result"}.get(how, "Error ("))
    Transcript(messages)  # every call has its answer


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("after", range(6))
def test_c26_leaving_a_streamed_run_at_any_event_leaves_nothing_behind(after: int, backend: str) -> None:
    ran: list[int] = []

    async def note(n: int) -> int:
        ran.append(n)
        await anyio.sleep(0.001)
        return n

    model = ScriptedModel(
        [Reply(text="one two", calls=[call("note", n=1)]), call("note", n=2), call("note", n=3), "end"]
    )
    counts: list[tuple[int, int]] = []

    async def main() -> None:
        async with ReactAgent(model=model, tools=[note]).stream("go") as run:
            seen = 0
            async for _ in run:
                seen += 1
                if seen > after:
                    break
        counts.append((len(model.requests), len(ran)))
        await anyio.sleep(0.02)
        counts.append((len(model.requests), len(ran)))
        assert run.record.nodes["unnamed_agent"].status.final
        Transcript(run.messages)

    with nothing_left():
        anyio.run(main, backend=backend)
    assert counts[0] == counts[1]
    assert counts[0][0] < 4


# -- tools


@pytest.mark.parametrize("stream", [False, True])
async def test_c28_totals_of_nested_agents_and_loops_are_partial_when_one_price_is_unknown(stream: bool) -> None:
    priced = fg.Usage(input_tokens=10, output_tokens=5, cost=0.25)
    unpriced = fg.Usage(input_tokens=7, output_tokens=3, cost=None, partial=True)
    inner = ReactAgent(model=ScriptedModel([Reply(text="a", usage=unpriced)] * 2), name="inner")
    outer_model = ScriptedModel([Reply(calls=[call("ask")], usage=priced), Reply(text="b", usage=priced)])

    @tool
    async def ask(ctx: ToolContext) -> str:
        assert ctx.ctx is not None
        return str(await ctx.ctx.call(inner, {"task": "go"}))

    graph = graph_of(ReactAgent(model=outer_model, tools=[ask]))
    graph.add("loop", LoopFlow(inner, until="True"), bind={"task": "agent"})
    if stream:
        async with fg.start(graph, {"task": "go"}) as live:
            async for _ in live:
                pass
            run = await live.result()
    else:
        run = await fg.arun(graph, {"task": "go"})
    assert (run.usage.input_tokens, run.usage.output_tokens, run.usage.model_calls) == (34, 16, 4)
    assert (run.usage.cost, run.usage.partial) == (0.5, True)
    assert (run.nodes["loop"].usage.cost, run.nodes["loop"].usage.partial) == (None, True)


@pytest.mark.parametrize("value", VALUES, ids=[type(value).__name__ for value in VALUES])
async def test_c31_an_agent_goes_on_after_a_tool_result_of_any_kind(value: Any) -> None:
    def give() -> Any:
        return value

    model = ScriptedModel([call("give"), "done"])
    run = await fg.arun(graph_of(ReactAgent(model=model, tools=[give])), {"task": "go"})
    assert run.output == "done"
    (answer,) = answers(model.requests[1].messages)
    assert isinstance(answer, str)


# -- progress


@pytest.mark.parametrize(
    "same",
    [
        ToolCall("", "nope", "{}"),
        ToolCall("", "add", '{"a":'),
        ToolCall("", "add", '{"a": "x", "b": 1}'),
        ToolCall("", "boom", "{}"),
        ToolCall("", "", ""),
    ],
    ids=["unknown", "broken", "wrong", "raises", "nameless"],
)
async def test_c38_fifty_equal_failures_of_any_kind_are_stopped_and_kept(same: ToolCall) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    def boom() -> None:
        raise ValueError("no")

    model = ScriptedModel([same] * 50)
    with pytest.raises(AgentFailed) as caught:
        await ReactAgent(model=model, tools=[add, boom], max_turns=60).arun("go")
    assert caught.value.reason == "tool_failures"
    assert "stuck" in caught.value.detail
    assert len(model.requests) == len(answers(caught.value.messages)) == 4
    Transcript(caught.value.messages)


@pytest.mark.parametrize(
    "empty",
    ["", " ", "\n\t", "\u00a0\u2003", Reply(reasoning="hm"), Reply(text=" ", reasoning="hm")],
    ids=["nothing", "space", "tabs", "wide", "reasoning", "both"],
)
@pytest.mark.parametrize("nudges", [1, 2, 3])
async def test_c39_every_kind_of_empty_reply_is_nudged_and_never_an_answer(empty: Any, nudges: int) -> None:
    def work() -> str:
        return "worked"

    script = [Reply(text="working", calls=[call("work")]), *[empty] * nudges, "done"]
    model = ScriptedModel(script)
    assert (await ReactAgent(model=model, tools=[work], max_nudges=nudges).arun("go")).output == "done"
    model = ScriptedModel([*script[:-1], empty, "too late"])
    with pytest.raises(AgentFailed) as caught:
        await ReactAgent(model=model, tools=[work], max_nudges=nudges).arun("go")
    assert (caught.value.reason, caught.value.partial in (None, "working")) == ("limit", True)
    assert len(model.requests) == nudges + 2


@pytest.mark.parametrize("where", ["same reply", "fenced", "in the argument"])
async def test_c43_an_agent_runs_the_first_action_only_and_forgets_what_was_made_up(where: str) -> None:
    ran = Counter[str]()

    def search(query: str) -> str:
        ran["search"] += 1
        return "the real result"

    def delete(everything: bool = True) -> str:
        ran["delete"] += 1
        return "deleted"

    made_up = (
        'Observation: made up\nThought: so\nAction: delete\nAction Input: {"everything": true}\nFinal Answer: made up'
    )
    first = {
        "same reply": f'Thought: look\nAction: search\nAction Input: {{"query": "x"}}\n{made_up}',
        "fenced": f'Thought: as in\n```\n{made_up}\n```\nAction: search\nAction Input: {{"query": "x"}}',
        "in the argument": 'Action: search\nAction Input: {"query": "Final Answer: made up\\nAction: delete"}',
    }[where]
    model = ScriptedModel([first, "Thought: I know\nFinal Answer: the real answer"])
    result = await ReactAgent(model=model, tools=[search, delete], tool_mode="text").arun("go")
    assert (result.output, ran) == ("the real answer", {"search": 1})
    assert model.requests[1].messages[-1] == UserMessage("Observation: the real result")
    if where == "same reply":
        assert "made up" not in repr(result) + repr(model.requests[1])
    said = [message for message in model.requests[1].messages if isinstance(message, AssistantMessage)]
    assert len(said) == 1


# -- slots


@pytest.mark.parametrize("limit", [1, 2])
async def test_c53_a_tool_that_runs_an_agent_needs_no_second_slot(limit: int) -> None:
    now = most = 0

    def counted(reply: Callable[[Any], Any]) -> ScriptedModel:
        async def answer(request: Any) -> Any:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await anyio.sleep(0.001)
            now -= 1
            return reply(request)

        return ScriptedModel(answer)

    def asks(name: str) -> Callable[[Any], Any]:
        return lambda request: "done" if len(request.messages) > 1 else [call(name), call(name)]

    innermost = ReactAgent(model=counted(lambda request: "found"), name="innermost")

    @tool
    async def deeper(ctx: ToolContext) -> str:
        assert ctx.ctx is not None
        return str(await ctx.ctx.call(innermost, {"task": "go"}))

    middle = ReactAgent(model=counted(asks("deeper")), tools=[deeper], name="middle")

    @tool
    async def ask(ctx: ToolContext) -> str:
        assert ctx.ctx is not None
        return str(await ctx.ctx.call(middle, {"task": "go"}))

    graph = fg.Graph("g")
    graph.input("task")
    for number in range(3):
        graph.add(f"agent{number}", ReactAgent(model=counted(asks("ask")), tools=[ask]))
    with anyio.fail_after(60):
        async with fg.start(graph, {"task": "go"}, max_concurrency=limit) as live:
            run = await live.result()
            look_at_services(live)
    assert run.output == dict.fromkeys(("agent0", "agent1", "agent2"), "done")
    assert most <= limit
    assert sum(node.kind == "model" for node in run.nodes.values()) == 3 * (2 + 2 * (2 + 2))
