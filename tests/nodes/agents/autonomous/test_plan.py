"""Plans as data: what is refused, what is left out and reported, merging, order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgraph.node import NAME
from flowgraph_nodes.agents.autonomous.plan import Plan, PlanRefused, State, Wanted, made, revised


def want(step_id: str, *needs: str, **more: Any) -> Wanted:
    return Wanted(step_id, more.pop("description", f"do {step_id}"), dependencies=needs, **more)


def ids(plan: Plan) -> list[str]:
    return [step.id for step in plan.steps]


COMPLETED, FAILED = State("completed", "fine"), State("failed", "broke")


def test_unknown_and_own_dependencies_are_left_out_and_noted() -> None:
    plan, changes = made("t", [want("a", "a", "b", "typo"), want("b")])
    assert plan.steps[0].dependencies == ("b",)
    assert changes.notes == (
        "'a' cannot depend on itself: the dependency was left out",
        "'a' depended on 'typo', which is no step: the dependency was left out",
    )
    assert "added: a, b\nnote: 'a' cannot" in str(changes)


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([], "no steps"),
        ([want("a"), want("")], "step 2 has an empty step_id"),
        ([want("a"), want("b"), want("a")], "'a' stands for 2 steps"),
        ([want("a", description="  ")], "step 'a' has no description"),
        ([want("a", "c"), want("b", "a"), want("c", "b"), want("d")], "'a' needs 'c', 'c' needs 'b', 'b' needs 'a'"),
    ],
)
def test_what_cannot_be_carried_out_is_refused_with_the_reason(steps: list[Wanted], why: str) -> None:
    with pytest.raises(PlanRefused, match=why):
        made("t", steps)


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=8, unique=True))
def test_every_id_gets_a_name_that_the_run_can_have_and_no_two_the_same(names: list[str]) -> None:
    plan, _ = made("t", [want(name) for name in names])
    nodes = [step.node for step in plan.steps]
    assert len(set(nodes)) == len(nodes)
    assert all(NAME.fullmatch(node) for node in nodes)


def test_names_stay_near_the_ids() -> None:
    plan, _ = made("t", [want("gather-figures"), want("1"), want("Step 2: write"), want("Step 2/ write"), want("図")])
    assert [s.node for s in plan.steps] == ["gather-figures", "step-1", "Step-2-write", "Step-2-write-2", "step"]


def test_one_at_a_time_goes_in_the_order_of_the_plan_as_far_as_it_can() -> None:
    plan, _ = made("t", [want("a"), want("b", "d"), want("c", priority="critical"), want("d", priority="high")])
    assert [s.id for s in plan.sequence({})] == ["a", "c", "d", "b"]
    assert [s.id for s in plan.sequence({}, by_priority=True)] == ["c", "d", "a", "b"]


def test_a_revision_merges_by_id() -> None:
    plan, _ = made("t", [want("a"), want("b", "a"), want("c", "b"), want("d")])
    states = {"a": COMPLETED, "d": FAILED, "b": State("skipped", "no")}
    new, changes = revised(
        plan, "", [want("b", description="other"), want("e", "a"), want("a", description="x")], states
    )
    assert ids(new) == ["d", "b", "e", "a"]
    assert (new.task, new.number, new.step("a").description, new.step("b").description) == ("t", 1, "do a", "other")  # type: ignore[union-attr]
    assert (changes.added, changes.updated, changes.dropped, changes.kept) == (("e",), ("b",), ("c",), ("d", "a"))
    assert str(changes) == "added: e\nupdated: b\ndropped: c\nkept: d, a"


def test_only_a_failed_step_is_opened_again() -> None:
    plan, _ = made("t", [want("a"), want("b"), want("c")])
    states = {"a": COMPLETED, "b": FAILED}
    new, changes = revised(plan, "", [want("a", reopen=True), want("b", reopen=True), want("c", reopen=True)], states)
    assert new.reopened == ("b",)
    assert changes.kept == ("a",)
    assert changes.updated == ("b", "c")
    assert changes.notes == (
        "'a' is completed, so there is nothing to reopen",
        "'c' is pending, so there is nothing to reopen",
    )


def test_a_circle_through_steps_that_have_ended_is_none() -> None:
    plan, _ = made("t", [want("a"), want("b", "a")])
    new, _ = revised(plan, "", [want("a"), want("b", "a"), want("c", "b")], {"a": COMPLETED})
    assert ids(new) == ["a", "b", "c"]
    with pytest.raises(PlanRefused, match="circle"):
        revised(plan, "", [want("b", "c"), want("c", "b")], {"a": COMPLETED})
