"""C37, C38 and C39 of the case list: what has broken other autonomous agents."""

from __future__ import annotations

from typing import Any

import pytest

import flowgraph as fg
from flowgraph_nodes import Reply, call
from flowgraph_nodes.agents.autonomous import AutonomousAgent, PlanningFailed

from .scripts import complete, done, graph_of, of, plan, scripted, statuses, step, texts

pytestmark = pytest.mark.anyio


def agent(model: Any, **options: Any) -> AutonomousAgent:
    return AutonomousAgent(model=model, **options)


async def run_of(model: Any, **options: Any) -> fg.Run:
    return await fg.arun(graph_of(agent(model, **options)), raise_on_failure=False)


async def test_c37_1_a_step_whose_dependency_failed_is_skipped_and_not_run() -> None:
    model = scripted(
        [plan(step("s1"), step("s2", "s1"), step("s3"))], {"s1": [done("s1", "no", False)], "s3": [done("s3")]}
    )
    run = await run_of(model)
    assert statuses(run) == {"s1": "failed", "s2": "upstream_failed", "s3": "succeeded"}
    assert run.nodes["agent/plan#0/s2"].attempt == 0
    assert str(run.nodes["agent/plan#0/s2"].reason) == "'s1' failed"
    assert "[-] s2, skipped: do s2 (needs s1)\n    's1', which it needs, has failed" in run["agent"]
    assert run.usage.model_calls == 4


async def test_c37_2_an_unknown_dependency_is_left_out_and_reported() -> None:
    model = scripted([plan(step("s1"), step("s3", "typo"))], {"s1": [done("s1")], "s3": [done("s3")]})
    run = await run_of(model)
    assert statuses(run) == {"s1": "succeeded", "s3": "succeeded"}
    result = run.nodes["agent/planning/create_plan"].value
    assert "'s3' depended on 'typo', which is no step: the dependency was left out" in result.text


BAD = {
    "3, a circle": (plan(step("a", "b"), step("b", "a")), "in a circle: 'a' needs 'b', 'b' needs 'a'"),
    "4, an id twice": (plan(step("a"), step("a")), "the step_id 'a' stands for 2 steps"),
    "5, no steps": (plan(), "the plan has no steps"),
    "an empty id": (plan(step(" ")), "step 1 has an empty step_id"),
}


@pytest.mark.parametrize("which", BAD)
async def test_c37_a_plan_that_cannot_be_carried_out_is_refused_and_bounded(which: str) -> None:
    bad, why = BAD[which]
    model = scripted([bad] * 9, {})
    run = await run_of(model)
    error = run.nodes["agent"].error
    assert isinstance(error, PlanningFailed)
    assert "max_planning_attempts=5" in str(error)
    assert why in str(error)
    assert run.usage.model_calls == 5
    requests = of(model, "agent/planning")
    assert all(why in texts(request)[-1] or why in texts(request)[-2] for request in requests[1:])  # told each time


async def test_c37_a_refused_plan_can_be_made_better() -> None:
    model = scripted([plan(step("a", "b"), step("b", "a")), plan(step("a"))], {"a": [done("a")]})
    run = await run_of(model)
    assert run.status is fg.Status.SUCCEEDED
    assert statuses(run) == {"a": "succeeded"}


async def test_c38_the_same_invalid_call_again_and_again_is_stuck() -> None:
    model = scripted([plan(step("s1"))], {"s1": [call("read_file", path=1)] * 50})
    run = await run_of(model, tool_retry=2)
    assert len(of(model, "agent/plan*/s1")) == 3
    error = run.nodes["agent"].error
    assert "stuck: 'read_file' failed 3 times in a row" in str(error)
    messages = run.nodes["agent/plan#0/s1"].detail["messages"]
    assert sum(message["role"] == "tool" for message in messages) == 3


@pytest.mark.parametrize("between", [call("read_file", path=2), call("list_directory")])
async def test_c38_other_arguments_or_a_success_reset_the_count(between: Any, tmp_path: Any) -> None:
    same = call("read_file", path=1)
    model = scripted([plan(step("s1"))], {"s1": [same, same, between, same, same, done("s1")]})
    run = await run_of(model, tool_retry=2, workspace=tmp_path)
    assert run.status is fg.Status.SUCCEEDED


@pytest.mark.parametrize("empty", ["", " \n", Reply(reasoning="let me think")])
async def test_c39_an_empty_reply_gets_one_nudge(empty: Any, tmp_path: Any) -> None:
    working = Reply(text="working", calls=[call("list_directory")])
    model = scripted([plan(step("s1"))], {"s1": [working, empty, done("s1", "done")]})
    run = await run_of(model, workspace=tmp_path)
    assert run.status is fg.Status.SUCCEEDED
    assert "s1, completed: do s1\n    done" in run["agent"]
    assert "had no answer" in texts(of(model, "agent/plan*/s1")[2])[-1]


@pytest.mark.parametrize("reply", ["", "done", Reply(reasoning="hm")])
async def test_c39_replies_that_bring_nothing_end_the_subtask_with_a_reason(reply: Any) -> None:
    model = scripted([plan(step("s1"))], {"s1": [reply] * 9})
    run = await run_of(model)
    assert "max_nudges=2" in str(run.nodes["agent"].error)
    assert len(of(model, "agent/plan*/s1")) == 3


async def test_c39_the_answer_is_the_summary() -> None:
    model = scripted([plan(step("s1"))], {"s1": [done("s1")]}, [complete("the answer")])
    assert "\n\nthe answer\n\n" in (await run_of(model))["agent"]
