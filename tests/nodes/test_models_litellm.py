"""Real calls through litellm to a real server: requests, replies, streams, money and errors."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anyio
import pytest

from flowgraph.errors import Permanent
from flowgraph.outcome import Usage
from flowgraph_nodes import errors
from flowgraph_nodes.messages import AssistantMessage, SystemMessage, ToolCall, ToolMessage, ToolSpec, UserMessage
from flowgraph_nodes.models import (
    Delta,
    ForcedTool,
    Model,
    ModelSettings,
    ReasoningDelta,
    Request,
    Response,
    ResponseFormat,
    TextDelta,
    ToolCallDelta,
    resolve,
)
from flowgraph_nodes.transcript import Transcript

from .chat_server import USAGE, Answer, ChatServer, calls, chunk, error, events, text

pytestmark = [pytest.mark.anyio, pytest.mark.network_local]

HELLO = Transcript([UserMessage("Hi")])


async def ask(
    server: ChatServer, *, name: str = "openai/unknown-model", stream: bool = False, **more: Any
) -> tuple[Response, list[Delta]]:
    deltas: list[Delta] = []

    async def listen(delta: Delta) -> None:
        deltas.append(delta)

    settings = more.pop("settings", ModelSettings())
    model = Model(name, ModelSettings(api_base=server.url, api_key="test-key"))
    request = Request(messages=more.pop("messages", HELLO), settings=settings, **more)
    return await model.complete(request, listen if stream else None), deltas


async def test_a_request_carries_what_is_set_and_nothing_else(chat_server: ChatServer) -> None:
    chat_server.script(text("Hello"))
    await ask(chat_server)
    (seen,) = chat_server.requests
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == "Bearer test-key"
    assert seen.body == {"model": "unknown-model", "messages": [{"role": "user", "content": "Hi"}]}


async def test_c48_falsy_settings_reach_the_server(chat_server: ChatServer) -> None:
    chat_server.script(text("Hello"))
    settings = ModelSettings(temperature=0, top_p=0, seed=0, max_tokens=1, extra={"logprobs": False})
    await ask(chat_server, settings=settings, messages=Transcript([SystemMessage(""), UserMessage("Hi")]), tools=())
    body = chat_server.requests[0].body
    assert {key: body[key] for key in ("temperature", "top_p", "seed", "max_tokens", "logprobs")} == {
        "temperature": 0,
        "top_p": 0,
        "seed": 0,
        "max_tokens": 1,
        "logprobs": False,
    }
    assert body["messages"][0] == {"role": "system", "content": ""}
    assert not body.keys() & {"tools", "tool_choice", "stop", "stream"}


async def test_messages_tools_and_formats_on_the_wire(chat_server: ChatServer) -> None:
    chat_server.script(text("ok"), text("ok"), text("ok"))
    history = HELLO.answer(
        AssistantMessage(
            "Well.", (ToolCall("a", "add", '{"x":'), ToolCall("b", "add", "")), reasoning="secret thought"
        ),
        [ToolMessage("a", "Error (BadArguments): …", "add"), ToolMessage("b", "2", "add")],
    )
    tools = (ToolSpec("add", "Adds.", {"type": "object", "properties": {}}, strict=True),)
    await ask(chat_server, messages=history, tools=tools, tool_choice="required")
    await ask(chat_server, tools=tools, tool_choice=ForcedTool("add"))
    await ask(chat_server, response_format=ResponseFormat({"type": "object"}, name="plan"))
    first, second, third = (seen.body for seen in chat_server.requests)
    assert first["tools"][0]["function"]["strict"] is True
    assert first["tool_choice"] == "required"
    assistant = first["messages"][1]
    assert "secret thought" not in str(first)
    assert [call["function"]["arguments"] for call in assistant["tool_calls"]] == [
        '{"invalid_arguments": "{\\"x\\":"}',
        "{}",
    ]
    assert [message.get("tool_call_id") for message in first["messages"]] == [None, None, "a", "b"]
    assert second["tool_choice"] == {"type": "function", "function": {"name": "add"}}
    assert third["response_format"]["json_schema"] == {"name": "plan", "schema": {"type": "object"}, "strict": True}


@pytest.mark.parametrize("stream", [False, True])
async def test_replies_plain_and_streamed_are_the_same(chat_server: ChatServer, stream: bool) -> None:
    chat_server.script(
        text("Hello my friend"),
        calls(("a", "f", '{"x": 1}'), ("b", "g", "{}"), content="Two calls."),
        text("cut of", finish_reason="length"),
        text("Hi", reasoning_content="hm"),
    )
    first, deltas = await ask(chat_server, stream=stream)
    assert first.message == AssistantMessage("Hello my friend")
    assert (first.finish_reason, first.cut_off) == ("stop", False)
    assert first.usage == Usage(input_tokens=11, output_tokens=7, model_calls=1, cost=None, partial=True)
    if stream:
        assert [delta.text for delta in deltas if isinstance(delta, TextDelta)] == ["Hello ", "my ", "friend"]
    second, deltas = await ask(chat_server, stream=stream)
    assert second.message == AssistantMessage("Two calls.", (ToolCall("a", "f", '{"x": 1}'), ToolCall("b", "g", "{}")))
    assert second.finish_reason == "tool_calls"
    assert sum(isinstance(delta, ToolCallDelta) for delta in deltas) == (4 if stream else 0)
    assert (await ask(chat_server, stream=stream))[0].cut_off
    if not stream:
        assert (await ask(chat_server))[0].message == AssistantMessage("Hi", reasoning="hm")
    assert bool(chat_server.requests[0].body.get("stream")) is stream


async def test_c25_odd_streams_through_the_whole_client(chat_server: ChatServer) -> None:
    both = [{"index": 0, "id": i, "function": {"name": n, "arguments": "{}"}} for i, n in (("a", "f"), ("b", "g"))]
    chat_server.script(
        events(chunk({"content": "x", "tool_calls": both}), chunk({}, "tool_calls")),
        events(
            *(chunk({"tool_calls": [{k: v for k, v in c.items() if k != "index"}]}) for c in both), chunk({}, "stop")
        ),
        events(chunk({"reasoning_content": "hm"}), chunk({"content": "Hi"}), chunk({}, "stop")),
    )
    for content in ("x", ""):
        response, _ = await ask(chat_server, stream=True)
        assert response.message == AssistantMessage(content, (ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}")))
    response, deltas = await ask(chat_server, stream=True)
    assert response.message == AssistantMessage("Hi", reasoning="hm")
    assert deltas[0] == ReasoningDelta("hm")


@pytest.mark.parametrize(
    ("tail", "known"),
    [
        ([chunk({}, "stop"), chunk(None, usage=USAGE)], True),
        ([chunk({}, "stop", usage=USAGE), chunk(None)], True),
        ([chunk({}, "stop"), chunk({"content": ""}, usage=USAGE)], True),
        ([chunk({}, "stop", usage=USAGE), chunk(None, usage=USAGE)], True),
        ([chunk({}, "stop")], False),
    ],
)
async def test_c27_streamed_counts_once_or_unknown(chat_server: ChatServer, tail: list[Any], known: bool) -> None:
    chat_server.script(events(chunk({"content": "Hi"}), *tail))
    response, _ = await ask(chat_server, stream=True, name="openai/gpt-4o")
    assert response.message.content == "Hi"
    if known:
        assert (response.usage.input_tokens, response.usage.output_tokens) == (11, 7)
        assert response.usage.cost == pytest.approx(11 * 2.5e-6 + 7 * 1e-5)
        assert not response.usage.partial
    else:
        assert response.usage == Usage(model_calls=1, partial=True)


async def test_c27_counts_that_a_plain_reply_leaves_out_are_unknown(chat_server: ChatServer) -> None:
    chat_server.script(text("Hi", usage=None))
    response, _ = await ask(chat_server, name="openai/gpt-4o")
    assert response.usage == Usage(model_calls=1, partial=True)


@pytest.mark.parametrize("stream", [False, True])
async def test_c28_known_prices_and_unknown_ones(chat_server: ChatServer, stream: bool) -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 3}}
    chat_server.script(text("Hi", usage=USAGE | details), text("Hi"), text("Hi"))
    known, _ = await ask(chat_server, name="openai/gpt-4o", stream=stream)
    assert known.usage.cost is not None
    assert 0 < known.usage.cost < 11 * 2.5e-6 + 7 * 1e-5
    assert (known.usage.cached_tokens, known.usage.reasoning_tokens, known.usage.partial) == (4, 3, False)
    unknown, _ = await ask(chat_server, stream=stream)
    assert unknown.usage == Usage(input_tokens=11, output_tokens=7, model_calls=1, cost=None, partial=True)
    assert (known.usage + unknown.usage).partial
    assert (known.usage + unknown.usage).cost == known.usage.cost
    gone, _ = await ask(chat_server, name="hosted_vllm/llama", stream=stream)
    assert (gone.usage.cost, gone.usage.partial) == (None, True)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("answer", "expected", "retry_after"),
    [
        (error(429, retry_after=2.5), errors.RateLimitError, 2.5),
        (error(429), errors.RateLimitError, None),
        (Answer(status=429, headers={"retry-after-ms": "1500"}), errors.RateLimitError, 1.5),
        (
            error(429, code="insufficient_quota", message="You exceeded your current quota"),
            errors.AuthenticationError,
            None,
        ),
        (error(500), errors.ModelServerError, None),
        (error(503, retry_after=7), errors.ModelServerError, 7),
        (error(529), errors.ModelServerError, None),
        (error(408), errors.ModelTimeoutError, None),
        (error(400), errors.BadRequestError, None),
        (error(422), errors.BadRequestError, None),
        (error(418), errors.BadRequestError, None),
        (error(401, "bad key test-key, or sk-abcdefghijklmnopqrstuvw"), errors.AuthenticationError, None),
        (error(403), errors.AuthenticationError, None),
        (error(404), errors.ModelNotFoundError, None),
        (
            error(400, "This model's maximum context length is 10 tokens", code="context_length_exceeded"),
            errors.ContextTooLongError,
            None,
        ),
        (error(400, "the request exceeds the available context size"), errors.ContextTooLongError, None),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Answer) else getattr(value, "__name__", ""),
)
async def test_c12_errors_are_told_apart_and_nothing_is_retried(
    chat_server: ChatServer, answer: Answer, expected: type[Exception], retry_after: float | None, stream: bool
) -> None:
    chat_server.script(answer)
    with pytest.raises(errors.ModelError) as caught:
        await ask(chat_server, stream=stream)
    assert type(caught.value) is expected
    assert len(chat_server.requests) == 1
    transient = isinstance(caught.value, errors.TransientModelError)
    assert isinstance(caught.value, Permanent) is not transient
    if isinstance(caught.value, errors.TransientModelError):
        assert caught.value.retry_after == retry_after
    message = str(caught.value)
    assert message.startswith("model 'openai/unknown-model': ")
    for leak in ("test-key", "sk-abc"):
        assert leak not in message


async def test_c12_retry_after_may_be_a_date(chat_server: ChatServer) -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(hours=1))
    chat_server.script(Answer(status=429, headers={"retry-after": soon}))
    with pytest.raises(errors.RateLimitError) as caught:
        await ask(chat_server)
    assert caught.value.retry_after == pytest.approx(3600, abs=120)


@pytest.mark.parametrize(
    ("answer", "stream", "expected"),
    [
        (Answer({"a": "b" * 100}, cut=True), False, errors.ModelConnectionError),
        (events(chunk({"content": "Hi"}), done=False, cut=True), True, errors.ModelConnectionError),
        (events(chunk({"content": "Hi"}), done=False), True, errors.ModelConnectionError),
        (Answer(delay=5), False, errors.ModelTimeoutError),
        (Answer(delay=5), True, errors.ModelTimeoutError),
        (events(chunk({"content": "Hi"}), chunk({}, "stop"), pause=5), True, errors.ModelTimeoutError),
    ],
    ids=["cut", "cut stream", "ended early", "slow", "slow stream", "stalled stream"],
)
async def test_c12_connections_that_break_or_stall_are_transient(
    chat_server: ChatServer, answer: Answer, stream: bool, expected: type[Exception]
) -> None:
    chat_server.script(answer)
    start = time.monotonic()
    with pytest.raises(errors.TransientModelError) as caught:
        await ask(chat_server, stream=stream, settings=ModelSettings(timeout=0.4))
    assert type(caught.value) is expected
    assert time.monotonic() - start < 3
    assert len(chat_server.requests) == 1


@pytest.mark.parametrize(
    ("answer", "stream"),
    [
        (Answer({"a": 1}), False),
        (Answer({"a": 1}), True),
        (events(), True),
        (events("not json"), True),
        (events(chunk({"content": "Hi"}), "not json"), True),
        (events(chunk({"content": "Hi"}), {"error": {"message": "overloaded", "code": "overloaded"}}), True),
    ],
    ids=["no choices", "no stream", "empty stream", "not json", "torn stream", "error in the stream"],
)
async def test_c12_nonsense_of_a_server_is_transient(chat_server: ChatServer, answer: Answer, stream: bool) -> None:
    chat_server.script(answer)
    with pytest.raises(errors.TransientModelError):
        await ask(chat_server, stream=stream)
    assert len(chat_server.requests) == 1


async def test_c12_no_server_at_all_is_transient() -> None:
    model = Model("openai/x", ModelSettings(api_base="http://127.0.0.1:9/v1", api_key="k"))
    with pytest.raises(errors.ModelConnectionError):
        await model.complete(Request(messages=HELLO))


async def test_fallbacks_after_a_real_error(chat_server: ChatServer) -> None:
    chat_server.script(error(400), text("second"))
    settings = ModelSettings(api_base=chat_server.url, api_key="k")
    model = resolve([Model("openai/a", settings), Model("openai/b", settings)])
    assert (await model.complete(Request(messages=HELLO))).message.content == "second"
    assert [seen.body["model"] for seen in chat_server.requests] == ["a", "b"]


async def test_an_error_of_the_listener_is_its_own(chat_server: ChatServer) -> None:
    async def listen(delta: Delta) -> None:
        raise KeyError("mine")

    chat_server.script(text("Hello my friend"))
    model = Model("openai/x", ModelSettings(api_base=chat_server.url, api_key="k"))
    with pytest.raises(KeyError, match="mine"):
        await model.complete(Request(messages=HELLO), listen)


@pytest.mark.parametrize("stream", [False, True])
async def test_cancelling_leaves_at_once(chat_server: ChatServer, stream: bool) -> None:
    chat_server.script(
        text("warm"), events(chunk({"content": "Hi"}), chunk({}, "stop"), pause=20) if stream else Answer(delay=20)
    )
    await ask(chat_server)
    start = time.monotonic()
    with anyio.move_on_after(0.3) as scope:
        await ask(chat_server, stream=stream)
    assert scope.cancelled_caught
    assert time.monotonic() - start < 2


async def test_a_slow_call_does_not_hold_up_the_loop(chat_server: ChatServer) -> None:
    chat_server.script(Answer(text("a").body, delay=0.3), Answer(text("b").body, delay=0.3))
    start = time.monotonic()
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(ask, chat_server)
    assert time.monotonic() - start < 0.58


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_first_calls_at_once_wait_for_one_import(chat_server: ChatServer) -> None:
    chat_server.script(*[text("Hi")] * 3)
    code = """
