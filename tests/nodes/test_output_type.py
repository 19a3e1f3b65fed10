"""Answers of a declared type."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

import flowgraph as fg
from flowgraph_nodes import Reply, ScriptedModel, Stop, ToolCall, call
from flowgraph_nodes.agents import AgentConfigError, AgentFailed, ReactAgent
from flowgraph_nodes.agents.progress import NO_CALL
from flowgraph_nodes.messages import ToolMessage, UserMessage

pytestmark = pytest.mark.anyio


class City(BaseModel):
    name: str
    people: int = Field(ge=0)


class Tree(BaseModel):
    name: str
    below: list[Tree] = []


@dataclasses.dataclass
class Point:
    x: int
    y: int


class Row(TypedDict):
    day: dt.date


ROME = City(name="Rome", people=3)
ROME_TEXT = '{"name": "Rome", "people": 3}'


@pytest.mark.parametrize(
    ("type_", "arguments", "value"),
    [
        (City, ROME_TEXT, ROME),
        (Tree, '{"name": "a", "below": [{"name": "b"}]}', Tree(name="a", below=[Tree(name="b")])),
        (Point, '{"x": 1, "y": 2}', Point(1, 2)),
        (Row, '{"day": "2026-01-02"}', {"day": dt.date(2026, 1, 2)}),
        (list[int], '{"answer": [1, 2]}', [1, 2]),
        (Literal["low", "high"], '{"answer": "low"}', "low"),
        (bool, '{"answer": false}', False),
        (tuple[int, str], '{"answer": [1, "a"]}', (1, "a")),
        (dict[str, int], '{"answer": {"a": 1}}', {"a": 1}),
        (City | None, '{"answer": null}', None),
        (list[City], f'{{"answer": [{ROME_TEXT}]}}', [ROME]),
    ],
)
async def test_an_answer_of_any_type_comes_through_the_final_tool(type_: Any, arguments: str, value: Any) -> None:
    model = ScriptedModel([ToolCall("", "final_answer", arguments)])
    result = await ReactAgent(model=model, output_type=type_).arun("go")
    assert result.output == value
    assert type(result.output) is type(value)
    assert (result.stop_reason, result.usage.tool_calls) == ("completed", 0)
    (request,) = model.requests
    assert [spec.name for spec in request.tools] == ["final_answer"]
    assert request.tools[0].parameters["type"] == "object"
    assert request.tool_choice == "required"


async def test_as_a_node_the_output_has_the_declared_type() -> None:
    graph = fg.Graph("g")
    model = ScriptedModel([ToolCall("", "final_answer", ROME_TEXT)])
    graph.add("city", ReactAgent(model=model, output_type=City), values={"task": "go"})

    @graph.node
    def people(city: City) -> int:
        return city.people

    assert (await fg.arun(graph)).output == 3


async def test_an_invalid_answer_goes_back_with_the_field_errors() -> None:
    model = ScriptedModel([call("final_answer", name="Rome", people=-1), ToolCall("", "final_answer", ROME_TEXT)])
    result = await ReactAgent(model=model, output_type=City).arun("go")
    assert result.output == ROME
    told = model.requests[1].messages[-1]
    assert isinstance(told, ToolMessage)
    assert "people: Input should be greater than or equal to 0" in told.content


async def test_after_the_output_retries_the_run_fails_with_what_there_is() -> None:
    bad = ToolCall("", "final_answer", '{"name": "Rome"}')
    model = ScriptedModel([bad] * 9)
    with pytest.raises(AgentFailed, match="output_retries=1") as caught:
        await ReactAgent(model=model, output_type=City, output_retries=1).arun("go")
    assert (caught.value.reason, caught.value.partial, len(model.requests)) == ("limit", bad.arguments, 2)


async def test_two_output_retries_by_default() -> None:
    model = ScriptedModel([call("final_answer", name=f"Rome {n}") for n in range(9)])
    with pytest.raises(AgentFailed):
        await ReactAgent(model=model, output_type=City).arun("go")
    assert len(model.requests) == 3


@pytest.mark.parametrize("text", [ROME_TEXT, f"Here it is:\n```json\n{ROME_TEXT}\n```"])
async def test_an_answer_written_as_json_text_is_taken(text: str) -> None:
    assert (await ReactAgent(model=ScriptedModel([text]), output_type=City).arun("go")).output == ROME


async def test_json_text_that_does_not_fit_counts_as_an_output_retry() -> None:
    model = ScriptedModel(['{"name": "Rome"}'] * 9)
    with pytest.raises(AgentFailed, match="output_retries=2: the answer is not valid"):
        await ReactAgent(model=model, output_type=City).arun("go")
    assert len(model.requests) == 3


async def test_c39_prose_where_a_call_is_required_gets_one_nudge_each_and_then_stops() -> None:
    model = ScriptedModel(["It is Rome."] * 9)
    with pytest.raises(AgentFailed) as caught:
        await ReactAgent(model=model, output_type=City).arun("go")
    assert (caught.value.reason, caught.value.partial, len(model.requests)) == ("limit", "It is Rome.", 3)
    assert model.requests[1].messages[-1] == UserMessage(NO_CALL)


async def test_other_calls_of_the_same_reply_are_done_first() -> None:
    done: list[int] = []

    async def note(n: int) -> None:
        done.append(n)

    calls = [ToolCall("", "final_answer", ROME_TEXT), call("note", n=1)]
    result = await ReactAgent(model=ScriptedModel([calls]), tools=[note], output_type=City).arun("go")
    assert (result.output, done) == (ROME, [1])


async def test_a_cut_off_final_answer_is_no_answer() -> None:
    final = ToolCall("", "final_answer", ROME_TEXT)
    model = ScriptedModel([Reply(calls=[final], finish_reason="length"), final])
    assert (await ReactAgent(model=model, output_type=City).arun("go")).output == ROME
    assert len(model.requests) == 2


async def test_a_tool_that_stops_the_run_must_give_the_output_type() -> None:
    async def finish(good: bool) -> Stop:
        return Stop({"name": "Rome", "people": 3} if good else "Rome")

    def agent(good: bool) -> ReactAgent:
        return ReactAgent(model=ScriptedModel([call("finish", good=good)]), tools=[finish], output_type=City)

    result = await agent(True).arun("go")
    assert (result.output, result.stop_reason) == (ROME, "stopped_by_tool")
    with pytest.raises(AgentFailed, match="no City"):
        await agent(False).arun("go")


async def test_a_type_without_schema_and_a_clash_of_names_are_found_when_built() -> None:
    async def final_answer() -> None: ...

    with pytest.raises(AgentConfigError, match="no JSON schema"):
        ReactAgent(model=ScriptedModel([]), output_type=ScriptedModel)
    with pytest.raises(AgentConfigError, match="rename yours"):
        ReactAgent(model=ScriptedModel([]), output_type=City, tools=[final_answer])
    ReactAgent(model=ScriptedModel([]), tools=[final_answer])
