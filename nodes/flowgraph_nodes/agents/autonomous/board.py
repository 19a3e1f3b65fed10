"""The board: where the steps of a plan stand while it is carried out.

It reads the record of the run (`ctx.outcomes`), so that a resumed run, in which what has ended is not run again, sees
the same. What a subtask does to the plan counts at once, and is part of what comes of that subtask.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from flowgraph.codec import decode
from flowgraph.context import Context
from flowgraph.errors import Skip
from flowgraph.outcome import Outcome, Status
from flowgraph_nodes.agents.autonomous.findings import Finding, Report
from flowgraph_nodes.agents.autonomous.plan import Changes, Plan, State, States, Step, Wanted, revised
from flowgraph_nodes.agents.autonomous.rolls import joined
from flowgraph_nodes.agents.errors import AgentFailed


class Board:
    """ctx: of the node run of the plan. plan: as it was begun. seeds: the states of what had ended before."""

    def __init__(self, ctx: Context[Any], plan: Plan, seeds: States) -> None:
        self.ctx = ctx
        self.plan = plan
        self.seeds = seeds
        self.ended = False  # a subtask that is at work has ended the whole task
        # What subtasks have done to the plan, as far as the record does not say it any more: in a resumed run those
        # that have failed go on as if they had not.
        self.own = plan
        self.own = self.latest

    @property
    def latest(self) -> Plan:
        """The plan as it is now."""
        plans = [found.plan for found in self._findings() if found.plan is not None]
        return max([self.own, *plans], key=lambda plan: plan.number)

    @property
    def over(self) -> bool:
        """Whether some subtask has ended the whole task."""
        return self.ended or any(found.over for found in self._findings())

    def states(self, known: Collection[str] | None = None) -> dict[str, State]:
        """Where the steps stand, by id. known: those that may be told, beside the seeds; None for all."""
        found = dict(self.seeds)
        outcomes = self.ctx.outcomes
        for step in self.plan.steps:
            outcome = outcomes.get(step.node)
            if step.id not in self.seeds and outcome is not None and (known is None or step.id in known):
                found[step.id] = self._state(step, outcome)
        return found

    def now(self) -> dict[str, State]:
        """Where all steps stand by the latest plan, in which some may be opened again."""
        again = self.latest.reopened
        return {name: state for name, state in self.states().items() if name not in again}

    def look(self, task: str, wanted: Sequence[Wanted]) -> tuple[Plan, Changes]:
        """What a revision would do. Raises PlanRefused."""
        return revised(self.latest, task, wanted, self.now())

    def revise(self, task: str, wanted: Sequence[Wanted]) -> Plan:
        """Revise the plan; it counts from now on. Raises PlanRefused."""
        self.own, _ = self.look(task, wanted)
        return self.own

    def admit(self, number: int, most: int) -> None:
        """Let a subtask begin, the so manieth of all. Raises Skip when none begins any more."""
        if self.over:
            raise Skip("the whole task has been ended before")
        if self.latest.number > self.plan.number:
            raise Skip("the plan was revised, and goes on in its next run")
        if number > most:
            raise Skip(f"max_subtask_iterations={most} subtasks have run")

    def report(self, ran: int) -> Report:
        """What came of the plan. ran: subtasks that had run before it."""
        findings, states, plan = self._findings(), self.now(), self.latest
        over = next((found for found in findings if found.over), None)
        begun = [step for step in self.plan.steps if step.id not in self.seeds and self._has_run(step)]
        return Report(
            plan,
            {step.id: states[step.id] for step in plan.steps if step.id in states},
            ran + len(begun),
            over.completion if over else None,
            over.stopped if over else None,
            joined(found.roll for found in findings),
        )

    def _has_run(self, step: Step) -> bool:
        outcome = self.ctx.outcomes.get(step.node)
        return outcome is not None and outcome.attempts > 0 and outcome.status is not Status.SKIPPED

    @staticmethod
    def findings_in(ctx: Context[Any]) -> list[Finding]:
        """What came of the subtasks of a plan's run that have ended so far."""
        return [found for outcome in ctx.outcomes.values() if (found := _finding(outcome)) is not None]

    def _findings(self) -> list[Finding]:
        return self.findings_in(self.ctx)

    def _state(self, step: Step, outcome: Outcome[Any]) -> State:
        if outcome.ok and (finding := _finding(outcome)) is not None:
            return State("completed", finding.summary) if finding.status == "completed" else State()
        if outcome.status is Status.UPSTREAM_FAILED:
            return State("skipped", self._why_skipped(step))
        if outcome.status is Status.SKIPPED and outcome.reason is not None and outcome.reason.kind == "skip":
            return State("pending", f"not begun: {outcome.reason.detail}")
        if outcome.status.bad:
            error = outcome.error
            return State("failed", error.detail if isinstance(error, AgentFailed) else str(outcome.reason))
        return State()

    def _why_skipped(self, step: Step) -> str:
        """The first of the steps it needs that did not succeed."""
        for needed in step.dependencies:
            other = self.plan.step(needed)
            outcome = None if other is None else self.ctx.outcomes.get(other.node)
            if outcome is not None and outcome.status.bad:
                skipped = outcome.status is Status.UPSTREAM_FAILED
                return f"'{needed}', which it needs, {'was skipped' if skipped else 'has failed'}"
        return "what it needs has failed"


def _finding(outcome: Outcome[Any]) -> Finding | None:
    """What came of a subtask that has ended. (In a resumed run it may be there as plain JSON.)"""
    if not outcome.ok:
        partial = getattr(outcome.error, "partial", None)
        return partial if isinstance(partial, Finding) else None
    if isinstance(outcome.value, Finding):
        return outcome.value
    found: Finding = decode(json.dumps(outcome.value), Finding)
    return found


def begun(plan: Plan, states: States) -> tuple[Plan, dict[str, State]]:
    """A plan and the states that its next run starts from."""
    seeds = {name: state for name, state in states.items() if state.ended and plan.step(name) is not None}
    return replace(plan, reopened=()), seeds
