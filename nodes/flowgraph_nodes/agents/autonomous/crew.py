"""The crew of an agent: the sub-agents that it has made in one run, and what they were given to do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from flowgraph.background import Background
from flowgraph.context import Context
from flowgraph.node import Node
from flowgraph_nodes.agents.autonomous.assignments import Assignments, Task
from flowgraph_nodes.agents.autonomous.crew_tools import (
    ASSIGN,
    CANCEL,
    CREATE,
    AgentArguments,
    CrewRefused,
    TaskArguments,
    arguments_in,
    batch_name,
    crew_tools,
)
from flowgraph_nodes.agents.autonomous.rolls import Assignment, Batch, Profile, Roll, TaskReport
from flowgraph_nodes.agents.autonomous.sub_agents import SubAgents
from flowgraph_nodes.agents.history import History
from flowgraph_nodes.agents.part import Part
from flowgraph_nodes.agents.progress import Patience, Progress
from flowgraph_nodes.agents.reasons import Ending
from flowgraph_nodes.agents.turn import Means, take_turn
from flowgraph_nodes.models import ChatModel
from flowgraph_nodes.tools import Tool, Toolbox, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Yard:
    """What sub-agents are made with, at any depth of one run. models: of `rules`, ready to be called.

    count: ids of all that were made. names: of the tools that the agent itself may use for them.
    """

    rules: SubAgents
    means: Means
    models: dict[str, tuple[ChatModel, ...]]
    patience: Callable[[], Patience]
    names: frozenset[str]
    count: set[str] = field(default_factory=set)


class Crew:
    """The sub-agents of one agent, which work within its node run `ctx`. depth: 1 for those of the agent itself."""

    def __init__(self, yard: Yard, ctx: Context[Any], scope: Background, depth: int = 1) -> None:
        self._yard = yard
        self._ctx = ctx
        self._scope = scope
        self._depth = depth
        self._profiles: dict[str, Profile] = {}
        self._tasks: dict[str, Task] = {}
        self._past: dict[str, TaskReport] = {}
        self._batches: dict[str, Batch] = {}

    @classmethod
    @asynccontextmanager
    async def at_work(cls, yard: Yard, ctx: Context[Any], depth: int = 1) -> AsyncIterator[Crew]:
        """A crew that is at work within a block; when it is left, nobody of it is."""
        async with ctx.background() as scope:
            crew = cls(yard, ctx, scope, depth)
            yield crew
            for task in crew._tasks.values():
                task.cancel()

    def seat(self, ctx: Context[Any]) -> Seat:
        """The place of one conversation at the crew. ctx: of its node run."""
        return Seat(self, ctx)

    @property
    def rules(self) -> SubAgents:
        """What sub-agents are made of."""
        return self._yard.rules

    @property
    def tool_names(self) -> list[str]:
        """Tools that can be chosen for a sub-agent."""
        return [one.name for one in self._choosable] if self.rules.tool_policy == "choice" else []

    @property
    def model_names(self) -> list[str]:
        """Models that can be chosen for a sub-agent."""
        return list(self._yard.models) if self.rules.model_policy == "choice" else []

    @property
    def names(self) -> frozenset[str]:
        """The tools that the user allows for the crew."""
        return self._yard.names

    @property
    def roll(self) -> Roll:
        """Who there is, and what came of what they were given to do."""
        reports = {name: task.report for name, task in self._tasks.items() if not task.open}
        return Roll(
            tuple(self._profiles.values()), tuple((self._past | reports).values()), tuple(self._batches.values())
        )

    def restore(self, roll: Roll) -> None:
        """Take in what a part of the run that is over has left, in a run that was taken up again."""
        for profile in roll.profiles:
            self._profiles.setdefault(profile.id, profile)
            self._yard.count.add(profile.id)
        for report in roll.reports:
            if report.task_id not in self._tasks:
                self._past.setdefault(report.task_id, report)
        for batch in roll.batches:
            self.start(batch)

    # -- making sub-agents

    def enlist(self, place: str, call_id: str, wanted: Sequence[AgentArguments]) -> list[Profile]:
        """The sub-agents that a call in the conversation `place` asks for. Raises CrewRefused."""
        if not wanted:
            raise CrewRefused("name at least one agent")
        made = [self._profile(place, f"{call_id}/{number}", one) for number, one in enumerate(wanted)]
        most = self.rules.max_sub_agents
        if len(self._yard.count | {one.id for one in made}) > most:
            raise CrewRefused(f"there are {len(self._yard.count)} sub-agents, and at most {most} may be made")
        self._yard.count.update(one.id for one in made)
        self._profiles |= {one.id: one for one in made}
        return made

    def _profile(self, place: str, number: str, wanted: AgentArguments) -> Profile:
        models, tools = self.model_names, self.tool_names
        if wanted.model and wanted.model not in models:
            raise CrewRefused(f"there is no model '{wanted.model}' to choose: {', '.join(models) or 'leave it out'}")
        if unknown := [name for name in wanted.tools or () if name not in tools]:
            raise CrewRefused(f"there is no tool '{unknown[0]}' to choose: {', '.join(tools) or 'leave it out'}")
        if not wanted.agent_name.strip():
            raise CrewRefused("an agent has an empty agent_name")
        return Profile(
            f"sub-agent-{self._number(place, number)}",
            wanted.agent_name.strip(),
            wanted.agent_description,
            wanted.system_prompt or f"You are {wanted.agent_name}: {wanted.agent_description}",
            wanted.model or (models[0] if models else ""),
            None if wanted.tools is None else tuple(wanted.tools),
        )

    # -- giving them work

    def assigned(self, place: str, call_id: str, wanted: Sequence[TaskArguments]) -> tuple[Assignment, ...]:
        """The assignments that a call asks for. Raises CrewRefused."""
        if not wanted:
            raise CrewRefused("name at least one assignment")
        if unknown := [one.agent_id for one in wanted if one.agent_id not in self._profiles]:
            known = ", ".join(f"{one.id} ({one.name})" for one in self._profiles.values())
            raise CrewRefused(f"there is no sub-agent '{unknown[0]}'; there are: {known or 'none, create one first'}")
        ids = [one.task_id or f"task-{self._number(place, f'{call_id}/{n}')}" for n, one in enumerate(wanted)]
        if twice := [name for name in ids if ids.count(name) > 1]:
            raise CrewRefused(f"the task_id '{twice[0]}' stands for several tasks")
        return tuple(Assignment(name, one.agent_id, one.task) for name, one in zip(ids, wanted, strict=True))

    def refuse_known(self, assignments: Iterable[Assignment]) -> None:
        """Raise CrewRefused when there is a task of one of these ids already."""
        for one in assignments:
            if one.task_id in self._tasks or one.task_id in self._past:
                raise CrewRefused(f"there is a task '{one.task_id}' already: give another task_id, or none")

    def node(self, assignments: Iterable[Assignment]) -> Assignments:
        """The assignments as a node to be called."""
        return Assignments(tuple(self._task(one) for one in assignments), self._worker)

    def start(self, batch: Batch) -> None:
        """Begin assignments beside the agent's own work, in its own scope, unless they have begun."""
        if batch.name in self._batches:
            return
        self._batches[batch.name] = batch
        node = self.node(batch.assignments)
        self._scope.start(self._ctx.call(node, {"assignments": list(batch.assignments)}, name=batch.name))

    def cancel(self, wanted: Callable[[Task], bool]) -> list[Task]:
        """Stop the tasks that are wanted and open; those that were."""
        stopped = [task for task in self._tasks.values() if task.open and wanted(task)]
        for task in stopped:
            task.cancel()
        return stopped

    def reports(self) -> list[TaskReport]:
        """Where every task stands."""
        return list((self._past | {name: task.report for name, task in self._tasks.items()}).values())

    def profiles(self) -> list[Profile]:
        """Every sub-agent."""
        return list(self._profiles.values())

    def _task(self, assignment: Assignment) -> Task:
        ctx = self._ctx
        task = Task(assignment, self._profiles[assignment.agent_id], lambda: ctx.now)
        self._tasks[assignment.task_id] = task
        return task

    # -- a sub-agent at work

    def _worker(self, profile: Profile) -> Node:
        means = self._means(profile)
        most = self.rules.turns(len(means.toolbox))

        async def work(ctx: Context[Any], history: History, means: Means) -> Ending:
            if self._depth >= self.rules.max_depth:
                return await self._turns(ctx, history, means, most, None)
            async with Crew.at_work(self._yard, ctx, self._depth + 1) as inner:
                seat = inner.seat(ctx)
                box = means.toolbox.copy()
                for tool in seat.tools():
                    box.pin(tool)
                return await self._turns(ctx, history, replace(means, toolbox=box), most, seat)

        return Part(name=profile.name, work=work, means=means, title=profile.name, system=profile.system)

    async def _turns(self, ctx: Context[Any], history: History, means: Means, most: int, seat: Seat | None) -> Ending:
        progress = Progress(self._yard.patience())
        for _ in range(most):
            turn = await take_turn(ctx, means, history)
            ctx.emit("turn", history.turns)
            if seat is not None:
                seat.after(turn.results)
            if (ending := progress.after(turn, history)) is not None:
                return ending
        return Ending("limit", detail=f"max_turns={most} turns were taken without an answer")

    def _means(self, profile: Profile) -> Means:
        yard = self._yard
        models = yard.models.get(profile.model, yard.means.models)
        box = yard.means.toolbox.copy() if self.rules.tool_policy == "inherit" else Toolbox(self._choosable)
        if profile.tools is not None:
            box = box.filtered(lambda tool: tool.name in profile.tools)  # type: ignore[operator]  # not None
        return replace(yard.means, models=models, toolbox=box, tool_choice=None)

    @property
    def _choosable(self) -> list[Tool]:
        own = self.rules.toolbox
        return list(own) if len(own) or self.rules.tool_policy == "fixed" else list(self._yard.means.toolbox)

    def _number(self, place: str, number: str) -> str:
        """Eight hex digits, the same in a resumed run: of the run, the conversation and the call."""
        text = f"{self._ctx.run_id}:{place}:{number}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


