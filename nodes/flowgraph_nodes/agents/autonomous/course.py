"""The course of one run of an autonomous agent: planning, the plan's runs, the summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flowgraph.context import Context
from flowgraph_nodes.agents.autonomous.board import begun
from flowgraph_nodes.agents.autonomous.crew import Crew
from flowgraph_nodes.agents.autonomous.findings import Report
from flowgraph_nodes.agents.autonomous.plan import Plan, State
from flowgraph_nodes.agents.autonomous.plan_run import PlanRun
from flowgraph_nodes.agents.autonomous.planning import Planning
from flowgraph_nodes.agents.autonomous.settings import Equipment
from flowgraph_nodes.agents.autonomous.summary import Summary, Summed, typed_answer
from flowgraph_nodes.agents.autonomous.words import (
    PLANNING,
    SUMMARY,
    TYPED,
    completion_text,
    execution_text,
    plan_text,
)
from flowgraph_nodes.agents.history import History
from flowgraph_nodes.agents.output import Output
from flowgraph_nodes.agents.part import Answer
from flowgraph_nodes.agents.reasons import Ending
from flowgraph_nodes.messages import AssistantMessage


@dataclass(frozen=True, slots=True)
class Course:
    """Goes through the phases of one run. history: of the agent, to which the plan and what came of it are added."""

    ctx: Context[Any]
    history: History
    equipment: Equipment
    output: Output | None

    async def run(self, crew: Crew | None) -> Ending:
        """From the task to the ending. Raises PlanningFailed, and the provider's error."""
        given = self.equipment
        plan: Plan = await self.ctx.call(Planning(given), {"task": PLANNING.render({"task": given.task})})
        self._keep(Report(plan, {}, 0))
        self._say(f"My plan:\n{plan_text(plan, {})}")
        report = await self._carried_out(plan, crew)
        self._say(f"What came of it:\n{plan_text(report.plan, report.states)}")
        if report.stopped is not None:
            call, text = report.stopped.call, report.stopped.text
            return Ending("stopped_by_tool", text, f"by the tool '{call.name}'", call)
        return await self._ended(report)

    async def _carried_out(self, plan: Plan, crew: Crew | None) -> Report:
        """Run the plan, and each revision of it."""
        states: dict[str, State] = {}
        number, ran, most = 0, 0, self.equipment.pace.subtask_iterations
        while True:
            plan, states = begun(plan, states)
            node = PlanRun(self.equipment, crew, title=plan.task[:80])
            inputs = {"plan": plan, "states": states, "ran": ran}
            report: Report = await self.ctx.call(node, inputs, name="plan", round=number)
            self._keep(report)
            if crew is not None:
                crew.restore(report.roll)
            over = report.completion is not None or report.stopped is not None
            if over or report.plan.number == plan.number or report.ran >= most:
                return report
            number, plan, states, ran = number + 1, report.plan, report.states, report.ran

    async def _ended(self, report: Report) -> Ending:
        """The answer, by what the model says at the end. Nothing is asked when every subtask has failed."""
        given, plan, states = self.equipment, report.plan, report.states
        note = self._note(report)
        completion = report.completion
        if completion is None:
            if (failed := _all_failed(report)) is not None:
                return Ending("agent_failed", execution_text(plan, states, "", note), failed)
            words = {"task": given.task, "plan": plan_text(plan, states), "note": f"{note}\n\n" if note else ""}
            summed: Summed = await self.ctx.call(Summary(given), {"task": SUMMARY.render(words)})
            completion = summed.completion
            if completion is None:
                return await self._answered(execution_text(plan, states, summed.reply, note))
        self.ctx.keep(success=completion.success)
        return await self._answered(completion_text(plan, states, completion, note))

    async def _answered(self, text: str) -> Ending:
        self._say(text)
        if self.output is None:
            return Ending("completed", text)
        part = typed_answer(self.equipment, self.output)
        asked = TYPED.render({"task": self.equipment.task, "report": text})
        answer: Answer = await self.ctx.call(part, {"task": asked})
        return Ending("completed", answer.output)

    def _note(self, report: Report) -> str:
        """Why not all was done, where that is so."""
        found = [report.states.get(step.id, State()).status for step in report.plan.steps]
        most = self.equipment.pace.subtask_iterations
        if report.completion is not None:
            return ""
        if "pending" in found and report.ran >= most:
            return f"It was stopped there: max_subtask_iterations={most} subtasks have run."
        if "skipped" in found:
            return "No other step could be carried out: what they need has failed."
        return ""

    def _keep(self, report: Report) -> None:
        """For the record: the plan with the states of its steps."""
        states = {step.id: report.states.get(step.id, State()) for step in report.plan.steps}
        rows = [
            {"step_id": step.id, "description": step.description, "status": states[step.id].status}
            for step in report.plan.steps
        ]
        self.ctx.keep(plan=rows, subtasks=report.ran)

    def _say(self, text: str) -> None:
        self.history.add(AssistantMessage(text))


def _all_failed(report: Report) -> str | None:
    """Why nothing was achieved; None when something was."""
    states = [(step.id, report.states.get(step.id, State())) for step in report.plan.steps]
    failed = [f"{name}: {state.text}" for name, state in states if state.status == "failed"]
    if not failed or any(state.status == "completed" for _, state in states):
        return None
    return f"all subtasks have failed: {'; '.join(failed)}"
