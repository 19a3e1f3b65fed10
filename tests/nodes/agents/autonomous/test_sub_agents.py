"""Sub-agents: made, given work as parallel branches, looked at, stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph.testing import run_jumping
from flowgraph_nodes import AutonomousAgent, ScriptedModel, SubAgents, call
from flowgraph_nodes.errors import BadRequestError
from flowgraph_nodes.models import Request

from .scripts import agent_ids, done, graph_of, numbered, plan, scripted, step, texts, with_crew

pytestmark = pytest.mark.anyio

NAMES = ("law", "market", "press")
Make = Callable[[list[str], Request], Any]


async def look(number: int) -> str:
    """Look it up."""
    return f"seen {number}"


def leading(*calls: Make, names: tuple[str, ...] = NAMES, **more: Any) -> Callable[[Request], Any]:
    """A subtask that makes sub-agents, then makes these calls, and then ends."""
    agents = [{"agent_name": name, "agent_description": f"looks at the {name}", **more} for name in names]

    def answer(request: Request) -> Any:
        number = sum(bool(getattr(message, "tool_calls", ())) for message in request.messages)
        if number == 0:
            return numbered(call("create_sub_agent", agents=agents), number)
        if number <= len(calls):
            return numbered(calls[number - 1](agent_ids(request), request), number)
        return numbered(done("s1"), number)

    return answer


def assign(wait: bool = True, **more: Any) -> Make:
    return lambda ids, _: call(
        "assign_task",
        assignments=[{"agent_id": one, "task": f"look, {n}", **more} for n, one in enumerate(ids)],
        wait_for_completion=wait,
    )


def check(ids: list[str], _: Request) -> Any:
    return call("check_sub_agent_status")


def slow(answer: Any, seconds: float = 0.2) -> Any:
    async def reply(request: Request) -> Any:
        await anyio.sleep(seconds)
        return answer(request) if callable(answer) else answer

    return reply


def made(leader: Any, crew: dict[str, Any] | None = None, **options: Any) -> fg.Graph:
    found = crew or {name: [f"{name} found"] * 5 for name in NAMES}
    model = with_crew(scripted([plan(step("s1"))], {"s1": leader}), found)
    return graph_of(AutonomousAgent(model=model, **options))


def result(run: fg.Run, tool: str) -> Any:
    """What a tool of the subtask gave."""
    value = run.nodes[f"agent/plan#0/s1/{tool}"].value
    assert value.ok, value.text
    return json.loads(value.text)


async def test_ids_are_derived_and_results_come_in_the_order_of_the_assignments_failures_marked() -> None:
    crew = {"law": [slow("a law", 0.03)], "market": [BadRequestError("refused")], "press": [slow("a headline", 0.01)]}
    run = await fg.arun(made(leading(assign()), crew), run_id="r1")
    rows = result(run, "assign_task")
    assert [(row["agent_name"], row["status"]) for row in rows] == [
        ("law", "completed"),
        ("market", "failed"),
        ("press", "completed"),
    ]
    assert (rows[0]["result"], "refused" in rows[1]["error"], rows[2]["result"]) == ("a law", True, "a headline")
    children = run.nodes["agent/plan#0/s1/assign_task/assign-1"].children
    assert [(child.name, str(child.status)) for child in children] == [
        ("law", "succeeded"),
        ("market", "failed"),
        ("press", "succeeded"),
    ]
    ids = [row["agent_id"] for row in result(run, "create_sub_agent")]
    again = await fg.arun(made(leading(assign()), crew | {"law": ["x"]}), run_id="r1")
    assert [row["agent_id"] for row in result(again, "create_sub_agent")] == ids
    assert len(set(ids)) == 3


def test_three_branches_take_the_time_of_one() -> None:
    crew = {name: [slow(f"{name} found")] for name in NAMES}
    run = run_jumping(made(leading(assign()), crew))
    branches = run.nodes["agent/plan#0/s1/assign_task/assign-1"]
    assert branches.duration is not None
    one = branches.children[0].duration
    assert one is not None
    assert branches.duration / one == pytest.approx(1, abs=0.01)


async def test_a_sub_agent_has_a_fresh_context_its_own_instructions_and_the_parents_tools_but_no_crew() -> None:
    leader = leading(assign(), assign(), names=("law",), system_prompt="You are a lawyer.")
    asked: list[Request] = []

    def lawyer(request: Request) -> Any:
        asked.append(request)
        return "a law" if len(request.messages) > 2 else call("look", number=1)

    run = await fg.arun(
        made(
            leader,
            {"law": lawyer},
            tools=[look],
            builtin_tools=["create_plan", "subtask_done", "create_sub_agent", "assign_task"],
        )
    )
    assert [texts(request)[:2] for request in asked] == [["You are a lawyer.", "look, 0"]] * 4
    assert {tool.name for tool in asked[0].tools} == {"look"}
    assert "agent/plan#0/s1/assign_task~2/assign-2/law" in run.nodes


@pytest.mark.parametrize(("tools", "turns"), [([look], 5), ([], 1)])
async def test_turns_of_a_sub_agent(tools: list[Any], turns: int) -> None:
    names = ["create_plan", "subtask_done", "create_sub_agent", "assign_task"]
    crew = {"law": lambda request: call("look", number=len(request.messages))}
    run = await fg.arun(made(leading(assign(), names=("law",)), crew, tools=tools, builtin_tools=names))
    (row,) = result(run, "assign_task")
    assert (row["status"], f"max_turns={turns}" in row["error"]) == ("failed", True)


async def test_work_in_the_background_goes_on_beside_the_subtask_and_is_looked_at_with_its_results() -> None:
    def wait(ids: list[str], request: Request) -> Any:
        return call("look", number=1)

    async def look(number: int) -> str:
        await anyio.sleep(0.05)
        return "seen"

    run = await fg.arun(made(leading(assign(False), check, wait, check), tools=[look]))
    before, after = result(run, "check_sub_agent_status"), result(run, "check_sub_agent_status~2")
    assert len(result(run, "assign_task")["started"]) == 3
    assert {task["status"] for row in before for task in row["tasks"]} <= {"pending", "running", "completed"}
    tasks = [task for row in after for task in row["tasks"]]
    assert [(task["status"], task["attempts"], task["result"]) for task in tasks] == [
        ("completed", 1, f"{name} found") for name in NAMES
    ]
    assert all(task["duration"] >= 0 for task in tasks)
    assert run.nodes["agent/assign-s1-1"].status is fg.Status.SUCCEEDED


async def test_cancelling_really_stops_them_and_none_is_left_at_the_end() -> None:
    ended: list[str] = []

    def never(name: str) -> Any:
        async def reply(request: Request) -> Any:
            try:
                await anyio.sleep_forever()
            finally:
                ended.append(name)

        return reply

    def cancel(ids: list[str], _: Request) -> Any:
        assert not ended
        return call("cancel_sub_agent_tasks", agent_ids=ids[:1])

    def pause(ids: list[str], _: Request) -> Any:
        return call("look", number=1)

    async def look(number: int) -> int:
        await anyio.sleep(0.02)
        return number

    leader = leading(assign(False), pause, cancel, pause, check)
    run = await fg.arun(made(leader, {name: [never(name)] for name in NAMES}, tools=[look]))
    assert len(result(run, "cancel_sub_agent_tasks")["cancelled"]) == 1
    rows = result(run, "check_sub_agent_status")
    assert [row["tasks"][0]["status"] for row in rows] == ["cancelled", "running", "running"]
    assert ended[0] == "law"
    assert sorted(ended) == sorted(NAMES)
    assert run.status is fg.Status.SUCCEEDED
    assert not [node.path for node in run.root.walk() if not node.status.final]


async def test_what_cannot_be_is_told() -> None:
    def unknown(ids: list[str], _: Request) -> Any:
        return call("assign_task", assignments=[{"agent_id": "nobody", "task": "x"}])

    def more(ids: list[str], _: Request) -> Any:
        return call("create_sub_agent", agents=[{"agent_name": "x", "agent_description": "x"}])

    leader = leading(unknown, more, assign(task_id="same"))
    run = await fg.arun(made(leader, sub_agents=SubAgents(max_sub_agents=3)))
    told = [
        run.nodes[f"agent/plan#0/s1/{name}"].value.text
        for name in ("assign_task", "create_sub_agent~2", "assign_task~2")
    ]
    assert "there is no sub-agent 'nobody'; there are: sub-agent-" in told[0]
    assert "at most 3 may be made" in told[1]
    assert "the task_id 'same' stands for several tasks" in told[2]


async def test_the_models_and_tools_of_sub_agents_are_the_users_to_choose() -> None:
    cheap, dear = ScriptedModel(["from the cheap one"] * 3), ScriptedModel(["from the dear one"] * 3)
    fixed = SubAgents(model_policy="fixed", models=cheap, tool_policy="fixed", tools=[look])
    run = await fg.arun(made(leading(assign(), names=("law",)), sub_agents=fixed))
    assert result(run, "assign_task")[0]["result"] == "from the cheap one"
    assert [tool.name for tool in cheap.requests[0].tools] == ["look"]
    choice = SubAgents(model_policy="choice", models={"cheap": cheap, "dear": dear}, tool_policy="choice", tools=[look])
    leader = leading(assign(), names=("law",), model="dear", tools=["look"])
    run = await fg.arun(made(leader, sub_agents=choice))
    assert result(run, "assign_task")[0]["result"] == "from the dear one"
    leader = leading(names=("law",), model="gold")
    run = await fg.arun(made(leader, sub_agents=choice))
    assert "there is no model 'gold' to choose: cheap, dear" in run.nodes["agent/plan#0/s1/create_sub_agent"].value.text


async def test_deeper_crews_only_where_they_are_allowed() -> None:
    seen: list[set[str]] = []

    def lawyer(request: Request) -> Any:
        seen.append({tool.name for tool in request.tools})
        return "a law"

    for depth in (1, 2):
        await fg.arun(made(leading(assign(), names=("law",)), {"law": lawyer}, sub_agents=SubAgents(max_depth=depth)))
    assert ["create_sub_agent" in names for names in seen] == [False, True]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"model_policy": "fixed"}, "wants in models= one model"),
        ({"model_policy": "choice", "models": "m"}, "a dict of them by name"),
        ({"tool_policy": "any"}, "must be 'inherit', 'fixed' or 'choice'"),
        ({"tools": [look]}, "tool_policy='inherit' takes the agent's tools"),
        ({"max_depth": 0}, "max_depth=0 must be a whole number of at least 1"),
        ({"max_turns": True}, "max_turns=True must be"),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why.replace("(", r"\(")):
        SubAgents(**options)
