"""A run that was broken off, after any event, goes on without a model call too many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import flowgraph as fg
from flowgraph import events as ev
from flowgraph.stores import MemoryStore
from flowgraph_nodes import Reply, ScriptedModel, call
from flowgraph_nodes.agents.autonomous import AutonomousAgent
from flowgraph_nodes.agents.autonomous.assignments import Task
from flowgraph_nodes.errors import BadRequestError
from flowgraph_nodes.models import Request
from tests.engine.stopping import RUN, cut, kept
from tests.nodes.agents.breaking import Build, break_off_everywhere

from .scripts import agent_ids, by_turn, complete, done, graph_of, numbered, plan, scripted, step, with_crew

pytestmark = pytest.mark.anyio


@contextmanager
def steady_time() -> Iterator[None]:
    """Tasks that take no time, so that reports are the same each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Task, "seconds", property(lambda task: 0.0))
        yield


async def look(number: int) -> str:
    return f"seen {number}"


def build(subtasks: dict[str, Any], planning: Any, **options: Any) -> Build:
    def made(note: Callable[[str], object]) -> fg.Graph:
        model = scripted(planning, subtasks, by_turn(complete("the answer")))
        model.note = note
        return graph_of(AutonomousAgent(model=model, tools=[look], **options))

    return made


async def test_a_plan_with_a_failed_and_a_skipped_step() -> None:
    steps = plan(step("s1"), step("s2", "s1"), step("s3"), step("s4", "s3"))
    subtasks = {
        "s1": by_turn(call("look", number=1), done("s1", "could not", False)),
        "s3": by_turn(Reply(text="let me see", calls=[call("look", number=3)]), done("s3")),
        "s4": by_turn(done("s4")),
    }
    whole = await break_off_everywhere(build(subtasks, by_turn(plan(), steps)))
    assert "the answer" in whole["agent"]


@pytest.mark.parametrize("parallel", [1, 3])
async def test_a_revised_plan(parallel: int) -> None:
    revised = plan(step("s2", "s1", description="another way"), step("s4", "s2"), step("s1"))
    subtasks = {"s1": by_turn(revised, done("s1")), "s2": by_turn(done("s2")), "s4": by_turn(done("s4"))}
    steps = plan(step("s1"), step("s2", "s1"), step("s3", "s2"))
    whole = await break_off_everywhere(build(subtasks, by_turn(steps), parallel_subtasks=parallel))
    assert "agent/plan#1/s4" in whole.nodes
    assert "agent/plan#1/s3" not in whole.nodes


async def test_a_task_that_is_ended_within_a_subtask() -> None:
    subtasks = {"s1": by_turn([done("s1"), complete("early")])}
    whole = await break_off_everywhere(build(subtasks, by_turn(plan(step("s1"), step("s2")))))
    assert "early" in whole["agent"]


def crew_graph(note: Callable[[str], object], wait: bool) -> fg.Graph:
    """An agent that makes two sub-agents in one subtask, and gives them work."""
    agents = [{"agent_name": name, "agent_description": name} for name in ("reader", "writer")]

    def first(request: Request) -> Any:
        number = sum(bool(getattr(message, "tool_calls", ())) for message in request.messages)
        if number == 0:
            return numbered(call("create_sub_agent", agents=agents), number)
        if number == 1:
            tasks = [{"agent_id": name, "task": f"task of {name}"} for name in agent_ids(request)]
            return numbered(call("assign_task", assignments=tasks, wait_for_completion=wait), number)
        return numbered(done("s1"), number)

    subtasks = {"s1": first, "s2": by_turn(call("look", number=2), done("s2"))}
    model = scripted(by_turn(plan(step("s1"), step("s2", "s1"))), subtasks, by_turn(complete("the answer")))
    with_crew(model, {name: by_turn(f"{name} is done") for name in ("reader", "writer")})
    model.note = note
    return graph_of(AutonomousAgent(model=model, tools=[look]))


