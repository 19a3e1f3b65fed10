"""Team: tasks for named agents, side by side; what comes of each, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph_nodes import ReactAgent, Scripted, ScriptedModel
from flowgraph_nodes.errors import BadRequestError
from flowgraph_nodes.flows import Assignment, Team
from flowgraph_nodes.models import Request
from tests.nodes.agents.breaking import break_off_everywhere

pytestmark = pytest.mark.anyio


def around(team: Team) -> fg.Graph:
    graph = fg.Graph("g")
    graph.input("plan", Any)
    graph.add("team", team, bind={"assignments": "plan"})
    graph.output("team")
    return graph


async def given(team: Team, plan: Any, **options: Any) -> list[fg.Outcome[Any]]:
    output: list[fg.Outcome[Any]] = (await fg.arun(around(team), {"plan": plan}, **options)).output
    return output


def agents(asked: Callable[[str], object] = len) -> Team:
    def reply(request: Request) -> str:
        asked(request.path)
        task = request.messages[-1].content
        if task == "break":
            raise BadRequestError("no such thing")
        return f"{request.path.rpartition('/')[2]} did {task}"

    model = ScriptedModel(reply)
    return Team([ReactAgent(model=model, name=name) for name in ("writer", "critic")])


async def test_every_task_is_a_branch_and_the_results_come_in_the_order_of_the_assignments() -> None:
    plan = [("critic", "A"), {"agent": "writer", "task": "B"}, Assignment("critic", "C")]
    run = await fg.arun(around(agents()), {"plan": plan})
    assert [outcome.value for outcome in run.output] == ["critic did A", "writer did B", "critic~2 did C"]
    assert [path for path in run.nodes if path.count("/") == 2] == [
        "team/assign-1/critic",
        "team/assign-1/writer",
        "team/assign-1/critic~2",
    ]
    assert run.nodes["team/assign-1/writer"].kind == "agent"


async def test_they_run_side_by_side_as_many_at_a_time_as_is_said() -> None:
    at_work = most = 0

    async def work(task: float) -> float:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await anyio.sleep(task)
        at_work -= 1
        return task

    times = [0.03, 0.01, 0.02, 0.0]
    assert [o.value for o in await given(Team({"w": work}), [("w", t) for t in times])] == times
    assert most == 4
    most = 0
    assert [o.value for o in await given(Team({"w": work}, max_concurrency=2), [("w", t) for t in times])] == times
    assert most == 2


async def test_a_failure_is_marked_and_hinders_no_other() -> None:
    broken, done = await given(agents(), [("critic", "break"), ("writer", "B")])
    assert (broken.ok, broken.value, broken.path) == (False, None, "team/assign-1/critic")
    assert isinstance(broken.error, BadRequestError)
    assert (done.ok, done.value) == (True, "writer did B")


async def test_limits_are_shared_by_all_branches() -> None:
    plan = [("writer", str(n)) for n in range(4)]
    outcomes = await given(agents(), plan, limits=fg.Limits(model_calls=2))
    assert [outcome.ok for outcome in outcomes].count(True) == 2
    assert {type(outcome.error) for outcome in outcomes if not outcome.ok} == {fg.LimitExceeded}


async def test_no_assignments_no_results() -> None:
    assert await given(agents(), []) == []


async def test_any_node_can_be_in_a_team_and_gets_its_inputs_by_name() -> None:
    def add(a: int, b: int, c: int = 0) -> int:
        return a + b + c

    inner = fg.Graph("double")
    inner.input("number", int)

    @inner.node
    def doubled(number: int) -> int:
        return 2 * number

    inner.output("doubled")

    def keys(task: dict[str, int]) -> list[str]:
        return list(task)

    team = Team({"add": add, "double": inner, "keys": keys})
    plan = [("add", {"a": 1, "b": 2}), ("double", 4), ("keys", {"x": 1}), ("keys", {"task": {"y": 1}})]
    assert [outcome.unwrap() for outcome in await given(team, plan)] == [3, 8, ["x"], ["y"]]


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ([("writer", "A"), ("nobody", "B")], "assignment 2 of team 'team' is for 'nobody', who is not there: writer"),
        ([("writer", "A"), "B"], "assignment 2 of team 'team' is 'B'"),
        ([{"agent": "writer"}], "give {"),
        ([("add", 1)], "'add' takes a, b: give them by name"),
        ([("writer", "A"), ("add", {"a": 1})], "'b'"),
        ("writer", "takes a list of assignments, not a str"),
        (3, "not a int"),
    ],
)
async def test_what_cannot_be_is_said_before_anything_runs(plan: Any, words: str) -> None:
    model = ScriptedModel(["x"])

    def add(a: int, b: int) -> int:
        return a + b

    team = Team({"writer": ReactAgent(model=model), "add": add})
    run = await fg.arun(around(team), {"plan": plan}, raise_on_failure=False)
    assert isinstance(run.errors["team"], fg.InputError)
    assert words in str(run.errors["team"])
    assert not model.requests


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ([], {}, "at least one agent"),
        ([ReactAgent(model=ScriptedModel([]))] * 2, {}, "two agents are named 'unnamed_agent'"),
        ([len], {"name": "a b"}, "cannot be named 'a b'"),
        ([len], {"max_concurrency": 0}, "max_concurrency"),
    ],
)
def test_a_team_that_cannot_be(arguments: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Team(arguments, **options)


def test_the_problems_of_its_agents_are_the_teams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    team = Team({"writer": ReactAgent(model="openai/gpt-5-mini"), "size": len})
    assert [problem.partition(":")[0] for problem in team.problems()] == ["writer"]
    with pytest.raises(fg.GraphError, match="no key"):
        fg.run(around(team), {"plan": []})


async def test_a_node_of_ones_own_can_have_a_team() -> None:
    team = agents()

    async def lead(ctx: fg.Context) -> list[Any]:
        first = await team.assign(ctx, [("writer", "A")])
        second = await team.assign(ctx, [("critic", first[0].value)], 2)
        return [first[0].path, second[0].path, second[0].value]

    graph = fg.Graph("g")
    graph.add("lead", lead)
    assert (await fg.arun(graph))["lead"] == [
        "lead/assign-1/writer",
        "lead/assign-2/critic",
        "critic did writer did A",
    ]


async def test_wherever_it_is_broken_off_it_goes_on_and_asks_no_model_twice() -> None:
    def build(asked: Callable[[str], object]) -> fg.Graph:
        plan = [("critic", "A"), ("writer", "B"), ("critic", "break")]
        graph = fg.Graph("g")
        graph.add("team", agents(asked), values={"assignments": plan})
        return graph

    whole = await break_off_everywhere(build)
    assert [outcome.ok for outcome in whole["team"]] == [True, True, False]


async def test_models_can_be_scripted_by_the_names_of_agents() -> None:
    model = Scripted({"team/assign-1/writer": ["W"], "team/assign-1/critic": ["C"]})
    team = Team([ReactAgent(model=model, name=name) for name in ("writer", "critic")])
    assert [o.value for o in await given(team, [("critic", "A"), ("writer", "B")])] == ["C", "W"]
