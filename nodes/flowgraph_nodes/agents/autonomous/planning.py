"""The planning phase: the task goes in, a plan that can be carried out comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from flowgraph.context import Context
from flowgraph.node import Parameter
from flowgraph_nodes.agents.autonomous.errors import PlanningFailed
from flowgraph_nodes.agents.autonomous.pace import Thinking, near
from flowgraph_nodes.agents.autonomous.plan import Plan, made
from flowgraph_nodes.agents.autonomous.settings import Equipment
from flowgraph_nodes.agents.autonomous.tools import CREATE_PLAN, THINK, create_plan_tool, plan_in, think_tool
from flowgraph_nodes.agents.autonomous.words import NO_PLAN
from flowgraph_nodes.agents.conclusion import concluded
from flowgraph_nodes.agents.history import History
from flowgraph_nodes.agents.reasons import Ending
from flowgraph_nodes.agents.turn import Turn, take_turn
from flowgraph_nodes.messages import UserMessage
from flowgraph_nodes.tools import Tool

_DESCRIPTION = "Make the plan: the steps of the task, and which of them need which others. Call it once."


@dataclass(frozen=True, slots=True, repr=False)
class Planning:
    """The phase as a node: `<path>/planning`. Raises PlanningFailed, and the provider's error."""

    equipment: Equipment

    name: ClassVar[str] = "planning"
    kind: ClassVar[str] = "agent"
    parameters: ClassVar[Mapping[str, Parameter]] = {"task": Parameter("task", str)}
    output_type: ClassVar[Any] = Plan

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Plan:
        """Ask until there is a plan."""
        given = self.equipment
        history = History(given.system, given.before, inputs["task"])

        async def work() -> Ending:
            return await self._planned(ctx, history)

        plan: Plan = (await concluded(ctx, given.name, history, work)).output
        return plan

    async def _planned(self, ctx: Context[Any], history: History) -> Ending:
        given = self.equipment
        tools = [create_plan_tool(made, _DESCRIPTION), *([think_tool()] if THINK in given.names else [])]
        means, most = given.with_tools(tools, "required"), given.pace.planning_attempts
        thinking = Thinking(given.pace.thinks)
        wrong = ""
        for number in range(1, most + 1):
            turn = await take_turn(ctx, means, history)
            ctx.emit("turn", history.turns)
            if (plan := _plan_of(turn, tools[0])) is not None:
                return Ending("completed", plan)
            wrong = _wrong(turn) or wrong
            notes = ["" if turn.results else NO_PLAN, thinking.after(turn.results), near(number, most, "requests")]
            for note in filter(None, notes):
                history.add(UserMessage(note))
        detail = f"max_planning_attempts={most} requests brought no plan that can be carried out"
        messages = history.transcript.messages
        raise PlanningFailed(given.name, "limit", f"{detail}: {wrong}" if wrong else detail, messages=messages)


def _plan_of(turn: Turn, tool: Tool) -> Plan | None:
    """The plan of the turn's last call that was taken."""
    taken = [result.call for result in turn.results if result.ok and result.call.name == CREATE_PLAN]
    return made(*plan_in(tool, taken[-1]))[0] if taken else None


def _wrong(turn: Turn) -> str:
    """Why the turn brought no plan."""
    failed = [result.failure.message for result in turn.results if result.failure is not None]
    return failed[-1] if failed else ""
