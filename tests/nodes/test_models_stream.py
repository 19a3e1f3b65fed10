"""Replies put together from chunks, however they were cut."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgraph_nodes.messages import AssistantMessage, ToolCall
from flowgraph_nodes.models.base import ReasoningDelta, TextDelta, ToolCallDelta
from flowgraph_nodes.models.stream import StreamAssembler

from .chat_server import USAGE, chunk


def piece(
    index: int | None = None, call_id: str | None = None, name: str | None = None, arguments: Any = None
) -> dict[str, Any]:
    fragment: dict[str, Any] = {"function": {}}
    for owner, key, value in (
        (fragment, "index", index),
        (fragment, "id", call_id),
        (fragment["function"], "name", name),
        (fragment["function"], "arguments", arguments),
    ):
        if value is not None:
            owner[key] = value
    return fragment


def assembled(*fragments: dict[str, Any]) -> list[tuple[str, str, str]]:
    assembler = StreamAssembler()
    for fragment in fragments:
        assembler.feed(chunk({"tool_calls": [fragment]}))
    assembler.feed(chunk({}, "tool_calls"))
    return [(call.id, call.name, call.arguments) for call in assembler.message.tool_calls]


A, B = ("a", "f", '{"x": 1}'), ("b", "g", '{"y": 2}')


@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        ([piece(0, *A), piece(0, *B)], [A, B]),
        (
            [
                piece(0, "a", "f", ""),
                piece(1, "b", "g", ""),
                piece(0, None, None, '{"x"'),
                piece(1, None, None, '{"y"'),
                piece(0, None, None, ": 1}"),
                piece(1, None, None, ": 2}"),
            ],
            [A, B],
        ),
        ([piece(None, *A), piece(None, *B)], [A, B]),
        (
            [
                piece(None, "a", "f", '{"x"'),
                piece(None, "b", "g", '{"y"'),
                piece(None, "a", None, ": 1}"),
                piece(None, "b", None, ": 2}"),
            ],
            [A, B],
        ),
        ([piece(0, "a", "f", '{"x"'), piece(0, "a", "f", ": "), piece(0, "a", "f", "1}")], [A]),
        ([piece(0, None, "f", '{"x": '), piece(0, None, "f", "1}"), piece(0, "a")], [A]),
        ([piece(0, "a", "f", '{"x"'), piece(0, "", "", ": 1}")], [A]),
        ([piece(0, None, "f", "{}"), piece(0, None, "g", "{}")], [("", "f", "{}"), ("", "g", "{}")]),
        ([piece(None, None, "f", "{}"), piece(None, None, "f", "{}")], [("", "f", "{}"), ("", "f", "{}")]),
        ([piece(0, "same", "f", "{}"), piece(1, "same", "g", "{}")], [("same", "f", "{}"), ("same", "g", "{}")]),
        ([piece(0, "a", "f"), piece(0, None, None, '{"x": 1}')], [A]),
        ([piece(0, "a", "f", {"x": 1})], [A]),
        ([piece(0, "a", "f", '{"x"'), piece(0, *B), piece(0, None, None, "")], [("a", "f", '{"x"'), B]),
        ([piece(3, *A), piece(7, *B)], [A, B]),
    ],
    ids=[
        "equal indexes",
        "interleaved",
        "no index",
        "no index, interleaved",
        "id and name repeated",
        "id late",
        "empty id and name",
        "no ids, other name",
        "no ids, same name",
        "one id for two",
        "arguments apart",
        "arguments as an object",
        "unfinished",
        "odd indexes",
    ],
)
def test_c25_calls_are_told_apart(fragments: list[dict[str, Any]], expected: list[tuple[str, str, str]]) -> None:
    assert assembled(*fragments) == expected


@given(st.data())
def test_c25_calls_with_indexes_survive_any_cut_and_order(data: st.DataObject) -> None:
    calls = data.draw(st.lists(st.dictionaries(st.text(max_size=3), st.integers(), max_size=3), min_size=1, max_size=4))
    queues = []
    for index, arguments in enumerate(calls):
        text = json.dumps(arguments)
        cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1), max_size=3)))
        parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        queues.append(
            [piece(index, f"id{index}", "same", parts[0]), *(piece(index, None, None, part) for part in parts[1:])]
        )
    fragments = []
    while any(queues):
        fragments.append(data.draw(st.sampled_from([queue for queue in queues if queue])).pop(0))
    found = {call_id: json.loads(arguments) for call_id, _, arguments in assembled(*fragments)}
    assert found == {f"id{index}": arguments for index, arguments in enumerate(calls)}


def test_c25_text_reasoning_and_calls_of_one_chunk_are_all_kept() -> None:
    assembler = StreamAssembler()
    deltas = assembler.feed(
        chunk({"reasoning_content": "hm", "content": "Hi", "tool_calls": [piece(0, *A), piece(0, *B)]})
    )
    assert deltas == [ReasoningDelta("hm"), TextDelta("Hi"), ToolCallDelta(0, *A), ToolCallDelta(1, *B)]
    assert assembler.message == AssistantMessage("Hi", (ToolCall(*A), ToolCall(*B)), "hm")


HI, STOP = chunk({"content": "Hi"}), chunk({}, "stop")
COUNTS = {"prompt_tokens": 11, "completion_tokens": 7}


@pytest.mark.parametrize(
    ("chunks", "usage"),
    [
        ([HI, STOP, chunk(None, usage=USAGE)], COUNTS),
        ([HI, chunk({}, "stop", usage=USAGE), chunk(None)], COUNTS),
        ([HI, STOP, chunk({"content": ""}, usage=USAGE)], COUNTS),
        ([HI, chunk({}, "stop", usage=USAGE), chunk(None, usage=USAGE)], COUNTS),
        ([chunk({"content": "Hi"}, usage={**USAGE, "completion_tokens": 1}), STOP, chunk(None, usage=USAGE)], COUNTS),
        ([chunk({"content": "Hi"}, usage=None), STOP, chunk(None, usage=None)], {}),
        ([HI, STOP], {}),
    ],
)
def test_c27_counts_are_taken_once_from_any_chunk(chunks: list[Any], usage: dict[str, int]) -> None:
    assembler = StreamAssembler()
    for item in chunks:
        assembler.feed(item)
    assert (assembler.message.content, assembler.finish_reason, assembler.usage) == ("Hi", "stop", usage)


def test_details_of_the_counts_and_objects_instead_of_dicts() -> None:
    usage = SimpleNamespace(
        prompt_tokens=5,
        completion_tokens=3,
        prompt_tokens_details=SimpleNamespace(cached_tokens=2),
        completion_tokens_details={"reasoning_tokens": 1},
    )
    delta = SimpleNamespace(content="Hi", tool_calls=None)
    assembler = StreamAssembler()
    choices = [SimpleNamespace(index=0, delta=delta, finish_reason="length"), SimpleNamespace(index=1, delta=delta)]
    assembler.feed(SimpleNamespace(model="m", choices=choices, usage=usage))
    assert assembler.usage == {"prompt_tokens": 5, "completion_tokens": 3, "cached_tokens": 2, "reasoning_tokens": 1}
    assert (assembler.message.content, assembler.finish_reason, assembler.model) == ("Hi", "length", "m")


def test_signed_thinking_is_kept_for_the_way_back() -> None:
    assembler = StreamAssembler()
    for block in (
        {"type": "thinking", "thinking": "so "},
        {"type": "thinking", "thinking": "far"},
        {"type": "thinking", "thinking": "", "signature": "s1"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "thinking", "thinking": "more", "signature": "s2"},
    ):
        assembler.feed(chunk({"thinking_blocks": [block]}))
    assert assembler.message.extra["thinking_blocks"] == [
        {"type": "thinking", "thinking": "so far", "signature": "s1"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "thinking", "thinking": "more", "signature": "s2"},
    ]
