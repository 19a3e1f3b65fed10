"""The summary phase: one call that asks for the answer to the task, with the true state of every step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from flowgraph.context import Context
from flowgraph.node import Parameter
from flowgraph_nodes.agents.autonomous.findings import Completion
from flowgraph_nodes.agents.autonomous.settings import Equipment
from flowgraph_nodes.agents.autonomous.tools import COMPLETE_TASK, complete_task_tool, completion_in
from flowgraph_nodes.agents.conclusion import concluded
from flowgraph_nodes.agents.history import History
from flowgraph_nodes.agents.output import Output
from flowgraph_nodes.agents.part import Part
from flowgraph_nodes.agents.progress import Progress
from flowgraph_nodes.agents.react import take_turns
from flowgraph_nodes.agents.reasons import Ending
from flowgraph_nodes.agents.turn import Means, take_turn
from flowgraph_nodes.tools import Toolbox


@dataclass(frozen=True, slots=True)
class Summed:
    """What the summary phase brought: the completion, or else what the model said."""

    completion: Completion | None = None
    reply: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Summary:
    """The phase as a node: `<path>/summary`. Raises the provider's error."""

    equipment: Equipment

    name: ClassVar[str] = "summary"
    kind: ClassVar[str] = "agent"
    parameters: ClassVar[Mapping[str, Parameter]] = {"task": Parameter("task", str)}
    output_type: ClassVar[Any] = Summed

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Summed:
        """Ask once."""
        given = self.equipment
        history = History(given.system, given.before, inputs["task"])
        tools = [complete_task_tool()] if COMPLETE_TASK in given.names else []
        means = given.with_tools(tools)

        async def work() -> Ending:
            turn = await take_turn(ctx, means, history)
            ctx.emit("turn", history.turns)
            return Ending("completed", Summed(completion_in(turn.results), turn.text))

        summed: Summed = (await concluded(ctx, given.name, history, work)).output
        return summed


def typed_answer(equipment: Equipment, output: Output) -> Part:
    """The part that gives the answer as a value of the output type: `<path>/answer`."""
    patience = equipment.patience()
    most = 1 + patience.output_retries + patience.nudges

    async def work(ctx: Context[Any], history: History, means: Means) -> Ending:
        return await take_turns(ctx, means, history, Progress(patience, output), most)

    tool, given = output.tool, equipment.means
    means = replace(given, toolbox=Toolbox([tool]), tool_choice="required", controls=given.controls | {tool.name})
    return Part(name="answer", work=work, means=means, system=equipment.system, before=equipment.before)
