"""A plan's run: a graph built of the plan, whose nodes are the subtasks, carried out by the engine's own scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import flowgraph as fg
from flowgraph.context import Context
from flowgraph.node import Parameter
from flowgraph_nodes.agents.autonomous.board import Board
from flowgraph_nodes.agents.autonomous.crew import Crew
from flowgraph_nodes.agents.autonomous.findings import Report
from flowgraph_nodes.agents.autonomous.plan import Plan, State, Step
from flowgraph_nodes.agents.autonomous.settings import Equipment
from flowgraph_nodes.agents.autonomous.subtask import Ended, Subtask, needs
from flowgraph_nodes.agents.errors import AgentFailed


@dataclass(frozen=True, slots=True, repr=False)
class PlanRun:
    """A plan as a node: `<path>/plan#0`, its children are the subtasks.

    It takes the plan, the states that it starts from and how many subtasks have run before, and gives a Report. It
    does not fail by the failure of a subtask, but raises what else went wrong in one, such as the provider's error:
    then a resume goes on with that subtask.
    """

    equipment: Equipment
    crew: Crew | None
    title: str = ""

    name: ClassVar[str] = "plan"
    kind: ClassVar[str] = "graph"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "plan": Parameter("plan", Plan),
        "states": Parameter("states", dict[str, State]),
        "ran": Parameter("ran", int),
    }
    output_type: ClassVar[Any] = Report

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Report:
        """Carry the plan out."""
        plan, states, ran = inputs["plan"], inputs["states"], inputs["ran"]
        board = Board(ctx, plan, states)
        if self.crew is not None:
            self._restore(ctx, self.crew)
        errors: dict[str, BaseException] = {}
        try:
            await ctx.run_graph(self._graph(board, ran), {})
        except fg.SubgraphFailed as failed:
            errors = failed.errors
        except (fg.Skip, fg.NoOutput):
            pass  # nothing was left to do in it: the report says so
        if broken := [error for error in errors.values() if not isinstance(error, AgentFailed)]:
            raise broken[0]
        return board.report(ran)

    def _restore(self, ctx: Context[Any], crew: Crew) -> None:
        """In a resumed run: what the subtasks that have ended left of the crew."""
        for finding in Board.findings_in(ctx):
            crew.restore(finding.roll)

    def _graph(self, board: Board, ran: int) -> fg.Graph:
        """The graph of the plan, in the order in which one at a time would be carried out."""
        plan, pace = board.plan, self.equipment.pace
        graph = fg.Graph("plan", title=plan.task[:200], max_concurrency=pace.parallel)
        number, before = ran, frozenset[str]()
        for step in plan.sequence(board.seeds, by_priority=pace.by_priority):
            state = board.seeds.get(step.id)
            if state is None:
                number += 1
                node: fg.Node = Subtask(self.equipment, board, self.crew, step, number, before)
            else:
                node = Ended(step, state)
            graph.add(step.node, node, bind=_bound(plan, step), title=step.description)
            before |= {step.id}
        return graph


def _bound(plan: Plan, step: Step) -> dict[str, str]:
    """Parameter → node of the step that it stands for."""
    found = {}
    for parameter, name in needs(step).items():
        other = plan.step(name)
        assert other is not None, "dependencies on what is no step are left out when a plan is made"
        found[parameter] = other.node
    return found
