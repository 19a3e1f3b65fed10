"""What agents leave in a journal: replies, results and details come back; transcripts are read once."""

from __future__ import annotations

import json
from typing import Any

import pytest

import flowgraph as fg
from flowgraph.codec import decode, decode_error, digest, encode, encode_detail, encode_error
from flowgraph.errors import NotStorable
from flowgraph_nodes import LoopExhausted, ScriptedModel, ToolCall, call
from flowgraph_nodes.agents import AgentFailed, AgentResult, ReactAgent
from flowgraph_nodes.agents.result import result_of
from flowgraph_nodes.errors import ModelError, PermanentModelError, RateLimitError
from flowgraph_nodes.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from flowgraph_nodes.models.base import Response
from flowgraph_nodes.tools.result import Stop, ToolResult, failed, returned
from flowgraph_nodes.transcript import Transcript
from flowgraph_nodes.wire import sound_reply

REPLY = AssistantMessage("", (ToolCall("1", "add", '{"a": 1}'),), "thought", {"blocks": [{"sign": "x"}]})
MESSAGES: tuple[Message, ...] = (SystemMessage("s"), UserMessage("s"), REPLY, ToolMessage("1", "r", "add"))
CALL = ToolCall("1", "add")
USAGE = fg.Usage(input_tokens=3, model_calls=1, cost=0.25)


def add(a: int, b: int) -> int:
    return a + b


def agent_graph(replies: list[Any]) -> fg.Graph:
    graph = fg.Graph("g")
    graph.add("a", ReactAgent(model=ScriptedModel(replies), tools=[add], instructions="i", prompt="p"))
    return graph


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (Response(message=REPLY, usage=USAGE, finish_reason="tool_calls", model="m"), Response),
        (list(MESSAGES), list[Message]),
        (failed(CALL, "Failed", "no"), ToolResult),
        (returned(CALL, {"a": [1]}), ToolResult),
        (returned(CALL, Stop((USAGE, {1, 2}))), ToolResult),
        (AgentResult(USAGE, MESSAGES, MESSAGES[1:], "completed", USAGE), AgentResult),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_agents_make_comes_back(value: Any, type_: Any) -> None:
    back = decode(encode(value, type_), type_)
    assert back == value
    assert type(back) is type(value)


def test_a_payload_that_cannot_be_stored_is_refused() -> None:
    with pytest.raises(NotStorable, match="object cannot be stored"):
        encode(ToolResult(CALL, "", stop=Stop(object())), ToolResult, "agent/add")


def test_the_result_of_an_agent_is_rebuilt_from_its_stored_details() -> None:
    node = fg.run(agent_graph([call("add", a=1, b=2), "three"])).nodes["a"]
    live = result_of(node)
    node.detail = json.loads(encode_detail(node.detail))
    assert result_of(node) == live
    assert [type(message) for message in live.messages][:2] == [SystemMessage, UserMessage]


def test_a_reply_with_half_a_surrogate_pair_is_stored() -> None:
    reply = AssistantMessage("a \ud800", (ToolCall("1", "add", '"\ud801"'),), "\ud802", {"blocks": ["\ud803"]})
    response = Response(message=sound_reply(reply), usage=USAGE)
    assert response.message.content == "a \\ud800"
    assert decode(encode(response, Response), Response) == response
    answer = fg.run(agent_graph(["half \ud800"])).nodes["a"].children[0]
    encode(answer.value, Response)


@pytest.mark.parametrize(
    "error",
    [
        RateLimitError("slow down", model="m", status=429, retry_after=3.5),
        PermanentModelError("no", model="m"),
        AgentFailed("a", "limit", "too long", partial="so far", messages=MESSAGES),
        LoopExhausted("polish", USAGE, 3, stalled=True),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_of_nodes_come_back(error: Exception) -> None:
    back = decode_error(json.loads(json.dumps(encode_error(error))))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)
    assert isinstance(back, ModelError) == isinstance(error, ModelError)


# -- the digest of a transcript


def test_the_digest_of_a_transcript_does_not_depend_on_how_it_grew() -> None:
    grown = Transcript(MESSAGES[:2])
    digests = [digest(grown)]
    for reply in (REPLY, REPLY):
        grown = grown.answer(reply, [ToolMessage("1", "r", "add")])
        digests.append(digest(grown))
    whole = Transcript((*MESSAGES, *MESSAGES[2:]))
    assert digest(whole) == digests[-1] is not None
    assert len(set(digests)) == 3
    assert digest(Transcript(MESSAGES[:2])) == digests[0]
    assert grown == whole
    assert digest(Transcript([AssistantMessage("x", extra={"odd": object()})]).add(UserMessage("y"))) is None


def test_only_what_was_added_is_read_for_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Message] = []

    def counting(message: Message) -> str | None:
        read.append(message)
        return digest(message)

    monkeypatch.setattr("flowgraph_nodes.transcript.digest", counting)
    transcript = Transcript([SystemMessage("s")])
    for n in range(100):
        transcript = transcript.add(UserMessage(str(n)))
        digest({"messages": transcript})
    assert len(read) == 101
