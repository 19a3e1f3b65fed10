"""The tools that steer an autonomous agent. Each only checks its call; what follows from it is done after the turn.

So a resumed run, in which a recorded call is not made again, comes to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from flowgraph_nodes.agents.autonomous.findings import Completion
from flowgraph_nodes.agents.autonomous.plan import Changes, Plan, PlanRefused, States, Wanted
from flowgraph_nodes.messages import ToolCall
from flowgraph_nodes.tools import Fail, Stop, Tool, ToolResult, tool
from flowgraph_nodes.tools.arguments import parsed

CREATE_PLAN: Final = "create_plan"
SUBTASK_DONE: Final = "subtask_done"
COMPLETE_TASK: Final = "complete_task"
THINK: Final = "think"

Accept = Callable[[str, list[Wanted]], tuple[Plan, Changes]]
"""Makes, or revises, a plan of what was asked for. Raises PlanRefused."""


class StepArguments(BaseModel):
    """A step, as a model writes it."""

    model_config = ConfigDict(coerce_numbers_to_str=True, str_strip_whitespace=True)

    step_id: str = Field(description="short and unlike all others, such as s1")
    description: str = Field(description="what is to be done, for somebody who sees only the plan")
    priority: Literal["low", "medium", "high", "critical"] = "medium"
    dependencies: list[str] = Field(default_factory=list, description="step_ids that have to be completed before")
    reopen: bool = Field(default=False, description="of a step that has failed: try it again")

    @property
    def wanted(self) -> Wanted:
        """The step as it is asked for."""
        return Wanted(self.step_id, self.description, self.priority, tuple(self.dependencies), self.reopen)


def create_plan_tool(accept: Accept, description: str) -> Tool:
    """The tool that takes a plan. accept: what makes one of it, or refuses."""

    async def create_plan(
        task_description: Annotated[str, Field(description="the task in your own words")],
        steps: Annotated[list[StepArguments], Field(description="in the order in which you would do them")],
    ) -> str | Fail:
        try:
            plan, changes = accept(task_description, [step.wanted for step in steps])
        except PlanRefused as error:
            return Fail(str(error))
        return f"The plan has {len(plan.steps)} steps.\n{changes}"

    return tool(create_plan, name=CREATE_PLAN, description=description, serial=True)


def plan_in(box_tool: Tool, call: ToolCall) -> tuple[str, list[Wanted]]:
    """What a call of `create_plan` asks for, that has been taken."""
    read = box_tool.read(parsed(call.arguments))
    given = dict(zip(("task_description", "steps"), read.args, strict=False)) | dict(read.kwargs)
    return given["task_description"], [step.wanted for step in given["steps"]]


def subtask_done_tool(own: str, states: Callable[[], States], known: Callable[[], frozenset[str]]) -> Tool:
    """The tool that ends a subtask. own: its id. known: ids of all steps."""

    async def subtask_done(
        task_id: Annotated[str, Field(description="the step_id of the subtask that you work on")],
        summary: Annotated[str, Field(description="what came of it, with all that later steps need to know")],
        success: StrictBool,
    ) -> Stop | Fail:
        if task_id.strip() == own:
            return Stop({"summary": summary, "success": success})
        if task_id not in known():
            return Fail(f"there is no subtask '{task_id}': you work on '{own}'")
        state = states().get(task_id)
        ended = f"is {state.status} already" if state is not None and state.ended else "is not yours to end"
        return Fail(f"the subtask '{task_id}' {ended}: you work on '{own}'")

    return tool(subtask_done, description="End the subtask that you work on, well or not.", last=True)


async def _complete_task(
    task_id: Annotated[str, Field(description="main_task, or the id of the task")],
    summary: Annotated[str, Field(description="the answer to the task, whole: it is all that the user sees")],
    success: StrictBool,
    results: Annotated[str | None, Field(description="figures, files and other results")] = None,
    lessons_learned: str | None = None,
) -> Stop:
    return Stop(
        {"summary": summary, "success": success, "results": results or "", "lessons_learned": lessons_learned or ""}
    )


def complete_task_tool() -> Tool:
    """The tool that ends the whole task."""
    description = "End the whole task: nothing more is done after it."
    return tool(_complete_task, name=COMPLETE_TASK, description=description, last=True)


async def _think(
    current_state: str,
    analysis: str,
    next_actions: list[str],
    confidence: Annotated[float, Field(ge=0, le=1, description="from 0 to 1")],
) -> str:
    return "noted"


def think_tool() -> Tool:
    """The tool to think with, which does nothing."""
    return tool(_think, name=THINK, description="Think before you act: where you are, what it means, what comes next.")


def ended_by(results: tuple[ToolResult, ...], name: str) -> Mapping[str, Any] | None:
    """What the first call of a tool that ends something said, if there is one that was taken."""
    return next((one.stop.payload for one in results if one.call.name == name and one.stop is not None), None)


def completion_in(results: tuple[ToolResult, ...]) -> Completion | None:
    """How the whole task was ended, if it was."""
    payload = ended_by(results, COMPLETE_TASK)
    return None if payload is None else Completion(**payload)
