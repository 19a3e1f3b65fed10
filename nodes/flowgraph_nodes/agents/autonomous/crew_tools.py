"""The tools by which a model makes sub-agents, gives them work, looks how far they are, and stops them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Final, Protocol

from pydantic import BaseModel, Field

from flowgraph.node import Node
from flowgraph_nodes.agents.autonomous.assignments import Task
from flowgraph_nodes.agents.autonomous.rolls import Assignment, Batch, Profile, TaskReport
from flowgraph_nodes.errors import ToolError
from flowgraph_nodes.messages import ToolCall
from flowgraph_nodes.tools import Fail, Tool, ToolContext, tool
from flowgraph_nodes.tools.arguments import parsed

CREATE: Final = "create_sub_agent"
ASSIGN: Final = "assign_task"
CHECK: Final = "check_sub_agent_status"
CANCEL: Final = "cancel_sub_agent_tasks"


class CrewRefused(ToolError):
    """What a model wants of its crew cannot be; the message says why, for the model to read."""


class AgentArguments(BaseModel):
    """A sub-agent, as a model asks for it."""

    agent_name: str = Field(description="what it is called, in a word or two")
    agent_description: str = Field(description="what it is for")
    system_prompt: str | None = Field(default=None, description="its instructions; by default made of the description")
    model: str | None = Field(default=None, description="only where you were told of models to choose from")
    tools: list[str] | None = Field(default=None, description="only where you may choose: names of the tools it gets")


class TaskArguments(BaseModel):
    """A task for a sub-agent, as a model writes it."""

    agent_id: str = Field(description="the id that create_sub_agent gave")
    task: str = Field(description="the whole task: the sub-agent sees nothing else")
    task_id: str | None = Field(default=None, description="to ask for it later; made up if you give none")


class Leads(Protocol):
    """A crew, as far as its tools need it."""

    @property
    def tool_names(self) -> list[str]: ...
    @property
    def model_names(self) -> list[str]: ...
    def enlist(self, place: str, call_id: str, wanted: Sequence[AgentArguments]) -> list[Profile]: ...
    def assigned(self, place: str, call_id: str, wanted: Sequence[TaskArguments]) -> tuple[Assignment, ...]: ...
    def refuse_known(self, assignments: Iterable[Assignment]) -> None: ...
    def node(self, assignments: Iterable[Assignment]) -> Node: ...
    def start(self, batch: Batch) -> None: ...
    def cancel(self, wanted: Callable[[Task], bool]) -> list[Task]: ...
    def reports(self) -> list[TaskReport]: ...
    def profiles(self) -> list[Profile]: ...


def crew_tools(crew: Leads, place: str) -> list[Tool]:
    """The tools of the conversation `place`, the path of its node run."""
    return [_create(crew, place), _assign(crew, place), _check(crew), _cancel(crew)]


def batch_name(place: str, number: int) -> str:
    """The name of a node run of background work: of the conversation that it comes from, and the call's number."""
    return f"assign-{place.rpartition('/')[2]}-{number}"


def arguments_in(call: ToolCall) -> dict[str, Any]:
    """What a call of `create_sub_agent` or `assign_task` that was taken asks for."""
    given = parsed(call.arguments)
    make: Callable[[Any], Any]
    for name, make in (("agents", AgentArguments.model_validate), ("assignments", TaskArguments.model_validate)):
        if name in given:
            given[name] = [make(one) for one in given[name]]
    return given


def _create(crew: Leads, place: str) -> Tool:
    async def create_sub_agent(agents: list[AgentArguments], *, context: ToolContext) -> Any:
        try:
            made = crew.enlist(place, context.call.id, agents)
        except CrewRefused as error:
            return Fail(str(error))
        return [{"agent_id": one.id, "agent_name": one.name} for one in made]

    choices = {"Models": crew.model_names, "Tools": crew.tool_names}
    hints = [f" {word} to choose from: {', '.join(names)}." for word, names in choices.items() if names]
    text = f"Make agents of your own, each for a kind of work that can be done beside yours.{''.join(hints)}"
    return tool(create_sub_agent, name=CREATE, description=text)


def _assign(crew: Leads, place: str) -> Tool:
    async def assign_task(
        assignments: list[TaskArguments],
        wait_for_completion: Annotated[
            bool, Field(description="false: go on meanwhile, and ask for the results later")
        ] = True,
        *,
        context: ToolContext,
    ) -> Any:
        assert context.ctx is not None, "an agent's run is around it"
        number = number_of(context.ctx.path)
        try:
            items = crew.assigned(place, context.call.id, assignments)
            crew.refuse_known(items)
        except CrewRefused as error:
            return Fail(str(error))
        if not wait_for_completion:
            crew.start(Batch(batch_name(place, number), items))
            return {"started": [one.task_id for one in items]}
        node = crew.node(items)
        reports = await context.ctx.call(node, {"assignments": list(items)}, name=f"assign-{number}")
        return [_row(report) for report in reports]

    text = "Give tasks to your sub-agents. They work on them side by side; the results come in the order of the tasks."
    return tool(assign_task, name=ASSIGN, description=text)


def _check(crew: Leads) -> Tool:
    async def check_sub_agent_status(agent_ids: list[str] | None = None) -> Any:
        known = {one.id: one for one in crew.profiles()}
        if unknown := [name for name in agent_ids or () if name not in known]:
            return Fail(f"there is no sub-agent '{unknown[0]}'; there are: {', '.join(known) or 'none'}")
        reports = crew.reports()
        return [
            {
                "agent_id": one.id,
                "agent_name": one.name,
                "tasks": [_row(report) for report in reports if report.agent_id == one.id],
            }
            for one in known.values()
            if agent_ids is None or one.id in agent_ids
        ]

    text = "How far your sub-agents are: of each task the status, attempts, duration in seconds, and the result."
    return tool(check_sub_agent_status, name=CHECK, description=text)


def _cancel(crew: Leads) -> Tool:
    async def cancel_sub_agent_tasks(agent_ids: list[str] | None = None, task_ids: list[str] | None = None) -> Any:
        stopped = crew.cancel(lambda task: _is_meant(task, agent_ids, task_ids))
        return {"cancelled": [task.assignment.task_id for task in stopped]}

    text = "Stop tasks of your sub-agents: those of these agents, these tasks, or all if you name none."
    return tool(cancel_sub_agent_tasks, name=CANCEL, description=text)


def _is_meant(task: Task, agents: Sequence[str] | None, tasks: Sequence[str] | None) -> bool:
    if agents is None and tasks is None:
        return True
    return task.assignment.agent_id in (agents or ()) or task.assignment.task_id in (tasks or ())


def number_of(path: str) -> int:
    """Which call of its tool a node run is: `assign_task~2` is the second."""
    found = re.search(r"~(\d+)$", path)
    return int(found[1]) if found else 1


def _row(report: TaskReport) -> dict[str, Any]:
    row = {name: value for name, value in asdict(report).items() if name not in ("text", "seconds")}
    return {**row, "duration": report.seconds, "result" if report.status == "completed" else "error": report.text}