class Seat:
    """The place of one conversation at the crew: its tools, and what their calls have led to."""

    def __init__(self, crew: Crew, ctx: Context[Any]) -> None:
        self.crew = crew
        self.place = ctx.path
        self._calls = 0

    @property
    def roll(self) -> Roll:
        """The crew's."""
        return self.crew.roll

    def tools(self) -> list[Tool]:
        """The tools by which the model leads the crew, those that the user allows."""
        return [tool for tool in crew_tools(self.crew, self.place) if tool.name in self.crew.names]

    def after(self, results: Iterable[ToolResult]) -> None:
        """See to it that what the calls of a turn have begun is there: in a resumed run they were not made again."""
        for result in results:
            name = result.call.name
            if name == ASSIGN and (result.failure is None or result.failure.kind != "CutOff"):
                self._calls += 1
            if not result.ok or name not in (CREATE, ASSIGN, CANCEL):
                continue
            self._again(result, arguments_in(result.call), json.loads(result.full or result.text))

    def _again(self, result: ToolResult, given: dict[str, Any], told: Any) -> None:
        """What a call has led to. given: its arguments. told: what it gave."""
        if result.call.name == CREATE:
            self.crew.enlist(self.place, result.call.id, given["agents"])
        elif result.call.name == CANCEL:
            self.crew.cancel(lambda task: task.assignment.task_id in told["cancelled"])
        elif isinstance(told, dict):  # nobody waits for them
            items = self.crew.assigned(self.place, result.call.id, given["assignments"])
            self.crew.start(Batch(batch_name(self.place, self._calls), items))
