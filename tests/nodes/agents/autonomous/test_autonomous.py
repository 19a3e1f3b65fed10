"""AutonomousAgent: planning, execution, revisions, budgets, summary; what is refused when it is built."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph.stores import MemoryStore
from flowgraph.testing import run_jumping
from flowgraph_nodes import AgentFailed, AutonomousAgent, NeedsFeedback, ScriptedModel, Stop, call
from flowgraph_nodes.agents.stream import SubtaskTaken
from flowgraph_nodes.errors import BadRequestError
from flowgraph_nodes.messages import AssistantMessage, UserMessage
from flowgraph_nodes.models import Request

from .scripts import (
    by_turn,
    complete,
    done,
    graph_of,
    of,
    offered,
    plan,
    run_of,
    scripted,
    statuses,
    step,
    texts,
    with_crew,
)

pytestmark = pytest.mark.anyio

THOUGHT = call("think", current_state="here", analysis="hm", next_actions=["go"], confidence=0.5)


async def look(number: int) -> str:
    """Look it up."""
    return f"seen {number}"


# -- planning


def test_planning_offers_the_plan_think_and_what_only_reads() -> None:
    model = scripted([plan(step("s1"))], {"s1": [done("s1")]})
    run_of(model, tools=[look], think_tool=True)
    assert offered(of(model, "agent/planning")[0]) == {
        "create_plan",
        "think",
        "read_file",
        "list_directory",
        "grep",
        "glob",
    }
    assert offered(of(model, "agent/plan*/s1")[0]) >= {"create_plan", "think", "look", "subtask_done", "complete_task"}


def test_other_tools_are_refused_while_planning_and_texts_are_told_to_plan(tmp_path: Path) -> None:
    early = [call("look", number=1), "I think first.", call("list_directory"), plan(step("s1"))]
    model = scripted(early, {"s1": [done("s1")]})
    run = run_of(model, tools=[look], workspace=tmp_path)
    requests = of(model, "agent/planning")
    assert "no tool 'look'" in texts(requests[1])[-1]
    assert "There is no plan yet" in texts(requests[2])[-1]
    assert run.status is fg.Status.SUCCEEDED


def test_the_model_is_told_of_planning_attempts_that_are_used_up() -> None:
    model = scripted([plan()] * 5, {})
    run_of(model)
    told = [texts(request)[-1] for request in of(model, "agent/planning")]
    assert ["3 of 5 requests are used" in text for text in told] == [False, False, False, True, False]
    assert "4 of 5 requests are used" in told[4]


def test_a_run_is_seeded_by_task_and_history() -> None:
    model = scripted([plan(step("s1"))], {"s1": [done("s1")]}, name="agent")
    before = (UserMessage("hello"), AssistantMessage("hi"))
    result = AutonomousAgent(model=model, name="agent", instructions="Be brief.").run("Do it.", history=before)
    first = of(model, "agent/planning")[0]
    assert texts(first)[:3] == ["Be brief.", "hello", "hi"]
    assert "Do it." in texts(first)[3]
    assert [type(message) for message in result.new_messages] == [UserMessage, *[AssistantMessage] * 3]


# -- execution


def test_one_at_a_time_goes_in_plan_order_and_sees_what_came_before() -> None:
    steps = plan(step("b", "c"), step("a"), step("c", priority="critical"))
    subtasks = {name: [done(name, f"found {name}")] for name in "abc"}
    model = scripted([steps], subtasks)
    run = run_of(model)
    begun = sorted(run.nodes["agent/plan#0"].children, key=lambda node: node.started or 0)
    assert [node.name for node in begun] == ["a", "c", "b"]
    asked = texts(of(model, "agent/plan*/b")[0])[-1]
    assert "[x] a, completed: do a\n    found a" in asked
    assert "[x] c, completed: do c\n    found c" in asked
    assert "Work on this subtask now, and on nothing else:\n\nb (medium priority): do b" in asked


def test_priority_counts_only_where_it_is_asked_for() -> None:
    steps = plan(step("a", priority="low"), step("b", priority="critical"))
    run = run_of(scripted([steps], {name: [done(name)] for name in "ab"}), use_priority=True)
    assert [node.name for node in run.nodes["agent/plan#0"].children] == ["b", "a"]


def slow(answer: Any) -> Any:
    async def reply(_: Request) -> Any:
        await anyio.sleep(0.2)
        return answer

    return reply


@pytest.mark.parametrize(("parallel", "seconds"), [(1, 0.8), (2, 0.4), (4, 0.4)])
def test_independent_subtasks_run_side_by_side(parallel: int, seconds: float) -> None:
    steps = plan(step("a"), step("b"), step("c", "a"), step("d", "b"))
    model = scripted([steps], {name: [slow(done(name, f"found {name}"))] for name in "abcd"})
    run = run_jumping(graph_of(AutonomousAgent(model=model, parallel_subtasks=parallel)))
    assert run.nodes["agent/plan#0"].duration == pytest.approx(seconds)
    if parallel > 1:
        asked = texts(of(model, "agent/plan*/c")[0])[-1]
        assert ("found a" in asked, "found b" in asked) == (True, False)


def test_ids_that_are_no_names_are_escaped_and_the_description_is_the_title() -> None:
    steps = plan(step("1. Figures/2026", description="Get the figures"))
    model = scripted([steps], {"step-1-Figures-2026": [done("1. Figures/2026")]})
    node = run_of(model).nodes["agent/plan#0/step-1-Figures-2026"]
    assert (node.status, node.title) == (fg.Status.SUCCEEDED, "Get the figures")


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (done("s2"), "the subtask 's2' is not yours to end"),
        (done("s0"), "the subtask 's0' is completed already"),
        (done("s9"), "there is no subtask 's9'"),
        (call("subtask_done", task_id="s1", summary="x", success="yes"), "success"),
        (call("subtask_done", task_id="s1", summary="x", success=1), "success"),
    ],
)
def test_subtask_done_ends_only_its_own_and_wants_a_boolean(wrong: Any, why: str) -> None:
    model = scripted(
        [plan(step("s0"), step("s1"), step("s2"))], {"s0": [done("s0")], "s1": [wrong, done("s1")], "s2": [done("s2")]}
    )
    assert run_of(model).status is fg.Status.SUCCEEDED
    assert why in texts(of(model, "agent/plan*/s1")[1])[-1]


def test_a_subtask_has_so_many_model_calls_and_is_told_of_them() -> None:
    calls = [call("look", number=n) for n in range(9)]
    model = scripted([plan(step("s1"), step("s2"))], {"s1": calls, "s2": [done("s2")]})
    run = run_of(model, tools=[look], max_subtask_loops=5)
    requests = of(model, "agent/plan*/s1")
    assert len(requests) == 5
    assert [any("model calls are used" in text for text in texts(request)) for request in requests] == [False] * 3 + [
        True
    ] * 2
    assert "max_subtask_loops=5 model calls were made without subtask_done" in str(run.nodes["agent/plan#0/s1"].reason)
    assert run.status is fg.Status.SUCCEEDED


def test_so_many_subtasks_run_and_the_answer_says_so() -> None:
    steps = [step(f"s{n}") for n in range(5)]
    model = scripted([plan(*steps)], {f"s{n}": [done(f"s{n}")] for n in range(4)})
    run = run_of(model, max_subtask_iterations=4)
    assert "max_subtask_iterations=4 subtasks have run" in run["agent"]
    assert "[ ] s4, pending" in run["agent"]
    assert ["of 4 subtasks are used" in texts(of(model, f"agent/plan*/s{n}")[0])[-1] for n in range(4)] == [
        False,
        True,
        False,
        False,
    ]


# -- revisions


def test_a_revision_goes_on_in_the_next_run_of_the_plan_with_what_has_ended() -> None:
    first = plan(step("s1"), step("s2", "s1"), step("s3"), step("s4"))
    second = plan(step("s3", "s5", description="otherwise"), step("s5"), step("s2", "s1"))
    subtasks = {"s1": [done("s1", "found 1")], "s2": [second, done("s2")], "s3": [done("s3")], "s5": [done("s5")]}
    model = scripted([first], subtasks)
    run = run_of(model)
    assert statuses(run) == {"s1": "succeeded", "s2": "succeeded", "s3": "skipped", "s4": "skipped"}
    assert "the plan was revised" in str(run.nodes["agent/plan#0/s3"].reason)
    assert statuses(run, "agent/plan#1") == {"s1": "succeeded", "s2": "succeeded", "s5": "succeeded", "s3": "succeeded"}
    told = texts(of(model, "agent/plan*/s2")[1])[-1]
    assert told == "The plan has 4 steps.\nadded: s5\nupdated: s3, s2\ndropped: s4\nkept: s1"
    assert len(of(model, "agent/plan*/s1")) == 1
    assert [row["step_id"] for row in run.nodes["agent"].detail["plan"]] == ["s1", "s3", "s5", "s2"]


def test_a_failed_step_can_be_opened_again_and_what_it_held_up_runs_then() -> None:
    first = plan(step("s1"), step("s2", "s1"), step("s3"))
    again = plan(step("s1", reopen=True, description="try harder"), step("s2", "s1"), step("s3"))
    subtasks = {
        "plan#0/s1": [done("s1", "no", False)],
        "plan#0/s3": [again, done("s3")],
        "plan#1/s1": [done("s1", "at last")],
        "plan#1/s2": [done("s2")],
    }
    run = run_of(scripted([first], subtasks))
    assert statuses(run) == {"s1": "failed", "s2": "upstream_failed", "s3": "succeeded"}
    assert set(statuses(run, "agent/plan#1").values()) == {"succeeded"}
    assert "at last" in run["agent"]


def test_a_failed_step_that_is_not_opened_again_stays_failed_in_the_next_run() -> None:
    first = plan(step("s1"), step("s2", "s1"), step("s3"))
    second = plan(step("s2", "s1"), step("s3"), step("s4"))
    subtasks = {"plan#0/s1": [done("s1", "no", False)], "s3": [second, done("s3")], "s4": [done("s4")]}
    run = run_of(scripted([first], subtasks))
    assert statuses(run, "agent/plan#1") == {
        "s1": "failed",
        "s3": "succeeded",
        "s2": "upstream_failed",
        "s4": "succeeded",
    }
    assert str(run.nodes["agent/plan#1/s1"].error).endswith("no")


def test_a_revision_without_the_subtask_that_makes_it_ends_that() -> None:
    model = scripted([plan(step("s1"), step("s2"))], {"s1": [plan(step("s2"))], "s2": [done("s2")]})
    run = run_of(model)
    assert statuses(run, "agent/plan#1") == {"s2": "succeeded"}
    assert run.nodes["agent"].detail["subtasks"] == 2


def test_a_bad_revision_is_refused_and_changes_nothing() -> None:
    bad = plan(step("s1", "s2"), step("s2", "s1"))
    model = scripted([plan(step("s1"), step("s2"))], {"s1": [bad, done("s1")], "s2": [done("s2")]})
    run = run_of(model)
    assert "in a circle" in texts(of(model, "agent/plan*/s1")[1])[-1]
    assert "agent/plan#1" not in run.nodes


# -- the end


def test_complete_task_in_a_subtask_ends_all_without_another_call() -> None:
    ending = [done("s1"), complete("the whole answer", results="3 pages", lessons_learned="begin early")]
    model = scripted([plan(step("s1"), step("s2"))], {"s1": [ending]}, [])
    run = run_of(model)
    assert run.usage.model_calls == 2
    assert run["agent"].startswith(
        "Task Completion Summary\n\nthe whole answer\n\nSuccess: yes\n\nResults: 3 pages\n\nLessons"
    )
    assert "Subtasks: 2 (1 completed, 1 pending)" in run["agent"]


def test_without_complete_task_the_answer_is_assembled() -> None:
    run = run_of(scripted([plan(step("s1"))], {"s1": [done("s1")]}, ["All went well."]))
    assert run["agent"] == (
        "Task Execution Summary\n\nAll went well.\n\n"
        "Subtasks: 1 (1 completed)\n[x] s1, completed: do s1\n    s1 is done"
    )


def test_the_summary_is_asked_for_with_the_true_states() -> None:
    model = scripted(
        [plan(step("s1"), step("s2", "s1"), step("s3"))], {"s1": [done("s1", "no", False)], "s3": [done("s3")]}
    )
    run_of(model)
    (request,) = of(model, "agent/summary")
    assert "[!] s1, failed: do s1\n    no\n[-] s2, skipped" in texts(request)[-1]
    assert offered(request) >= {"complete_task"}


def test_when_all_subtasks_fail_the_run_fails() -> None:
    model = scripted([plan(step("s1"), step("s2", "s1"))], {"s1": [done("s1", "no way", False)]}, [])
    error = run_of(model).nodes["agent"].error
    assert isinstance(error, AgentFailed)
    assert error.detail == "all subtasks have failed: s1: no way"
    assert "Task Execution Summary" in error.partial


@pytest.mark.parametrize("where", ["planning", "s1", "summary"])
def test_when_the_provider_dies_the_run_fails_with_its_error(where: str) -> None:
    dead = BadRequestError("no credit")
    scripts = {"planning": [plan(step("s1"))], "s1": [done("s1")], "summary": [complete()]} | {where: [dead]}
    run = run_of(scripted(scripts["planning"], {"s1": scripts["s1"]}, scripts["summary"]))
    assert (run.status, str(run.nodes["agent"].error)) == (fg.Status.FAILED, "no credit")


def test_a_tool_that_stops_the_agent_stops_it() -> None:
    async def finish() -> Stop:
        return Stop("that is it")

    run = run_of(scripted([plan(step("s1"), step("s2"))], {"s1": [call("finish")]}, []), tools=[finish])
    assert run["agent"] == "that is it"
    assert run.nodes["agent"].detail["stop_reason"] == "stopped_by_tool"


# -- think


def test_after_two_thoughts_in_a_row_the_model_is_told_to_act_and_other_calls_reset_it() -> None:
    model = scripted(
        [plan(step("s1"))], {"s1": [THOUGHT, call("look", number=1), THOUGHT, THOUGHT, THOUGHT, done("s1")]}
    )
    run_of(model, tools=[look], think_tool=True)
    told = [texts(request)[-1] for request in of(model, "agent/plan*/s1")]
    assert ["2 times in a row" in text for text in told] == [False, False, False, False, True, False]


def test_there_is_no_think_tool_unless_it_is_asked_for() -> None:
    assert "think" not in AutonomousAgent(model=ScriptedModel([])).tool_names()
    assert "think" in AutonomousAgent(model=ScriptedModel([]), think_tool=True).tool_names()


# -- people, and those who watch


async def test_a_subtask_may_wait_for_a_person_while_others_go_on() -> None:
    async def ask(question: str) -> NeedsFeedback:
        return NeedsFeedback(question)

    steps = plan(step("s1"), step("s2"))
    subtasks = {"s1": by_turn(call("ask", question="Which year?"), done("s1")), "s2": by_turn(done("s2"))}
    graph = graph_of(
        AutonomousAgent(model=scripted(by_turn(steps), subtasks, by_turn(complete())), tools=[ask], parallel_subtasks=2)
    )
    store = MemoryStore()
    run = await fg.arun(graph, store=store, run_id="r", raise_on_failure=False)
    assert run.status is fg.Status.PAUSED
    assert statuses(run)["s2"] == "succeeded"
    (gate,) = run.gates
    run = await fg.arun(graph, store=store, run_id="r", answers={gate.path: "2026"})
    assert run.status is fg.Status.SUCCEEDED
    assert run.usage.model_calls == 5


async def test_whoever_watches_is_told_of_subtasks() -> None:
    model = scripted([plan(step("s1"), step("s2"))], {"s1": [done("s1", "fine")], "s2": [done("s2", "not so", False)]})
    async with AutonomousAgent(model=model, name="agent").stream("go") as run:
        events = [event async for event in run]
    told = [(event.step_id, event.success, event.summary) for event in events if isinstance(event, SubtaskTaken)]
    assert told == [("s1", True, "fine"), ("s2", False, "not so")]


# -- limits and cancellation


def test_a_budget_on_the_outermost_stops_all() -> None:
    subtasks = {name: [call("look", number=n) for n in range(50)] for name in ("s1", "s2", "s3")}
    graph = graph_of(
        AutonomousAgent(model=scripted([plan(*map(step, subtasks))], subtasks), tools=[look], parallel_subtasks=3)
    )
    run = fg.run(graph, limits=fg.Limits(model_calls=7), raise_on_failure=False)
    assert isinstance(run.nodes["agent"].error, fg.LimitExceeded)
    assert run.usage.model_calls == 7


async def test_a_cancel_leaves_nothing_running() -> None:
    asked: list[str] = []

    async def never(request: Request) -> Any:
        asked.append(request.path)
        await anyio.sleep_forever()

    def leader(request: Request) -> Any:
        found = [text for text in texts(request) if "sub-agent-" in text]
        if not found:
            return call("create_sub_agent", agents=[{"agent_name": "law", "agent_description": "x"}])
        task = {"agent_id": json.loads(found[0])[0]["agent_id"], "task": "x"}
        return call("assign_task", assignments=[task], wait_for_completion=len(found) > 1)

    model = scripted([plan(step("s1"), step("s2"))], {"s1": leader, "s2": never})
    with_crew(model, {"law": never})
    async with fg.start(graph_of(AutonomousAgent(model=model, parallel_subtasks=2))) as live:
        while len(asked) < 3:
            await anyio.sleep(0.01)
        live.cancel()
        with pytest.raises(fg.RunCancelled) as error:
            await live.result()
    left = [node.path for node in error.value.run.root.walk() if not node.status.final]
    assert left == []