@pytest.mark.parametrize("wait", [True, False])
async def test_sub_agents(wait: bool) -> None:
    with steady_time():
        whole = await break_off_everywhere(lambda note: crew_graph(note, wait))
    places = ["agent/plan#0/s1/assign_task/assign-1", "agent/assign-s1-1"]
    assert [f"{place}/reader" in whole.nodes for place in places] == [wait, not wait]
    assert str(whole["agent"]).count("s1, completed") == 1
    assert "reader is done" in str(whole.nodes[places[not wait]].value)


def busy_graph(note: Callable[[str], object], success: bool) -> fg.Graph:
    """Subtasks side by side, of which one revises the plan and one has sub-agents at work beside it."""
    agents = [{"agent_name": name, "agent_description": name} for name in ("reader", "writer")]

    def lead(request: Request) -> Any:
        number = sum(bool(getattr(message, "tool_calls", ())) for message in request.messages)
        tasks = [{"agent_id": name, "task": "read"} for name in agent_ids(request)]
        answers = [
            call("create_sub_agent", agents=agents),
            call("assign_task", assignments=tasks, wait_for_completion=False),
            [call("look", number=8), call("look", number=9)],
            done("a"),
        ]
        return numbered(answers[number], number)

    revised = plan(step("c", "b", description="other"), step("a"), step("b"), step("e", "a"))
    subtasks = {
        "a": lead,
        "b": by_turn(call("look", number=1), revised, done("b", "so so", success)),
        "c": by_turn(done("c")),
        "e": by_turn(done("e", "no", False)),
    }
    steps = plan(step("a"), step("b"), step("c", "b"), step("d", "a"))
    model = scripted(by_turn(steps), subtasks, by_turn(complete("the answer")))
    with_crew(model, {name: by_turn(f"{name} is done") for name in ("reader", "writer")})
    model.note = note
    return graph_of(AutonomousAgent(model=model, tools=[look], parallel_subtasks=3))


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("success", [True, False])
async def test_all_of_it_side_by_side(success: bool) -> None:
    with steady_time():
        whole = await break_off_everywhere(lambda note: busy_graph(note, success))
    assert whole.nodes["agent/plan#0/d"].status is fg.Status.SKIPPED
    assert "agent/plan#1/e" in whole.nodes


def test_a_provider_that_died_fails_the_run_and_a_resume_goes_on_where_it_was() -> None:
    steps = plan(step("s1"), step("s2"), step("s3", "s2"))
    dead = {"s1": [done("s1")], "s2": [call("look", number=1), BadRequestError("no credit")]}
    run, store = kept(graph_of(AutonomousAgent(model=scripted([steps], dead), tools=[look])), run_id=RUN)
    assert run.status is fg.Status.FAILED
    assert isinstance(run.nodes["agent"].error, BadRequestError)
    again = scripted([], {"s2": [done("s2")], "s3": [done("s3")]})
    resumed = fg.resume(graph_of(AutonomousAgent(model=again, tools=[look])), RUN, store=store)
    assert resumed.status is fg.Status.SUCCEEDED
    assert len(again.requests) == 3
    assert resumed.nodes["agent"].detail["subtasks"] == 3


async def test_a_run_killed_in_the_middle_of_a_subtask_makes_no_call_twice() -> None:
    store = MemoryStore()
    calls: list[str] = []

    def model() -> ScriptedModel:
        def answer(request: Request) -> Any:
            calls.append(request.path)
            if request.path.endswith("planning"):
                return plan(step("s1"))
            if request.path.endswith("summary"):
                return complete()
            turns = sum(bool(getattr(message, "tool_calls", ())) for message in request.messages)
            return numbered(call("look", number=turns) if turns < 3 else done("s1"), turns)

        return ScriptedModel(answer)

    run = await fg.arun(graph_of(AutonomousAgent(model=model(), tools=[look])), store=store, run_id=RUN)
    asked = [e.seq for e in run.events if isinstance(e, ev.NodeFinished) and e.path == "agent/plan#0/s1/model~2"]
    broken = cut(store, RUN, asked[0] + 1)
    calls.clear()
    again = await fg.aresume(graph_of(AutonomousAgent(model=model(), tools=[look])), RUN, store=broken)
    assert calls == ["agent/plan#0/s1", "agent/plan#0/s1", "agent/summary"]
    assert again.output == run.output
