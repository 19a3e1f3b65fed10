"""AutonomousAgent: the forms of its result, and what is refused when it is built."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from flowgraph_nodes import AgentConfigError, AutonomousAgent, ReactAgent, Reply, ScriptedModel, call
from flowgraph_nodes.models import Request

from .scripts import complete, done, of, offered, plan, run_of, scripted, step

# -- results


class Grade(BaseModel):
    grade: int


def test_a_typed_answer_is_asked_for_at_the_end() -> None:
    model = scripted([plan(step("s1"))], {"s1": [done("s1")]})
    model.models["agent/answer"] = ScriptedModel([call("final_answer", grade="x"), call("final_answer", grade=2)])
    run = run_of(model, output_type=Grade)
    assert run["agent"] == Grade(grade=2)
    assert "final_answer" not in offered(of(model, "agent/plan*/s1")[0])


def test_the_forms_of_the_result() -> None:
    found = {}
    for form in ("final", "transcript", "messages", "json", "yaml"):
        model = scripted([plan(step("s1"))], {"s1": [done("s1")]})
        found[form] = run_of(model, result=form)["agent"]
    assert found["messages"][0] == {"role": "user", "content": "Write the report."}
    assert found["messages"][-1]["content"] == found["final"]
    assert json.loads(found["json"]) == yaml.safe_load(found["yaml"]) == found["messages"]
    assert found["transcript"].startswith("user: Write the report.\n\nassistant: My plan:")


# -- building


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"max_planning_attempts": 0}, "max_planning_attempts=0 must be a whole number of at least 1"),
        ({"max_subtask_loops": 0}, "max_subtask_loops=0 must"),
        ({"max_subtask_iterations": -1}, "max_subtask_iterations=-1 must"),
        ({"parallel_subtasks": 0}, "parallel_subtasks=0 must"),
        ({"result": "html"}, "result='html' must be one of final, transcript, messages, json, yaml"),
        ({"result": "json", "output_type": Grade}, "result='json' and output_type= exclude each other"),
        ({"builtin_tools": ["read_file"]}, "'create_plan' is missing"),
        ({"builtin_tools": ["create_plan", "read_file"]}, "'subtask_done' is missing"),
        ({"builtin_tools": ["create_plan", "subtask_done", "think"]}, "'think' wants think_tool=True"),
        ({"builtin_tools": ["create_plan", "subtask_done", "reed_file"]}, "did you mean 'read_file'"),
        ({"sub_agents": 3}, "sub_agents= is of type int"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_built(options: dict[str, Any], why: str) -> None:
    with pytest.raises(AgentConfigError) as error:
        AutonomousAgent(model=ScriptedModel([]), **options)
    assert why in str(error.value)


def test_a_tool_of_a_built_in_ones_name_is_refused() -> None:
    def grep(pattern: str) -> str:
        return pattern

    with pytest.raises(AgentConfigError, match="'grep' is a built-in tool: rename yours"):
        AutonomousAgent(model=ScriptedModel([]), tools=[grep])
    AutonomousAgent(model=ScriptedModel([]), tools=[grep], builtin_tools=["create_plan", "subtask_done"])


def test_the_names_of_the_built_in_tools() -> None:
    names = AutonomousAgent(model=ScriptedModel([])).tool_names()
    assert set(names) >= {"create_plan", "subtask_done", "complete_task", "assign_task", "read_file", "respond_to_user"}
    assert "run_bash" not in names


def test_nothing_is_written_where_no_file_tool_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_of(scripted([plan(step("s1"))], {"s1": [Reply(text="so", calls=[done("s1")])]}))
    assert list(tmp_path.iterdir()) == []


def test_one_agent_serves_many_runs() -> None:
    def answer(request: Request) -> Any:
        if request.path.endswith("planning"):
            return plan(step("s1"))
        return complete() if request.path.endswith("summary") else done("s1")

    agent = AutonomousAgent(model=ScriptedModel(answer))
    assert len({agent.run("go").output for _ in range(3)}) == 1


# -- with other settings of agents


async def weather(city: str) -> str:
    """The weather of a city."""
    return f"rain in {city}"


def test_tools_that_have_to_be_found_are_found_in_a_subtask_and_the_plan_brings_some() -> None:
    def tide(place: str) -> str:
        """The tides of a harbour."""
        return place

    steps = plan(step("s1", description="Find out the weather"))
    search = call("tool_search", query="tides")
    model = scripted([steps], {"s1": [search, call("tide", place="Oslo"), done("s1")]})
    run = run_of(model, tools=[weather, tide], dynamic_tools=True)
    seen = [offered(request) for request in of(model, "agent/plan*/s1")]
    assert [("weather" in names, "tide" in names) for names in seen] == [(True, False), (True, True), (True, True)]
    assert run.nodes["agent/plan#0/s1/tide"].value.ok


def test_tasks_can_be_handed_off_while_planning_and_later() -> None:
    clerk = ReactAgent(name="clerk", model=ScriptedModel(["filed"] * 2))
    handoff = call("handoff_task", handoffs=[{"agent_name": "clerk", "task": "file it", "reasoning": "its work"}])
    model = scripted([handoff, plan(step("s1"))], {"s1": [handoff, done("s1")]})
    run = run_of(model, handoffs=[clerk])
    assert "clerk" in of(model, "agent/planning")[0].messages[0].content
    assert "filed" in run.nodes["agent/planning/handoff_task"].value.text
    assert "filed" in run.nodes["agent/plan#0/s1/handoff_task"].value.text
