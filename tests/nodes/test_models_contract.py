"""What every model keeps to, whichever it is: scripted, real, a stand-in, or with fallbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import anyio
import pytest

from flowgraph_nodes.errors import BadRequestError
from flowgraph_nodes.messages import AssistantMessage, ToolCall, UserMessage
from flowgraph_nodes.models import (
    ChatModel,
    Delta,
    Fallbacks,
    Limited,
    Model,
    ModelSettings,
    RateLimit,
    ReasoningDelta,
    Reply,
    Request,
    Scripted,
    ScriptedModel,
    TextDelta,
    ToolCallDelta,
    override_models,
)
from flowgraph_nodes.transcript import Transcript

from .chat_server import ChatServer, calls, text

pytestmark = [pytest.mark.anyio, pytest.mark.network_local]

Make = Callable[[AssistantMessage], ChatModel]
"""Makes a model that answers every request with this message."""


def scripted(message: AssistantMessage) -> ScriptedModel:
    return ScriptedModel(lambda request: message)


@pytest.fixture(params=["scripted", "reply", "by path", "fallbacks", "stand-in", "limited", "real"])
def make(request: pytest.FixtureRequest, chat_server: ChatServer) -> Iterator[Make]:
    with ExitStack() as stack:

        def real(message: AssistantMessage) -> ChatModel:
            wire = [(call.id, call.name, call.arguments) for call in message.tool_calls]
            answer = calls(*wire, content=message.content) if wire else text(message.content)
            chat_server.script(*[answer] * 9)
            return Model("openai/any", ModelSettings(api_base=chat_server.url))

        def stand_in(message: AssistantMessage) -> ChatModel:
            stack.enter_context(override_models({"openai/*": scripted(message)}))
            return Model("openai/any")

        makers: dict[str, Make] = {
            "scripted": scripted,
            "reply": lambda m: ScriptedModel([Reply(text=m.content, calls=m.tool_calls)] * 9),
            "by path": lambda m: Scripted({"*": scripted(m)}),
            "fallbacks": lambda m: Fallbacks((ScriptedModel([BadRequestError("no")] * 9), scripted(m))),
            "stand-in": stand_in,
            "limited": lambda m: Limited(scripted(m), RateLimit(in_flight=2)),
            "real": real,
        }
        yield makers[request.param]


MESSAGES = [
    AssistantMessage("Hello, my friend: how are you?"),
    AssistantMessage("Two.", (ToolCall("a", "add", '{"x": 1}'), ToolCall("b", "add", "{}"))),
    AssistantMessage("", (ToolCall("a", "add", '{"text": "é"}'),)),
]


@pytest.mark.parametrize("message", MESSAGES, ids=["text", "text and calls", "call"])
async def test_plain_and_streamed_calls_give_the_same_and_the_pieces_add_up(
    make: Make, message: AssistantMessage
) -> None:
    model = make(message)
    assert isinstance(model, ChatModel)
    assert model.name
    model.check()
    request = Request(messages=Transcript([UserMessage("Hi")]), path="a/b")
    deltas: list[Delta] = []

    async def listen(delta: Delta) -> None:
        await anyio.lowlevel.checkpoint()
        deltas.append(delta)

    plain, streamed = await model.complete(request), await model.complete(request, listen)
    for response in (plain, streamed):
        assert response.message == message
        assert response.usage.model_calls == 1
        assert response.usage.tool_calls == 0
        assert response.finish_reason == ("tool_calls" if message.tool_calls else "stop")
        assert response.model
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == message.content
    assert not any(isinstance(delta, ReasoningDelta) for delta in deltas)
    for index, call in enumerate(message.tool_calls):
        pieces = [delta for delta in deltas if isinstance(delta, ToolCallDelta) and delta.index == index]
        assert (pieces[-1].id, pieces[-1].name) == (call.id, call.name)
        assert "".join(piece.arguments for piece in pieces) == call.arguments


async def test_one_model_serves_many_calls_at_once(make: Make) -> None:
    model, request = make(MESSAGES[0]), Request(messages=Transcript([UserMessage("Hi")]))
    answers: list[AssistantMessage] = []

    async def ask() -> None:
        answers.append((await model.complete(request)).message)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(ask)
    assert answers == [MESSAGES[0]] * 5
