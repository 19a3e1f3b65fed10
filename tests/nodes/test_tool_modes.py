"""Tool modes: agents on models that have no calls of their own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from flowgraph_nodes import Reply, ScriptedModel, call, errors
from flowgraph_nodes.agents import AgentFailed, AgentResult, ReactAgent
from flowgraph_nodes.agents.progress import EMPTY, UNREADABLE
from flowgraph_nodes.agents.stream import CallPiece, ReasoningPiece, TextPiece
from flowgraph_nodes.agents.tool_modes.parser import Parsed, parsed
from flowgraph_nodes.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage

pytestmark = pytest.mark.anyio


def search(query: str, limit: int = 3) -> str:
    """Search the web."""
    return f"{limit} results for {query}"


class City(BaseModel):
    name: str
    people: int


class Node(BaseModel):
    below: list[Node] = []


def results(result: AgentResult) -> list[str]:
    return [message.content for message in result.new_messages if isinstance(message, ToolMessage)]


# -- text: reading


INPUT = '{"query": "bees"}'


@pytest.mark.parametrize(
    "text",
    [
        f"Thought: look it up\nAction: search\nAction Input: {INPUT}",
        f"Thought: look it up\n\nAction:\n\nsearch\n\nAction Input:\n\n{INPUT}\n",
        f"thought: look it up\naction: search\naction input: {INPUT}",
        f"THOUGHT: look it up\nACTION: search\nACTION_INPUT: {INPUT}",
        f"look it up\nAction: `search`\nAction Input: `{INPUT}`",
        f"**Thought:** look it up\n**Action:** search\n**Action Input:** {INPUT}",
        f"**Thought**: look it up\n**Action**: **search**\n**Action Input**: {INPUT}",
        f"Thought 1: look it up\nAction 1: search\nAction Input 1: {INPUT}",
        f"Thought: look it up\nAction: search\nAction Input:\n```json\n{INPUT}\n```",
        f"Thought: look it up\nAction: search\nAction Input: ```json\n{INPUT}\n```",
        f"Thought: look it up\nAction: search\nAction Input:\n```json\n{INPUT}",
        f"```\nThought: look it up\nAction: search\nAction Input: {INPUT}\n```",
        f'Thought: look it up\nAction:\n```json\n{{"action": "search", "action_input": {INPUT}}}\n```',
        f"Thought: look it up\nAction: search({INPUT})",
        f"Thought: look it up\r\nAction: search\r\nAction Input: {INPUT}\r\n",
    ],
)
def test_actions_are_read_tolerantly(text: str) -> None:
    found = parsed(text)
    assert (found.thought, found.action, found.action_input) == ("look it up", "search", INPUT)
    assert found.answer is None


@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        ("Thought: easy\nFinal Answer: 42", "easy", "42"),
        ("thought: easy\nfinal answer:\n\n42\n", "easy", "42"),
        ("**Final Answer:** **42**", "", "**42**"),
        ("Thought: easy\nAction: None\nFinal Answer: 42", "easy", "42"),
        ("Thought: easy\nAction: None\nAction Input: None\nFinal Answer: 42", "easy", "42"),
        ("Thought: easy\nAction: none.\n\nIt is 42.", "easy", "It is 42."),
        ("Thought: easy\nAction: N/A\nAction Input: {}\nIt is 42.", "easy", "It is 42."),
        ("Final Answer: 42\nAction: None", "", "42"),
        (
            "Final Answer: first line\nAction: plan the week\nThought: no",
            "",
            "first line\nAction: plan the week\nThought: no",
        ),
        ("It is 42.", "", "It is 42."),
        ("The best action: wait. In thought: wait.", "", "The best action: wait. In thought: wait."),
        ("```\nprint(42)\n```\nis it", "", "```\nprint(42)\n```\nis it"),
    ],
)
def test_answers_are_read_without_thoughts(text: str, thought: str, answer: str) -> None:
    assert parsed(text) == Parsed(thought, answer=answer)


@pytest.mark.parametrize(
    "text",
    [
        "Thought: hmm",
        "Thought: hmm\nAction: None",
        "Thought: hmm\nAction:",
        "Thought: hmm\nObservation: 42\nFinal Answer: 42",
    ],
)
def test_a_thought_is_never_an_answer(text: str) -> None:
    assert parsed(text) == Parsed("hmm")


def test_c43_the_first_action_counts_and_nothing_behind_it() -> None:
    text = (
        f"Thought: look\nAction: search\nAction Input: {INPUT}\nObservation: made up\n"
        'Thought: more\nAction: delete\nAction Input: {"all": true}\nFinal Answer: made up'
    )
    assert parsed(text) == Parsed("look", "search", INPUT, closed=True)


@pytest.mark.parametrize(
    "argument",
    [
        '{"query": "Action: delete"}',
        '{"query": "a\nAction: delete\nFinal Answer: no"}',
        '{"query": "```\nFinal Answer: no"}',
        '{\n  "query": "x",\n  "limit": 2\n}',
    ],
)
def test_c43_markers_in_argument_text_are_no_markers(argument: str) -> None:
    found = parsed(f"Thought: look\nAction: search\nAction Input: {argument}\nObservation: made up")
    assert (found.action, found.action_input) == ("search", argument)


def test_c43_markers_in_code_fences_are_no_markers() -> None:
    fenced = "```\nAction: delete\nFinal Answer: no\n```"
    found = parsed(f"Thought: see\n{fenced}\nAction: search\nAction Input: {INPUT}")
    assert (found.thought, found.action) == (f"see\n{fenced}", "search")
    assert parsed(f"Look:\n{fenced}") == Parsed(answer=f"Look:\n{fenced}")


def test_an_input_that_is_no_json_ends_at_the_next_marker() -> None:
    found = parsed("Action: search\nAction Input: bees\nand wasps\nObservation: none")
    assert found.action_input == "bees\nand wasps"
    assert parsed("Action: search\nAction Input: None").action_input == ""


@given(
    st.lists(
        st.sampled_from(
            [
                "Thought:",
                "Action:",
                "Action Input:",
                "Final Answer:",
                "Observation:",
                "```",
                "{",
                '"',
                "\n",
                "x ",
                "None",
            ]
        )
    )
)
def test_any_text_is_read_and_at_most_one_thing_is_decided(parts: list[str]) -> None:
    found = parsed("".join(parts))
    assert found.action is None or found.answer is None
    assert found.action != ""


# -- text: agents


async def test_text_mode_runs_an_agent_on_a_model_without_calls() -> None:
    model = ScriptedModel(
        [
            f"Thought: look it up\nAction: search\nAction Input: {INPUT}\nObservation: lies\nFinal Answer: lies",
            "Thought: now I know\nFinal Answer: Bees!",
        ]
    )
    result = await ReactAgent(model=model, tools=[search], instructions="Be brief.", tool_mode="text").arun("bees?")
    assert (result.output, results(result)) == ("Bees!", ["3 results for bees"])
    first, second = model.requests
    assert (first.tools, second.tools) == ((), ())
    system = first.messages[0]
    assert isinstance(system, SystemMessage)
    assert system.content.startswith("Be brief.\n\nYou can use these tools:\n- search: Search the web. Arguments")
    assert second.messages[2:] == (
        AssistantMessage(f"Thought: look it up\nAction: search\nAction Input: {INPUT}"),
        UserMessage("Observation: 3 results for bees"),
    )
    assert "lies" not in repr(result) + repr(second)


async def test_text_mode_gives_a_bare_input_to_the_one_parameter_that_is_needed() -> None:
    model = ScriptedModel(["Action: search\nAction Input: bees", "Final Answer: ok"])
    assert results(await ReactAgent(model=model, tools=[search], tool_mode="text").arun("go")) == ["3 results for bees"]


async def test_text_mode_tells_the_model_of_tools_that_are_not_there() -> None:
    model = ScriptedModel(["Action: serach\nAction Input: {}", "Final Answer: ok"])
    result = await ReactAgent(model=model, tools=[search], tool_mode="text").arun("go")
    assert "did you mean 'search'" in results(result)[0]


async def test_c39_a_thought_alone_gets_a_nudge_in_text_mode() -> None:
    model = ScriptedModel(["Thought: I wonder", "Final Answer: ok"])
    result = await ReactAgent(model=model, tools=[search], tool_mode="text").arun("go")
    assert result.output == "ok"
    assert model.requests[1].messages[-1] == UserMessage(EMPTY)


@pytest.mark.parametrize(("tail", "ran"), [("", False), ("\nObservation: and so on", True)])
async def test_text_mode_runs_no_call_at_whose_end_the_reply_was_cut_off(tail: str, ran: bool) -> None:
    cut = Reply(text=f"Action: search\nAction Input: {INPUT}{tail}", finish_reason="length")
    result = await ReactAgent(model=ScriptedModel([cut, "Final Answer: ok"]), tools=[search], tool_mode="text").arun(
        "go"
    )
    assert results(result)[0].startswith("3 results" if ran else "Error (CutOff)")


async def test_text_mode_streams_the_answer_as_text_and_all_else_as_reasoning() -> None:
    model = ScriptedModel(
        [
            f"Thought: look it up\nAction: search\nAction Input: {INPUT}",
            "Thought: now I know\nFinal Answer: Bees are many.",
        ]
    )
    async with ReactAgent(model=model, tools=[search], tool_mode="text").stream("go") as run:
        events = [event async for event in run]
    texts = [event.text for event in events if isinstance(event, TextPiece)]
    assert "".join(texts) == "Bees are many."
    assert len(texts) > 1
    assert [event.text for event in events if isinstance(event, ReasoningPiece)] == ["look it up", "now I know"]
    assert [(event.name, event.arguments) for event in events if isinstance(event, CallPiece)] == [("search", INPUT)]


async def test_text_mode_takes_an_output_type_as_action_or_as_final_answer() -> None:
    rome = '{"name": "Rome", "people": 3}'
    for text in (f"Action: final_answer\nAction Input: {rome}", f"Thought: so\nFinal Answer: {rome}"):
        agent = ReactAgent(model=ScriptedModel([text]), tools=[search], tool_mode="text", output_type=City)
        assert (await agent.arun("go")).output == City(name="Rome", people=3)


async def test_a_conversation_goes_on_in_another_mode() -> None:
    native = ScriptedModel([[call("search", query="a"), call("search", query="b")], "found"])
    first = await ReactAgent(model=native, tools=[search]).arun("go")
    text = ScriptedModel(["Final Answer: text"])
    second = await ReactAgent(model=text, tools=[search], tool_mode="text").arun("on", history=first.messages)
    told = text.requests[0].messages
    assert [type(message).__name__ for message in told] == [
        "SystemMessage", "UserMessage", "AssistantMessage", "UserMessage", "AssistantMessage", "UserMessage",
    ]  # fmt: skip
    assert told[3] == UserMessage("Observation: 3 results for a\nObservation: 3 results for b")
    schema = ScriptedModel(['{"answer": "schema"}'])
    third = await ReactAgent(model=schema, tools=[search], tool_mode="schema").arun("on", history=second.messages)
    assert third.output == "schema"
    back = ScriptedModel(["native"])
    await ReactAgent(model=back, tools=[search]).arun("on", history=third.messages)
    assert back.requests[0].messages[:5] == first.messages


# -- schema


def asked_schema(model: ScriptedModel, number: int = 0) -> Any:
    wanted = model.requests[number].response_format
    assert wanted is not None
    return wanted.schema


async def test_schema_mode_forces_a_choice_of_the_tools_and_an_answer() -> None:
    model = ScriptedModel([f'{{"tool": "search", "args": {INPUT}}}', '{"answer": "Bees!"}'])
    result = await ReactAgent(model=model, tools=[search], tool_mode="schema").arun("bees?")
    assert (result.output, results(result)) == ("Bees!", ["3 results for bees"])
    tool, answer = asked_schema(model)["anyOf"]
    assert tool["properties"]["tool"] == {"const": "search"}
    assert tool["properties"]["args"]["required"] == ["query"]
    assert answer["properties"] == {"answer": {"type": "string"}}
    assert model.requests[1].messages[2:] == (
        AssistantMessage(f'{{"tool": "search", "args": {INPUT}}}'),
        UserMessage("Result of search: 3 results for bees"),
    )


@pytest.mark.parametrize(
    "text",
    [
        f'{{"tool": "search", "args": {INPUT}}}',
        f'```json\n{{"tool": "search", "args": {INPUT}}}\n```',
        f'Sure:\n```\n{{"name": "search", "arguments": {INPUT}}}\n```',
        f'{{"function": {{"name": "search", "arguments": {json.dumps(INPUT)}}}}}',
    ],
)
async def test_schema_mode_reads_calls_in_fences_and_in_other_words(text: str) -> None:
    result = await ReactAgent(model=ScriptedModel([text, "ok"]), tools=[search], tool_mode="schema").arun("go")
    assert (result.output, results(result)) == ("ok", ["3 results for bees"])


@pytest.mark.parametrize("text", ['{"tool": "search", "args": {', "```json\n{", '{"tool": 3}'])
async def test_schema_mode_asks_again_when_a_reply_cannot_be_read(text: str) -> None:
    model = ScriptedModel([text, '{"answer": "ok"}'])
    assert (await ReactAgent(model=model, tools=[search], tool_mode="schema").arun("go")).output == "ok"
    assert model.requests[1].messages[-1] == UserMessage(UNREADABLE)
    with pytest.raises(AgentFailed, match="max_nudges=2"):
        await ReactAgent(model=ScriptedModel([text] * 9), tools=[search], tool_mode="schema").arun("go")


async def test_schema_mode_passes_plain_text_and_other_json_as_an_answer() -> None:
    for text in ("It is 42.", '{"bees": 42}', "[1, 2]"):
        agent = ReactAgent(model=ScriptedModel([text]), tools=[search], tool_mode="schema")
        assert (await agent.arun("go")).output == text


async def test_schema_mode_asks_for_an_output_type_by_the_schema_alone() -> None:
    model = ScriptedModel(['{"name": "Rome"}', "no idea", '```json\n{"name": "Rome", "people": 3}\n```'])
    agent = ReactAgent(model=model, instructions="Be brief.", tool_mode="schema", output_type=City)
    assert (await agent.arun("go")).output == City(name="Rome", people=3)
    assert asked_schema(model)["required"] == ["name", "people"]
    assert model.requests[0].messages.messages == (SystemMessage("Be brief."), UserMessage("go"))
    assert model.requests[1].messages[2] == AssistantMessage('{"name": "Rome"}')
    assert "people" in model.requests[1].messages[3].content


async def test_schema_mode_offers_the_final_tool_beside_others_and_no_plain_answer() -> None:
    model = ScriptedModel(['{"tool": "final_answer", "args": {"name": "Rome", "people": 3}}'])
    agent = ReactAgent(model=model, tools=[search], tool_mode="schema", output_type=City)
    assert (await agent.arun("go")).output == City(name="Rome", people=3)
    choices = asked_schema(model)["anyOf"]
    assert [choice["properties"]["tool"]["const"] for choice in choices] == ["search", "final_answer"]


async def test_schema_mode_keeps_the_references_of_each_tool_apart() -> None:
    def grow(tree: Node) -> str:
        return f"{len(tree.below)} below"

    model = ScriptedModel(['{"tool": "grow", "args": {"tree": {"below": [{}]}}}', '{"answer": "ok"}'])
    result = await ReactAgent(model=model, tools=[search, grow], tool_mode="schema").arun("go")
    assert results(result) == ["1 below"]
    schema = asked_schema(model)
    assert list(schema["$defs"]) == ["t1_Node"]
    assert schema["$defs"]["t1_Node"]["properties"]["below"]["items"] == {"$ref": "#/$defs/t1_Node"}


@pytest.mark.parametrize(
    "refusal", [errors.BadRequestError("no json_schema", status=400), errors.ModelServerError("oops", status=500)]
)
async def test_schema_mode_falls_back_to_the_older_form_once(refusal: errors.ModelError) -> None:
    model = ScriptedModel([refusal, f'{{"tool": "search", "args": {INPUT}}}', '{"answer": "ok"}'])
    result = await ReactAgent(model=model, tools=[search], tool_mode="schema").arun("go")
    assert (result.output, len(model.requests)) == ("ok", 3)
    for request in model.requests[1:]:
        assert request.response_format is None
        form = request.settings.extra["extra_body"]["response_format"]
        assert (form["type"], "anyOf" in form["schema"]) == ("json_object", True)


async def test_schema_mode_does_not_take_other_errors_for_a_refusal() -> None:
    model = ScriptedModel([errors.AuthenticationError("who?", status=401)] * 2)
    with pytest.raises(errors.AuthenticationError):
        await ReactAgent(model=model, tools=[search], tool_mode="schema").arun("go")
    assert len(model.requests) == 1
    model = ScriptedModel([errors.BadRequestError("no", status=400), errors.BadRequestError("still no", status=400)])
    with pytest.raises(errors.BadRequestError) as caught:
        await ReactAgent(model=model, tools=[search], tool_mode="schema").arun("go")
    assert caught.value.__notes__ == ["before it, with a json_schema: BadRequestError: no"]


async def test_schema_mode_streams_the_answer_and_not_its_json() -> None:
    model = ScriptedModel([f'{{"tool": "search", "args": {INPUT}}}', '{"answer": "Bees!"}'])
    async with ReactAgent(model=model, tools=[search], tool_mode="schema").stream("go") as run:
        pieces = [piece async for piece in run.text()]
    assert "".join(pieces) == "Bees!"


@pytest.mark.parametrize("mode", ["schema", "text"])
async def test_without_tools_a_mode_changes_nothing(mode: Any) -> None:
    model = ScriptedModel(["Thought: plain"])
    assert (await ReactAgent(model=model, tool_mode=mode).arun("go")).output == "Thought: plain"
    assert model.requests[0].response_format is None
