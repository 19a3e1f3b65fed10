"""Handoffs: an agent gives tasks to others (case C32)."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph_nodes import AgentConfigError, ReactAgent, Scripted, ScriptedModel, ToolCall, call
from flowgraph_nodes.agents.handoffs import HANDOFF_TOOL, Handoffs
from flowgraph_nodes.messages import ToolMessage, UserMessage

pytestmark = pytest.mark.anyio


def order(name: str, task: str = "Do it.", why: str = "It can.") -> dict[str, str]:
    return {"agent_name": name, "task": task, "reasoning": why}


def hand(*orders: Any) -> ToolCall:
    return call(HANDOFF_TOOL, handoffs=list(orders))


def agent(name: str, *replies: Any, **options: Any) -> ReactAgent:
    return ReactAgent(model=ScriptedModel(replies), name=name, description=f"Is good at {name}.", **options)


def boss(*replies: Any, handoffs: Any, **options: Any) -> tuple[ReactAgent, ScriptedModel]:
    model = ScriptedModel(replies)
    return ReactAgent(model=model, name="boss", handoffs=handoffs, **options), model


def results(messages: Any) -> list[str]:
    return [message.content for message in messages if isinstance(message, ToolMessage)]


def add(a: int, b: int) -> int:
    return a + b


async def test_targets_run_side_by_side_and_answer_in_the_order_of_the_request() -> None:
    running = most = 0

    def slow(seconds: float, text: str) -> Any:
        async def reply(request: Any) -> str:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await anyio.sleep(seconds)
            running -= 1
            return text

        return ScriptedModel(reply)

    team = [ReactAgent(model=slow(0.03, "facts"), name="facts"), ReactAgent(model=slow(0.0, "prose"), name="prose")]
    made, _ = boss(hand(order("facts"), order("prose"), order("facts")), "done", handoffs=team)
    graph = fg.Graph("team")
    graph.add("boss", made, values={"task": "go"})
    run = await fg.arun(graph)
    assert run["boss"] == "done"
    (text,) = [m["content"] for m in run.nodes["boss"].detail["messages"] if m["role"] == "tool"]
    assert [(one["agent_name"], one["answer"]) for one in json.loads(text)] == [
        ("facts", "facts"),
        ("prose", "prose"),
        ("facts", "facts"),
    ]
    assert most == 3
    below = [node.path for node in run.nodes["boss/handoff_task"].children]
    assert below == ["boss/handoff_task/facts", "boss/handoff_task/prose", "boss/handoff_task/facts~2"]
    assert {run.nodes[path].kind for path in below} == {"agent"}
    assert run.usage.model_calls == 5


async def test_the_roster_is_in_the_instructions_and_the_names_in_the_schema() -> None:
    made, model = boss("done", handoffs=[agent("facts"), agent("prose")], instructions="Be brief.")
    await made.arun("go")
    system = model.requests[0].messages[0].content
    assert system == (
        "Be brief.\n\nYou can give tasks to these agents with handoff_task:\n"
        "- facts: Is good at facts.\n- prose: Is good at prose."
    )
    (spec,) = model.requests[0].tools
    assert spec.parameters["properties"]["handoffs"]["items"]["properties"]["agent_name"]["enum"] == ["facts", "prose"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"handoffs": [{"agent_name": "nobody", "task": "x", "reasoning": "y"}]}', "there is no agent 'nobody'"),
        ('{"handoffs": [{"agent_name": "facts", "task": "x"}]}', "handoffs.0.reasoning: is missing"),
        ('{"handoffs": [{"agent_name": "facts", "task": " ", "reasoning": "y"}]}', "handoffs.0.task: is missing"),
        ('{"handoffs": []}', "must be a list of at least one"),
        ('{"handoffs": ["facts"]}', "handoffs.0: must be an object"),
        ("{}", "must be a list"),
        ('{"handoffs": "facts"}', "must be a list"),
    ],
)
async def test_unknown_names_and_missing_fields_are_error_results_that_list_the_names(
    arguments: str, words: str
) -> None:
    made, _ = boss(ToolCall("", HANDOFF_TOOL, arguments), "done", handoffs={"facts": agent("x"), "prose": agent("y")})
    (text,) = results((await made.arun("go")).messages)
    assert text.startswith("Error (BadArguments)")
    assert words in text
    assert text.endswith("The agents are: facts, prose")


async def test_c32_other_calls_of_the_reply_are_answered_and_the_target_sees_their_results() -> None:
    target = ScriptedModel(["seen"])
    made, _ = boss(
        [hand(order("b", "Double it.")), call("add", a=1, b=2)],
        "done",
        handoffs={"b": ReactAgent(model=target)},
        tools=[add],
    )
    result = await made.arun("go")
    assert results(result.messages) == ['[{"agent_name": "b", "answer": "seen"}]', "3"]
    told = target.requests[0].messages[0]
    assert isinstance(told, UserMessage)
    assert "Double it." in told.content
    assert told.content.endswith('What was found out just now:\n- add {"a": 1, "b": 2}: 3')


async def test_c32_a_second_handoff_of_a_reply_is_refused_and_starts_nobody() -> None:
    c = ScriptedModel(["never"])
    team = {"b": agent("b", "from b"), "c": ReactAgent(model=c)}
    made, _ = boss([hand(order("b")), hand(order("c"))], "done", handoffs=team)
    first, second = results((await made.arun("go")).messages)
    assert "from b" in first
    assert second.startswith("Error (Failed): tasks were handed over in this reply already")
    assert c.requests == []


async def test_failures_of_targets_are_told_as_such() -> None:
    team = [agent("good", "fine"), agent("bad", LookupError("gone"))]
    made, _ = boss(hand(order("bad"), order("good")), hand(order("bad")), "done", handoffs=team)
    both, alone = results((await made.arun("go")).messages)
    assert json.loads(both)[0]["agent_name"] == "bad"
    assert "gone" in json.loads(both)[0]["error"]
    assert json.loads(both)[1] == {"agent_name": "good", "answer": "fine"}
    assert alone.startswith("Error (Failed): ")


async def test_a_resumed_run_asks_no_target_twice(tmp_path: Any) -> None:
    def graph_of(scripts: dict[str, Any]) -> fg.Graph:
        model = Scripted(scripts)
        team = [ReactAgent(model=model, name="facts"), ReactAgent(model=model, name="prose")]
        graph = fg.Graph("team")
        graph.add("boss", ReactAgent(model=model, handoffs=team), values={"task": "go"})
        return graph

    store = tmp_path / "runs.db"
    first = graph_of(
        {
            "boss": [hand(order("facts"), order("prose"))],
            "boss/handoff_task/facts": ["f"],
            "boss/handoff_task/prose": ["p"],
        }
    )
    await fg.arun(first, store=store, run_id="r", raise_on_failure=False)
    run = await fg.aresume(graph_of({"boss": ["done"]}), "r", store=store)
    assert run["boss"] == "done"


def test_targets_are_checked_when_the_agent_is_built() -> None:
    with pytest.raises(AgentConfigError, match="two agents are called 'unnamed_agent'"):
        boss(handoffs=[ReactAgent(model="openai/x"), ReactAgent(model="openai/x")])
    with pytest.raises(AgentConfigError, match="'pair' cannot be handed a task: it takes left, right"):
        boss(handoffs=[agent("pair", prompt="{left} {right}")])
    with pytest.raises(AgentConfigError, match="rename yours"):
        boss(handoffs=[agent("x")], tools=[ToolNamed])
    assert Handoffs([agent("topic", prompt="On {subject}")]).targets["topic"].parameter == "subject"


def ToolNamed() -> None: ...


ToolNamed.__name__ = HANDOFF_TOOL
