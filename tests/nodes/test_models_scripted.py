"""Scripted models: replies in order, by function and by path, with everything a real model can do."""

from __future__ import annotations

import anyio
import pytest

from flowgraph.outcome import Usage
from flowgraph_nodes.errors import RateLimitError, ScriptError
from flowgraph_nodes.messages import AssistantMessage, UserMessage
from flowgraph_nodes.models.base import (
    ChatModel,
    Delta,
    ReasoningDelta,
    Request,
    Response,
    TextDelta,
    ToolCallDelta,
)
from flowgraph_nodes.models.scripted import Reply, Scripted, ScriptedModel, call
from flowgraph_nodes.transcript import Transcript

pytestmark = pytest.mark.anyio


def ask(text: str = "Hi", path: str = "") -> Request:
    return Request(messages=Transcript([UserMessage(text)]), path=path)


async def test_replies_come_in_order_and_requests_are_recorded() -> None:
    model: ChatModel = (scripted := ScriptedModel(["one", [call("add", a=1), call("add", a=2)], "two"]))
    model.check()
    first = await model.complete(ask("1"))
    assert (first.message, first.finish_reason, first.model) == (AssistantMessage("one"), "stop", "scripted")
    second = await model.complete(ask("2"))
    assert second.finish_reason == "tool_calls"
    assert [(c.id, c.name, c.arguments) for c in second.message.tool_calls] == [
        ("call-2-0", "add", '{"a": 1}'),
        ("call-2-1", "add", '{"a": 2}'),
    ]
    assert (await model.complete(ask("3"))).message.content == "two"
    assert [request.messages[0] for request in scripted.requests] == [UserMessage(text) for text in "123"]


async def test_a_script_that_ran_out_says_so() -> None:
    model = ScriptedModel(["one"], name="judge")
    await model.complete(ask())
    with pytest.raises(ScriptError, match="script of 'judge' has ended: request 2 by 'team/a' has no reply"):
        await model.complete(ask(path="team/a"))


async def test_errors_are_raised_and_the_script_goes_on() -> None:
    model = ScriptedModel([RateLimitError("slow down", retry_after=2.5), TimeoutError, "fine"])
    with pytest.raises(RateLimitError) as caught:
        await model.complete(ask())
    assert caught.value.retry_after == 2.5
    with pytest.raises(TimeoutError):
        await model.complete(ask())
    assert (await model.complete(ask())).message.content == "fine"


async def test_functions_of_the_request_sync_and_async() -> None:
    async def later(request: Request) -> str:
        await anyio.sleep(0)
        return f"async {request.path}"

    model = ScriptedModel([lambda request: f"sync {request.path}", later])
    assert (await model.complete(ask(path="a"))).message.content == "sync a"
    assert (await model.complete(ask(path="b"))).message.content == "async b"
    always = ScriptedModel(later)
    assert [(await always.complete(ask(path=p))).message.content for p in "xy"] == ["async x", "async y"]


async def test_usage_finish_reason_and_whole_responses() -> None:
    usage = Usage(input_tokens=10, output_tokens=5, cost=0.25)
    ready = Response(message=AssistantMessage("ready"), usage=Usage(), model="other")
    model = ScriptedModel([Reply(text="cut", finish_reason="length", usage=usage), ready, AssistantMessage("m")])
    first = await model.complete(ask())
    assert first.cut_off
    assert first.usage == Usage(input_tokens=10, output_tokens=5, cost=0.25, model_calls=1)
    assert await model.complete(ask()) is ready
    assert (await model.complete(ask())).usage == Usage(model_calls=1, cost=0.0)


async def test_streams_in_pieces_that_add_up() -> None:
    text, thought = "A text of more than eight letters.", "Thinking it over."
    model = ScriptedModel([Reply(text=text, reasoning=thought, calls=[call("add", number=12345), call("now")])])
    deltas: list[Delta] = []

    async def listen(delta: Delta) -> None:
        deltas.append(delta)

    response = await model.complete(ask(), listen)
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == text == response.message.content
    assert "".join(d.text for d in deltas if isinstance(d, ReasoningDelta)) == thought
    for index, made in enumerate(response.message.tool_calls):
        pieces = [d for d in deltas if isinstance(d, ToolCallDelta) and d.index == index]
        assert "".join(piece.arguments for piece in pieces) == made.arguments
        assert {(piece.id, piece.name) for piece in pieces} == {(made.id, made.name)}
    assert sum(isinstance(d, TextDelta) for d in deltas) > 2


async def test_an_answer_of_a_wrong_kind_is_refused() -> None:
    with pytest.raises(ScriptError, match="cannot answer with int"):
        await ScriptedModel([3]).complete(ask())  # type: ignore[list-item]


async def test_scripted_is_keyed_by_path_of_the_caller() -> None:
    model = Scripted(
        {
            "triage": ["t1", "t2", "t3", "t4"],
            "triage/judge": ["judge"],
            "review[*]/check": lambda request: f"check {request.path}",
            "draft*": ["pattern"],
            "draft": ["plain"],
        }
    )
    asked = [
        "triage",
        "triage#1",
        "triage~2",
        "triage/model",
        "triage/judge",
        "review[3]/check",
        "draft",
        "drafting",
    ]
    answers = [(await model.complete(ask(path=path))).message.content for path in asked]
    assert answers == ["t1", "t2", "t3", "t4", "judge", "check review[3]/check", "plain", "pattern"]
    assert len(model.requests) == 8
    with pytest.raises(ScriptError, match=r"no script for path 'fix'; there are: 'triage'"):
        await model.complete(ask(path="fix"))