import anyio, sys
from flowgraph_nodes import Model, ModelSettings, Transcript, UserMessage
from flowgraph_nodes.models import Request

async def main() -> None:
    model = Model("openai/x", ModelSettings(api_base=sys.argv[1]))
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(model.complete, Request(messages=Transcript([UserMessage("Hi")])))

anyio.run(main)
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    await anyio.run_process([sys.executable, "-c", code, chat_server.url], env=environment)
    assert len(chat_server.requests) == 3


async def test_a_server_of_ones_own_needs_no_key(chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    chat_server.script(text("Hi"))
    model = Model("openai/local", ModelSettings(api_base=chat_server.url))
    model.check()
    assert (await model.complete(Request(messages=HELLO))).message.content == "Hi"


KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GROQ_API_KEY")


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (lambda: Model("openai/gpt-5-mini"), "no key; set OPENAI_API_KEY in the environment or give api_key="),
        (lambda: Model("gpt-4o"), "no key; set OPENAI_API_KEY"),
        (lambda: Model("anthropic/claude-x"), "no key; set ANTHROPIC_API_KEY"),
        (lambda: Model("nonsense/x"), "unknown provider"),
        (lambda: Model("nonsense"), "unknown provider"),
        (lambda: resolve(["openai/x", "groq/y"]), "OPENAI_API_KEY"),
        (lambda: Model("openai/x", ModelSettings(api_key="k")), None),
        (lambda: Model("openai/x", ModelSettings(api_base="http://127.0.0.1")), None),
        (lambda: Model("ollama/llama3"), None),
        (lambda: Model("bedrock/x"), None),
        (lambda: Model("azure/x"), None),
    ],
)
async def test_check_finds_missing_keys_and_unknown_providers_before_any_call(
    monkeypatch: pytest.MonkeyPatch, model: Callable[[], Model], problem: str | None
) -> None:
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    if problem is None:
        model().check()
        return
    with pytest.raises(errors.ModelConfigError, match=problem):
        model().check()
    for key in KEYS:
        monkeypatch.setenv(key, "k")
    if "unknown" not in problem:
        model().check()


async def test_an_unknown_provider_is_a_clear_error_in_a_call_too() -> None:
    with pytest.raises(errors.ModelConfigError, match="nonsense/x"):
        await Model("nonsense/x").complete(Request(messages=HELLO))
