"""Odd replies of providers, and odd texts on the way to them: one clear error, or the agent goes on."""

from __future__ import annotations

from typing import Any

import pytest

import flowgraph as fg
from flowgraph_nodes import ReactAgent
from flowgraph_nodes.agents.result import AgentResult
from flowgraph_nodes.errors import InvalidReplyError, ModelError, ModelServerError, PermanentModelError
from flowgraph_nodes.models import Model, ModelSettings

from .chat_server import Answer, ChatServer, calls, chunk, events, text

pytestmark = [pytest.mark.anyio, pytest.mark.network_local]

QUIET = "ignore:Pydantic serializer warnings:UserWarning"


def note(text: str = "") -> str:
    return "noted"


async def asked(server: ChatServer, task: str = "Hi", *, stream: bool = False) -> AgentResult:
    model = Model("openai/x", ModelSettings(api_base=server.url, api_key="none"))
    agent = ReactAgent(model=model, tools=[note], model_retry=fg.Retry(attempts=1))
    if not stream:
        return await agent.arun(task)
    async with agent.stream(task) as run:
        return await run.result()


def with_message(message: Any, **more: Any) -> Answer:
    return Answer({**text("").body, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **more})


@pytest.mark.filterwarnings(QUIET)
@pytest.mark.parametrize(
    "answer",
    [
        with_message(None),
        with_message({"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}),
        with_message({"role": "assistant", "content": 5}),
        with_message({"role": "assistant", "content": "Hi", "tool_calls": "x"}),
        text("Hi", usage={"prompt_tokens": 1, "completion_tokens": "x"}),
    ],
    ids=["no message", "image", "number", "calls are text", "usage is text"],
)
async def test_a_reply_that_is_no_chat_completion_is_one_short_error(chat_server: ChatServer, answer: Answer) -> None:
    chat_server.script(answer, text("never asked"))
    with pytest.raises(InvalidReplyError, match="no valid chat completion: ") as caught:
        await asked(chat_server)
    message = str(caught.value)
    assert "Traceback" not in message
    assert "received_args" not in message
    assert len(message) < 500
    assert isinstance(caught.value, PermanentModelError)
    assert len(chat_server.requests) == 1


@pytest.mark.filterwarnings(QUIET)
async def test_a_stream_that_cannot_be_read_is_the_same_error(chat_server: ChatServer) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": "x", "total_tokens": None}
    chat_server.script(events(chunk({"content": "Hi"}), chunk({}, "stop"), chunk(None, usage=usage)))
    with pytest.raises(InvalidReplyError, match=r"validation errors? for Usage$"):
        await asked(chat_server, stream=True)


async def test_a_reply_without_choices_may_be_asked_for_again(chat_server: ChatServer) -> None:
    chat_server.script(Answer({**text("").body, "choices": []}))
    with pytest.raises(ModelServerError, match="the reply has no choices"):
        await asked(chat_server)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("arguments", ['{"text":' + "9" * 5000 + "}", '{"text":' * 20_000 + "1" + "}" * 20_000])
async def test_odd_arguments_do_not_end_the_agent(chat_server: ChatServer, arguments: str, stream: bool) -> None:
    chat_server.script(calls(("1", "note", arguments)), text("end"))
    assert (await asked(chat_server, stream=stream)).output == "end"
    assert len(chat_server.requests) == 2


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("error", [{"message": "oops"}, {"message": "oops", "code": "odd"}, "oops"])
async def test_an_error_with_status_200_keeps_its_message(chat_server: ChatServer, error: Any, stream: bool) -> None:
    chat_server.script(Answer({"error": error}))
    with pytest.raises(ModelError, match="oops") if isinstance(error, dict) or stream else pytest.raises(ModelError):
        await asked(chat_server, stream=stream)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_refusal_is_the_answer(chat_server: ChatServer, stream: bool) -> None:
    refused = with_message({"role": "assistant", "content": None, "refusal": "I will not."})
    pieces = events(chunk({"role": "assistant", "refusal": "I will not."}), chunk({}, "stop"))
    chat_server.script(pieces if stream else refused)
    assert (await asked(chat_server, stream=stream)).output == "I will not."


@pytest.mark.parametrize("stream", [False, True])
async def test_lone_surrogates_are_cleaned_before_they_are_sent(chat_server: ChatServer, stream: bool) -> None:
    chat_server.script(calls(("1", "note", '{"text": "\\ud800"}'), content="\ud800 hey"), text("end"))
    assert (await asked(chat_server, "a bad \ud801 task", stream=stream)).output == "end"
    user, reply, _ = chat_server.requests[1].body["messages"]
    assert user["content"] == "a bad \\ud801 task"
    assert "hey" in reply["content"]
