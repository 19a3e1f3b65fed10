"""Agents through litellm and a real server: streamed and not, and with a server that fails."""

from __future__ import annotations

from typing import Any

import pytest

import flowgraph as fg
from flowgraph_nodes import Model, ModelSettings, errors
from flowgraph_nodes.agents import AgentResult, ReactAgent
from flowgraph_nodes.agents.stream import Restarted, TextPiece
from flowgraph_nodes.messages import ToolMessage

from .chat_server import Answer, ChatServer, calls, chunk, error, events, text

pytestmark = [pytest.mark.anyio, pytest.mark.network_local]

SECRET = "sk-marker-55d1c0ffee"
AT_ONCE = fg.Retry(attempts=3, on=errors.TransientModelError)


def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


def agent_on(server: ChatServer, **options: Any) -> ReactAgent:
    model = Model("openai/unknown-model", ModelSettings(api_base=server.url, api_key=SECRET))
    return ReactAgent(**{"model": model, "tools": [weather], "model_retry": AT_ONCE, **options})


async def done(agent: ReactAgent, stream: bool) -> tuple[AgentResult, list[Any]]:
    if not stream:
        return await agent.arun("weather?"), []
    async with agent.stream("weather?") as run:
        seen = [event async for event in run]
        return await run.result(), seen


@pytest.mark.parametrize("stream", [False, True])
async def test_a_tool_turn_and_an_answer(chat_server: ChatServer, stream: bool) -> None:
    chat_server.script(
        calls(("a", "weather", '{"city": "Rome"}'), ("b", "weather", '{"city": "Oslo"}')), text("Sunny in both.")
    )
    result, seen = await done(agent_on(chat_server, instructions="Be brief."), stream)
    assert result.output == "Sunny in both."
    assert [m.content for m in result.messages if isinstance(m, ToolMessage)] == ["sunny in Rome", "sunny in Oslo"]
    assert (result.usage.input_tokens, result.usage.output_tokens, result.usage.model_calls) == (22, 14, 2)
    assert (result.usage.cost, result.usage.partial) == (None, True)  # c28: no price is known
    first, second = (seen_.body for seen_ in chat_server.requests)
    assert first["messages"][0] == {"role": "system", "content": "Be brief."}
    assert first["tools"][0]["function"]["name"] == "weather"
    assert [m["role"] for m in second["messages"]] == ["system", "user", "assistant", "tool", "tool"]
    assert bool(first.get("stream")) is stream
    if stream:
        assert "".join(event.text for event in seen if isinstance(event, TextPiece)) == "Sunny in both."


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "failure",
    [
        error(429, "slow down", retry_after=0.01),
        error(500),
        error(503),
        Answer(text("Sunny.").body, cut=True),
        events(chunk({"content": "Sun"}), cut=True, done=False),
    ],
    ids=["429", "500", "503", "cut", "cut stream"],
)
async def test_c12_transient_failures_of_a_server_are_retried(
    chat_server: ChatServer, failure: Answer, stream: bool
) -> None:
    chat_server.script(failure, text("Sunny."))
    result, seen = await done(agent_on(chat_server), stream)
    assert (result.output, len(chat_server.requests), result.usage.model_calls) == ("Sunny.", 2, 1)
    if stream:
        after = seen[next(n for n, event in enumerate(seen) if isinstance(event, Restarted)) :]
        assert "".join(event.text for event in after if isinstance(event, TextPiece)) == "Sunny."


@pytest.mark.parametrize("status", [400, 401, 404])
async def test_c12_permanent_failures_are_asked_once_and_c51_tell_no_key(chat_server: ChatServer, status: int) -> None:
    chat_server.script(error(status, f"no: {SECRET}"))
    with pytest.raises(errors.PermanentModelError) as caught:
        await agent_on(chat_server).arun("weather?")
    assert len(chat_server.requests) == 1
    assert SECRET not in str(caught.value) + repr(caught.value)


async def test_c25_streamed_calls_that_all_carry_index_0_are_told_apart(chat_server: ChatServer) -> None:
    def fragment(call_id: str, city: str) -> dict[str, Any]:
        function = {"name": "weather", "arguments": f'{{"city": "{city}"}}'}
        return chunk({"tool_calls": [{"index": 0, "id": call_id, "type": "function", "function": function}]})

    chat_server.script(
        events(
            chunk({"content": "Let me see."}), fragment("a", "Rome"), fragment("b", "Oslo"), chunk({}, "tool_calls")
        ),
        text("Sunny."),
    )
    result, _ = await done(agent_on(chat_server), stream=True)
    assert [m.content for m in result.messages if isinstance(m, ToolMessage)] == ["sunny in Rome", "sunny in Oslo"]
    assert chat_server.requests[1].body["messages"][1]["content"] == "Let me see."


@pytest.mark.parametrize("usage_in", ["no choices", "nowhere"])
async def test_c27_streamed_counts_are_charged_once_or_are_unknown(chat_server: ChatServer, usage_in: str) -> None:
    tail = [chunk(None, usage={"prompt_tokens": 11, "completion_tokens": 7})] if usage_in == "no choices" else []
    chat_server.script(events(chunk({"content": "Sunny."}), chunk({}, "stop"), *tail))
    result, _ = await done(agent_on(chat_server), stream=True)
    assert result.usage.tokens == (18 if tail else 0)
    assert result.usage.partial


async def test_schema_mode_on_a_server_that_refuses_json_schema(chat_server: ChatServer) -> None:
    chat_server.script(
        error(500, "json_schema is not supported"),
        text('{"tool": "weather", "args": {"city": "Rome"}}'),
        text('```json\n{"answer": "Sunny."}\n```'),
    )
    result, _ = await done(agent_on(chat_server, tool_mode="schema"), stream=False)
    assert result.output == "Sunny."
    forms = [seen.body["response_format"] for seen in chat_server.requests]
    assert [form["type"] for form in forms] == ["json_schema", "json_object", "json_object"]
    assert forms[0]["json_schema"]["schema"] == forms[1]["schema"]
    assert all("tools" not in seen.body for seen in chat_server.requests)


async def test_an_output_type_through_the_final_tool(chat_server: ChatServer) -> None:
    chat_server.script(calls(("a", "final_answer", '{"answer": [1, 2]}')))
    result, _ = await done(agent_on(chat_server, output_type=list[int]), stream=True)
    assert result.output == [1, 2]
    assert chat_server.requests[0].body["tool_choice"] == "required"
