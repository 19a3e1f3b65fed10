"""Messages, their wire form, and the transcript that leaves no call unanswered."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgraph_nodes.errors import TranscriptError
from flowgraph_nodes.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from flowgraph_nodes.transcript import Transcript
from flowgraph_nodes.wire import from_wire, to_wire

TWO_CALLS = AssistantMessage("Looking.", (ToolCall("a", "fetch", '{"url": 1}'), ToolCall("b", "add")))


def test_a_transcript_grows_by_copies() -> None:
    start = Transcript([SystemMessage("Be brief."), UserMessage("Hi")])
    grown = start.add(AssistantMessage("Hello"))
    assert len(start) == 2
    assert [type(message).__name__ for message in grown] == [
        "SystemMessage",
        "UserMessage",
        "AssistantMessage",
    ]
    assert grown[-1] == AssistantMessage("Hello")
    assert grown[:2] == start.messages
    assert grown == Transcript(grown.messages)


def test_results_given_in_any_order_stand_in_call_order() -> None:
    done = Transcript().answer(TWO_CALLS, [ToolMessage("b", "2"), ToolMessage("a", "1")])
    assert [message.content for message in done] == ["Looking.", "1", "2"]


@pytest.mark.parametrize(
    "messages",
    [
        [TWO_CALLS],
        [TWO_CALLS, ToolMessage("a", "1")],
        [TWO_CALLS, ToolMessage("b", "2"), ToolMessage("a", "1")],
        [TWO_CALLS, ToolMessage("a", "1"), UserMessage("?"), ToolMessage("b", "2")],
        [TWO_CALLS, ToolMessage("a", "1"), ToolMessage("b", "2"), ToolMessage("b", "2")],
        [TWO_CALLS, ToolMessage("a", "1"), ToolMessage("a", "1"), ToolMessage("b", "2")],
        [ToolMessage("a", "1")],
        [AssistantMessage("", (ToolCall("", "add"),)), ToolMessage("", "1")],
        [AssistantMessage("", (ToolCall("x", "add"), ToolCall("x", "add"))), ToolMessage("x", "1")],
    ],
    ids=lambda messages: "+".join(type(message).__name__[0] for message in messages),
)
def test_a_transcript_with_an_unanswered_call_cannot_be_built(messages: list[Message]) -> None:
    with pytest.raises(TranscriptError):
        Transcript(messages)
    with pytest.raises(TranscriptError):
        Transcript([UserMessage("Hi")]).add(*messages)
    with pytest.raises(TranscriptError):
        Transcript.from_wire([to_wire(message) for message in messages])


@pytest.mark.parametrize(
    "results",
    [
        [],
        [ToolMessage("a", "1")],
        [ToolMessage("a", "1"), ToolMessage("a", "1"), ToolMessage("b", "2")],
        [ToolMessage("a", "1"), ToolMessage("b", "2"), ToolMessage("c", "3")],
    ],
)
def test_answer_wants_exactly_one_result_per_call(results: list[ToolMessage]) -> None:
    with pytest.raises(TranscriptError):
        Transcript().answer(TWO_CALLS, results)


def test_calls_without_an_id_or_with_a_repeated_one_get_our_own() -> None:
    names = [("", "f"), ("x", "g"), ("x", "h"), ("run-0", "i"), ("", "j")]
    message = AssistantMessage("", tuple(ToolCall(call_id, name) for call_id, name in names))
    own = message.with_unique_ids("run")
    assert [call.id for call in own.tool_calls] == ["run-0.1", "x", "run-2", "run-0", "run-4"]
    assert [call.name for call in own.tool_calls] == list("fghij")
    assert own == message.with_unique_ids("run")
    assert own.with_unique_ids("other") is own


@given(st.lists(st.sampled_from(["", "a", "b", "p-0", "p-1", "p-1.1"]), max_size=6))
def test_ids_are_always_unique_afterwards(ids: list[str]) -> None:
    message = AssistantMessage("", tuple(ToolCall(call_id, "f") for call_id in ids)).with_unique_ids("p")
    found = [call.id for call in message.tool_calls]
    assert all(found)
    assert len(set(found)) == len(ids)
    assert all(new == old for new, old in zip(found, ids, strict=True) if old and ids.count(old) == 1)


def test_the_wire_form_is_that_of_chat_completions_and_reads_back() -> None:
    transcript = Transcript([SystemMessage("s"), UserMessage("u")]).answer(
        AssistantMessage("", (ToolCall("a", "fetch", "{}"),), reasoning="hm", extra={"thinking_blocks": [1]}),
        [ToolMessage("a", "page", "fetch")],
    )
    wire = transcript.to_wire()
    assert wire == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "fetch", "arguments": "{}"}}],
            "reasoning_content": "hm",
            "thinking_blocks": [1],
        },
        {"role": "tool", "tool_call_id": "a", "content": "page", "name": "fetch"},
    ]
    assert Transcript.from_wire(json.loads(json.dumps(wire))) == transcript


def test_reading_takes_text_parts_objects_as_arguments_and_the_developer_role() -> None:
    assert from_wire(
        {"role": "developer", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    ) == (SystemMessage("ab"))
    read = from_wire(
        {"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": {"a": 1}}}]}
    )
    assert read == AssistantMessage("", (ToolCall("x", "f", '{"a": 1}'),))


@pytest.mark.parametrize(
    "wire",
    [
        {"role": "oracle", "content": "x"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
        {"role": "user", "content": [3]},
        {"role": "user", "content": 3},
    ],
)
def test_reading_refuses_what_it_would_have_to_drop(wire: dict[str, object]) -> None:
    with pytest.raises(TranscriptError):
        from_wire(wire)
