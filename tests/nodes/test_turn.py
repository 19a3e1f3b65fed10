"""The turn: one model call and every tool call that it asks for."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
import trio.testing

import flowgraph as fg
from flowgraph_nodes import Model, ModelSettings, Reply, ScriptedModel, ToolCall, ToolContext, call, errors, tool
from flowgraph_nodes.agents import AgentFailed, AgentResult, ReactAgent
from flowgraph_nodes.agents.result import messages_of
from flowgraph_nodes.messages import AssistantMessage, Message, ToolMessage, UserMessage
from flowgraph_nodes.models import override_models
from flowgraph_nodes.tools import Stop
from flowgraph_nodes.transcript import Transcript

pytestmark = pytest.mark.anyio

AT_ONCE = fg.Retry(attempts=4, on=errors.TransientModelError)


def answers(result: AgentResult) -> list[str]:
    """What the tools answered, in order."""
    return [message.content for message in result.new_messages if isinstance(message, ToolMessage)]


def graph_of(agent: ReactAgent) -> fg.Graph:
    graph = fg.Graph("test")
    graph.input("task")
    graph.add("agent", agent)
    return graph


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def boom() -> None:
    raise ValueError("out of order")


# -- what is recorded


async def test_each_model_call_and_each_tool_call_is_a_child_node_run() -> None:
    model = ScriptedModel([[call("add", a=1, b=2), call("add", a=3, b=4)], "3 and 7"])
    run = await fg.arun(graph_of(ReactAgent(model=model, tools=[add])), {"task": "add"})
    children = [(node.path, node.kind, str(node.status)) for node in run.nodes["agent"].children]
    assert children == [
        ("agent/model", "model", "succeeded"),
        ("agent/add", "tool", "succeeded"),
        ("agent/add~2", "tool", "succeeded"),
        ("agent/model~2", "model", "succeeded"),
    ]
    assert run.output == "3 and 7"
    assert [run.nodes[path].value.text for path in ("agent/add", "agent/add~2")] == ["3", "7"]


async def test_the_node_run_keeps_messages_stop_reason_and_turns() -> None:
    model = ScriptedModel([call("add", a=1, b=2), "3"])
    run = await fg.arun(graph_of(ReactAgent(model=model, tools=[add])), {"task": "add"})
    detail = run.nodes["agent"].detail
    assert (detail["stop_reason"], detail["turns"]) == ("completed", 2)
    json.dumps(detail)  # plain data: any store can hold it
    assert [type(m).__name__ for m in messages_of(run.nodes["agent"])] == [
        "UserMessage",
        "AssistantMessage",
        "ToolMessage",
        "AssistantMessage",
    ]


async def test_the_assistant_message_keeps_its_text_and_its_calls() -> None:
    model = ScriptedModel([Reply(text="Let me add.", calls=[call("add", a=1, b=2)]), "3"])
    await ReactAgent(model=model, tools=[add]).arun("add")
    sent = model.requests[1].messages[1]
    assert isinstance(sent, AssistantMessage)
    assert (sent.content, sent.tool_calls[0].name) == ("Let me add.", "add")


async def test_usage_is_charged_once_and_rolled_up() -> None:
    usage = fg.Usage(input_tokens=10, output_tokens=5, cached_tokens=2, cost=0.5)
    model = ScriptedModel([Reply(calls=[call("add", a=1, b=2)], usage=usage), Reply(text="3", usage=usage)])
    run = await fg.arun(graph_of(ReactAgent(model=model, tools=[add])), {"task": "add"})
    expected = fg.Usage(20, 10, 4, model_calls=2, tool_calls=1, cost=1.0)
    assert run.usage == run.nodes["agent"].usage == expected


async def test_c28_an_unknown_price_leaves_cost_none_and_totals_partial() -> None:
    usage = fg.Usage(input_tokens=10, output_tokens=5, cost=None, partial=True)
    result = await ReactAgent(model=ScriptedModel([Reply(text="hi", usage=usage)])).arun("hi")
    assert (result.usage.input_tokens, result.usage.cost, result.usage.partial) == (10, None, True)


# -- models that fail


@pytest.mark.parametrize(
    ("error", "calls"),
    [
        (errors.BadRequestError("no"), 1),
        (errors.ContextTooLongError("too long"), 1),
        (errors.AuthenticationError("who?"), 1),
        (errors.RateLimitError("slow down", retry_after=7), 4),
        (errors.ModelTimeoutError("too late"), 4),
        (errors.ModelServerError("busy", status=503), 4),
        (errors.ModelConnectionError("cut"), 4),
    ],
)
@pytest.mark.parametrize("anyio_backend", [("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})])
async def test_c12_transient_errors_are_retried_with_back_off_and_permanent_ones_not(
    error: errors.ModelError, calls: int
) -> None:
    model = ScriptedModel([error] * 10)
    started = trio.current_time()
    with pytest.raises(type(error)) as caught:
        await ReactAgent(model=model).arun("hi")
    assert caught.value is error
    assert len(model.requests) == calls
    waited = trio.current_time() - started
    assert waited == 0 if calls == 1 else 21 <= waited < 22 if "slow" in str(error) else 5 < waited < 9


async def test_c12_attempts_1_means_no_retry() -> None:
    model = ScriptedModel([errors.RateLimitError("no"), "late"])
    with pytest.raises(errors.RateLimitError):
        await ReactAgent(model=model, model_retry=fg.Retry(attempts=1)).arun("hi")
    assert len(model.requests) == 1


async def test_c12_a_transient_error_that_passes_costs_no_turn() -> None:
    model = ScriptedModel([errors.ModelServerError("busy"), "hello"])
    run = await fg.arun(graph_of(ReactAgent(model=model, model_retry=AT_ONCE, max_turns=1)), {"task": "hi"})
    assert run.output == "hello"
    assert [(node.path, node.attempt) for node in run.nodes["agent"].children] == [("agent/model", 2)]


async def test_c13_a_tool_that_raises_is_a_result_and_never_a_model_retry() -> None:
    model = ScriptedModel([call("boom"), "I could not"])
    run = await fg.arun(graph_of(ReactAgent(model=model, tools=[boom], model_retry=AT_ONCE)), {"task": "hi"})
    assert len(model.requests) == 2
    assert [node.attempt for node in run.nodes["agent"].children] == [1, 1, 1]
    assert run.nodes["agent/boom"].value.text == "Error (ValueError): out of order"
    assert run.nodes["agent/boom"].detail == {"failure": "ValueError"}


async def test_fallback_models_are_tried_for_each_model_call() -> None:
    first = ScriptedModel([errors.AuthenticationError("no key"), "second turn"], name="first")
    other = ScriptedModel([call("add", a=1, b=2)], name="other")
    result = await ReactAgent(model=[first, other], tools=[add]).arun("add")
    assert result.output == "second turn"
    assert (len(first.requests), len(other.requests)) == (2, 1)


async def test_retries_come_before_fallbacks_and_the_last_error_tells_of_the_others() -> None:
    first = ScriptedModel([errors.ModelServerError("busy")] * 9, name="first")
    other = ScriptedModel([errors.BadRequestError("bad")], name="other")
    with pytest.raises(errors.BadRequestError) as caught:
        await ReactAgent(model=[first, other], model_retry=AT_ONCE).arun("hi")
    assert (len(first.requests), len(other.requests)) == (4, 1)
    assert caught.value.__notes__ == ["before it, ModelServerError: busy"]


async def test_a_provider_error_is_the_failure_of_the_node_and_its_stop_reason_is_error() -> None:
    agent = ReactAgent(model=ScriptedModel([errors.BadRequestError("bad")]))
    run = await fg.arun(graph_of(agent), {"task": "hi"}, raise_on_failure=False)
    assert isinstance(run.nodes["agent"].error, errors.BadRequestError)
    assert run.nodes["agent"].detail["stop_reason"] == "error"


# -- tool calls


async def test_tool_calls_run_side_by_side_at_most_four_at_a_time_with_results_in_call_order() -> None:
    at_work, most = 0, 0

    async def work(n: int) -> str:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await anyio.sleep(0.01 * (7 - n))
        at_work -= 1
        return f"done {n}"

    model = ScriptedModel([[call("work", n=n) for n in range(7)], "ok"])
    result = await ReactAgent(model=model, tools=[work]).arun("go")
    assert answers(result) == [f"done {n}" for n in range(7)]
    assert most == 4


async def test_serial_tools_run_one_after_the_other() -> None:
    order: list[str] = []

    @tool(serial=True)
    async def step(n: int) -> None:
        order.append(f"+{n}")
        await anyio.sleep(0.01)
        order.append(f"-{n}")

    model = ScriptedModel([[call("step", n=1), call("step", n=2)], "ok"])
    await ReactAgent(model=model, tools=[step]).arun("go")
    assert order == ["+1", "-1", "+2", "-2"]


async def test_there_is_one_result_per_call_whatever_happens() -> None:
    @tool(timeout=0.01)
    async def slow() -> None:
        await anyio.sleep_forever()

    made = [call("add", a=1, b=2), call("nope"), ToolCall("", "add", '{"a":'), call("boom"), call("slow")]
    model = ScriptedModel([made, "ok"])
    result = await ReactAgent(model=model, tools=[add, boom, slow]).arun("go")
    kinds = [text.partition(":")[0] for text in answers(result)]
    assert kinds == ["3", "Error (UnknownTool)", "Error (BadArguments)", "Error (ValueError)", "Error (Timeout)"]


async def test_missing_and_repeated_call_ids_get_ids_of_our_own() -> None:
    calls = [ToolCall("x", "add", '{"a":1,"b":1}'), ToolCall("x", "add", '{"a":2,"b":2}'), ToolCall("", "nope")]

    def reply(request: Any) -> Any:
        return AssistantMessage(tool_calls=tuple(calls)) if len(request.messages) == 1 else "ok"

    result = await ReactAgent(model=ScriptedModel(reply), tools=[add]).arun("go")
    ids = [m.call_id for m in result.new_messages if isinstance(m, ToolMessage)]
    assert ids[0] == "x"
    assert len(set(ids)) == 3
    assert answers(result)[:2] == ["2", "4"]


@pytest.mark.parametrize("arguments", ["", "  ", "{}", "null"])
async def test_c29_no_arguments_mean_defaults(arguments: str) -> None:
    def hello(name: str = "you") -> str:
        return f"hello {name}"

    result = await ReactAgent(model=ScriptedModel([ToolCall("", "hello", arguments), "ok"]), tools=[hello]).arun("go")
    assert answers(result) == ["hello you"]


@pytest.mark.parametrize("arguments", ["", "[]", "3", '{"a":', '{"a": 1}'])
async def test_c29_wrong_arguments_run_nothing_and_the_agent_goes_on(arguments: str) -> None:
    ran: list[int] = []

    def record(a: int, b: int) -> None:
        ran.append(a)

    model = ScriptedModel([ToolCall("", "record", arguments), "ok"])
    result = await ReactAgent(model=model, tools=[record]).arun("go")
    assert result.output == "ok"
    assert answers(result)[0].startswith("Error (BadArguments)")
    assert ran == []


async def test_text_that_looks_like_a_call_is_text() -> None:
    text = '{"name": "boom", "arguments": {}}'
    result = await ReactAgent(model=ScriptedModel([text]), tools=[boom]).arun("go")
    assert (result.output, result.usage.tool_calls) == (text, 0)


async def test_a_reply_cut_at_the_token_limit_never_runs_its_last_call() -> None:
    calls = [call("add", a=1, b=2), call("add", a=3, b=4)]
    model = ScriptedModel([Reply(calls=calls, finish_reason="length"), "ok"])
    result = await ReactAgent(model=model, tools=[add]).arun("go")
    assert answers(result)[0] == "3"
    assert answers(result)[1].startswith("Error (CutOff)")
    assert result.usage.tool_calls == 1


async def test_a_tool_gets_the_context_of_its_own_node_run_and_the_deps_of_the_run() -> None:
    async def inner() -> str:
        return "from below"

    async def outer(ctx: ToolContext) -> str:
        assert ctx.ctx is not None
        return f"{await ctx.ctx.call(inner)}, {ctx.deps}"

    agent = ReactAgent(model=ScriptedModel([call("outer"), "ok"]), tools=[outer])
    run = await fg.arun(graph_of(agent), {"task": "go"}, deps="the deps")
    assert run.nodes["agent/outer"].value.text == "from below, the deps"
    assert "agent/outer/inner" in run.nodes


async def test_c52_sync_tools_run_in_threads_and_hold_up_nobody() -> None:
    beats, loop_thread = itertools.count(), threading.current_thread()

    def nap(n: int) -> str:
        assert threading.current_thread() is not loop_thread
        time.sleep(0.2)
        return f"slept {n}"

    @tool(inline=True)
    def here() -> bool:
        return threading.current_thread() is loop_thread

    async def beat() -> None:
        while True:
            next(beats)
            await anyio.sleep(0.01)

    made = [*(call("nap", n=n) for n in range(3)), call("here")]
    started = time.perf_counter()
    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        result = await ReactAgent(model=ScriptedModel([made, "ok"]), tools=[nap, here]).arun("go")
        group.cancel_scope.cancel()
    assert time.perf_counter() - started < 0.55
    assert next(beats) > 8
    assert answers(result) == ["slept 0", "slept 1", "slept 2", "true"]


# -- cancellation


async def cancelled_run(agent: ReactAgent, when: anyio.Event) -> fg.Run:
    """A run that is cancelled as soon as `when` is set."""
    async with fg.start(graph_of(agent), {"task": "go"}) as run:
        await when.wait()
        run.cancel()
        with pytest.raises(fg.RunCancelled):
            await run.result()
    return run.record


async def test_c14_a_cancelled_run_has_cancelled_its_tools_before_it_returns() -> None:
    ticks, cleaned, started = 0, False, anyio.Event()

    async def tick() -> None:
        nonlocal ticks, cleaned
        try:
            while True:
                ticks += 1
                started.set()
                await anyio.sleep(0.001)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.01)
            cleaned = True

    await cancelled_run(ReactAgent(model=ScriptedModel([call("tick"), "no"]), tools=[tick]), started)
    assert cleaned
    seen = ticks
    await anyio.sleep(0.01)
    assert ticks == seen


async def test_c16_a_tool_that_swallows_the_cancellation_does_not_revive_the_run() -> None:
    started = anyio.Event()

    async def stubborn() -> str:
        try:
            started.set()
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            pass
        return "nothing happened"

    model = ScriptedModel([call("stubborn"), "still here"])
    run = await cancelled_run(ReactAgent(model=model, tools=[stubborn]), started)
    assert len(model.requests) == 1
    assert str(run.nodes["agent"].status) == "cancelled"
    assert messages_of(run.nodes["agent"])[-1] == ToolMessage("call-1-0", "nothing happened", "stubborn")


def three_calls(second: Callable[[], Awaitable[None]]) -> ReactAgent:
    @tool(exclusive=True)
    async def one() -> str:
        return "the first result"

    @tool(exclusive=True)
    async def two() -> None:
        await second()

    @tool(exclusive=True)
    async def three() -> str:
        return "never"

    return ReactAgent(model=ScriptedModel([[call("one"), call("two"), call("three")], "no"]), tools=[one, two, three])


async def accepted(messages: tuple[Message, ...]) -> bool:
    """Whether a new user turn can follow."""
    model = ScriptedModel(["welcome back"])
    result = await ReactAgent(model=model).arun("and now?", history=messages)
    assert Transcript(model.requests[0].messages)[-1] == UserMessage("and now?")
    return result.output == "welcome back"


async def test_c45_a_cancelled_turn_leaves_every_call_answered() -> None:
    started = anyio.Event()

    async def hang() -> None:
        started.set()
        await anyio.sleep_forever()

    run = await cancelled_run(three_calls(hang), started)
    agent = run.nodes["agent"]
    messages = messages_of(agent)
    texts = [m.content for m in messages if isinstance(m, ToolMessage)]
    assert texts[0] == "the first result"
    assert [text.startswith("Error (Cancelled)") for text in texts] == [False, True, True]
    assert agent.detail["stop_reason"] == "cancelled"
    statuses = [str(node.status) for node in agent.children if node.kind == "tool"]
    assert statuses == ["succeeded", "cancelled", "cancelled"]
    assert await accepted(messages)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_c45_a_keyboard_interrupt_in_a_tool_leaves_every_call_answered(backend: str) -> None:
    async def interrupt() -> None:
        raise KeyboardInterrupt

    record: list[fg.Run] = []

    async def main() -> None:
        async with fg.start(graph_of(three_calls(interrupt)), {"task": "go"}) as run:
            record.append(run.record)
            await run.result()

    with pytest.raises(BaseException) as caught:
        anyio.run(main, backend=backend)
    error = caught.value
    while isinstance(error, BaseExceptionGroup):
        (error,) = error.exceptions
    assert isinstance(error, KeyboardInterrupt)
    messages = messages_of(record[0].nodes["agent"])
    texts = [m.content.partition(":")[0] for m in messages if isinstance(m, ToolMessage)]
    assert texts == ["the first result", "Error (Cancelled)", "Error (Cancelled)"]
    assert anyio.run(accepted, messages)


async def test_a_cancelled_model_call_leaves_the_transcript_as_it_was() -> None:
    asked = anyio.Event()

    async def hang(request: Any) -> str:
        asked.set()
        await anyio.sleep_forever()
        raise AssertionError

    run = await cancelled_run(ReactAgent(model=ScriptedModel(hang)), asked)
    assert messages_of(run.nodes["agent"]) == (UserMessage("go"),)


# -- settings and secrets


async def test_c48_falsy_settings_are_values_all_the_way() -> None:
    model = ScriptedModel(["ok"], name="m")
    own = ModelSettings(temperature=0.7, top_p=0.9, seed=3, max_tokens=10)
    given = ModelSettings(temperature=0, top_p=0, seed=0)
    with override_models({"fake/m": model}):
        await ReactAgent(model=Model("fake/m", own), settings=given, instructions="", tools=[]).arun("hi")
    (request,) = model.requests
    sent = request.settings
    assert (sent.temperature, sent.top_p, sent.seed, sent.max_tokens) == (0, 0, 0, 10)
    assert request.messages.messages == (UserMessage("hi"),)
    assert request.tools == ()


async def test_c51_keys_are_in_no_event_repr_detail_or_error() -> None:
    secret = "marker-7c41"
    settings = ModelSettings(api_key=secret, extra={"aws_secret": secret})

    def fail() -> None:
        raise ValueError("no access")

    agent = ReactAgent(
        model=ScriptedModel([call("fail"), errors.BadRequestError("bad")]), settings=settings, tools=[fail]
    )
    async with fg.start(graph_of(agent), {"task": "go"}) as run:
        shown = [repr(event) async for event in run]
        record = run.record
    text = "".join(shown) + repr(agent) + repr(record.nodes["agent"]) + str(record) + str(agent.settings)
    assert secret not in text
    assert secret not in "".join(str(error) + repr(error) for error in record.errors.values())


async def test_a_stop_payload_and_a_limit_leave_a_valid_transcript() -> None:
    async def finish() -> Stop:
        return Stop({"done": True})

    result = await ReactAgent(model=ScriptedModel([[call("add", a=1, b=2), call("finish")]]), tools=[add, finish]).arun(
        "go"
    )
    assert await accepted(result.messages)
    with pytest.raises(AgentFailed) as caught:
        await ReactAgent(model=ScriptedModel([call("add", a=1, b=2)]), tools=[add], max_turns=1).arun("go")
    assert await accepted(caught.value.messages)
