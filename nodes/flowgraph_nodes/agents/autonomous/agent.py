"""The autonomous agent: it makes a plan, carries it out subtask by subtask, and sums up."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from flowgraph.context import Context
from flowgraph_nodes.agents.agent import Agent
from flowgraph_nodes.agents.autonomous.course import Course
from flowgraph_nodes.agents.autonomous.crew import Crew, Yard
from flowgraph_nodes.agents.autonomous.crew_tools import ASSIGN, CANCEL, CHECK, CREATE
from flowgraph_nodes.agents.autonomous.results import Result, in_form, result_type
from flowgraph_nodes.agents.autonomous.settings import Equipment, Pace
from flowgraph_nodes.agents.autonomous.sub_agents import SubAgents
from flowgraph_nodes.agents.autonomous.tools import COMPLETE_TASK, CREATE_PLAN, SUBTASK_DONE, THINK
from flowgraph_nodes.agents.handoffs import HANDOFF_TOOL
from flowgraph_nodes.agents.history import History
from flowgraph_nodes.agents.reasons import Ending
from flowgraph_nodes.agents.turn import Means
from flowgraph_nodes.errors import AgentError, ToolDefinitionError
from flowgraph_nodes.messages import SystemMessage
from flowgraph_nodes.models import ChatModel
from flowgraph_nodes.tools import Tool

if TYPE_CHECKING:
    from flowgraph_nodes.tools.builtin import Workspace

STEERING: Final = (CREATE_PLAN, SUBTASK_DONE, COMPLETE_TASK, THINK)
CREW: Final = (CREATE, ASSIGN, CHECK, CANCEL)
READING: Final = ("read_file", "list_directory", "grep", "glob")
"""Built-in tools that change nothing, and may be used while planning."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AutonomousAgent(Agent):
    """An agent that breaks its task down into subtasks that need each other, carries them out, and sums up.

    It plans (child `<path>/planning`), runs the plan as a graph whose nodes are the subtasks (`<path>/plan#0`, each
    revision the next round), and ends with one call for the answer (`<path>/summary`). A subtask is a conversation of
    its own, with the task, the plan and what came of the subtasks before it.

    max_planning_attempts: model calls at most for the plan; then PlanningFailed is raised.
    max_subtask_loops: model calls at most in a subtask; then it has failed. max_subtask_iterations: subtasks at most,
    in all revisions of the plan.
    parallel_subtasks: how many subtasks that do not need each other run at a time; each then sees only what came of
    those it needs. With 1 they run in the order of the plan.
    use_priority: of the subtasks that can run, the most urgent begins.
    think_tool: offer `think`. max_consecutive_thinks: after so many in a row the model is told to act.
    builtin_tools: "all" (run_bash has to be named) or a list of names; create_plan and subtask_done must be among them.
    workspace: the folder, or Workspace, of the file tools; None: one of the agent's own in the default workspace.
    sub_agents: what the agents are made of that it makes for itself, see `SubAgents`.
    result: the form of the output, see `Result`; with output_type "final".

    The rest: see `AgentConfig`. The run fails when every subtask has failed (AgentFailed, with what there is as
    `partial`).

    >>> agent = AutonomousAgent(model="openai/gpt-5", tools=[search], parallel_subtasks=4)
    """

    max_planning_attempts: int = 5
    max_subtask_loops: int = 20
    max_subtask_iterations: int = 100
    parallel_subtasks: int = 1
    use_priority: bool = False
    think_tool: bool = False
    max_consecutive_thinks: int = 2
    builtin_tools: Literal["all"] | Iterable[str] = "all"
    workspace: Workspace | str | os.PathLike[str] | None = None
    sub_agents: SubAgents = field(default_factory=SubAgents)
    result: Result = "final"

    _names: tuple[str, ...] = field(init=False, default=())
    _crew_models: dict[str, tuple[ChatModel, ...]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.result != "final":
            self._set(output_type=result_type(self.result))

    def tool_names(self) -> list[str]:
        """The names of the built-in tools that it has."""
        return list(self._names)

    async def _work(self, ctx: Context[Any], history: History, means: Means) -> Ending:
        equipment = self._equipment(ctx, history, means)
        course = Course(ctx, history, equipment, self._output)
        if not equipment.names & {*CREW}:
            ending = await course.run(None)
        else:
            yard = Yard(
                rules=self.sub_agents,
                means=equipment.means,
                models=self._crew_models,
                patience=self._patience,
                names=equipment.names,
            )
            async with Crew.at_work(yard, ctx) as crew:
                ending = await course.run(crew)
        if not ending.ok or self.result == "final":
            return ending
        return replace(ending, output=in_form(self.result, ending.output, history.transcript))

    def _equipment(self, ctx: Context[Any], history: History, means: Means) -> Equipment:
        builtin = self._builtin(f"{ctx.run_id}:{ctx.path}")
        for tool in builtin:
            means.toolbox.pin(tool)
        handoff = means.toolbox.get(HANDOFF_TOOL)
        reading = [tool for tool in builtin if tool.name in READING]
        first, messages = history.transcript[0], history.transcript.messages
        return Equipment(
            name=self.name,
            task=messages[-1].content,
            system=first.content if isinstance(first, SystemMessage) else "",
            before=messages[:-1],
            means=means,
            reading=tuple(reading if handoff is None else [*reading, handoff]),
            names=frozenset(self._names),
            pace=Pace(
                planning_attempts=self.max_planning_attempts,
                subtask_loops=self.max_subtask_loops,
                subtask_iterations=self.max_subtask_iterations,
                parallel=self.parallel_subtasks,
                by_priority=self.use_priority,
                thinks=self.max_consecutive_thinks,
            ),
            patience=self._patience,
        )

    def _builtin(self, identity: str) -> list[Tool]:
        """The built-in tools that work on files and such. identity: of the run."""
        from flowgraph_nodes.tools.builtin import Workspace, builtin_tools  # heavy, and only this agent needs them

        place = self.workspace
        if place is None:
            place = Workspace().of_agent(self.name, identity)
        return builtin_tools(place, [name for name in self._names if name not in (*STEERING, *CREW)])

    def _controls(self) -> list[Tool]:
        """Without the tool that takes a typed answer: that is asked for at the end."""
        return [] if self._handoffs is None else [self._handoffs.tool]

    # -- building

    def _least(self) -> dict[str, int]:
        names = ("max_planning_attempts", "max_subtask_loops", "max_subtask_iterations", "parallel_subtasks")
        return {**super()._least(), **dict.fromkeys((*names, "max_consecutive_thinks"), 1)}

    def _wrong(self) -> Iterator[str]:
        yield from super()._wrong()
        yield from self._wrong_builtin()
        if self.result not in get_args(Result):
            yield f"result={self.result!r} must be one of {', '.join(get_args(Result))}"
        elif self.result != "final" and self.output_type is not str:
            yield f"result='{self.result}' and output_type= exclude each other: give one of them"
        sub_agents: object = self.sub_agents  # whatever was given
        if not isinstance(sub_agents, SubAgents):
            yield f"sub_agents= is of type {type(sub_agents).__name__}, not SubAgents"
            return
        try:
            models = {name: self._in_mode(model) for name, model in sub_agents.named_models.items()}
            self._set(_crew_models=models)
        except (AgentError, ValueError) as error:
            yield f"sub_agents: {error}"

    def _wrong_builtin(self) -> Iterator[str]:
        from flowgraph_nodes.tools.builtin import builtin_tools

        everything = self.builtin_tools == "all"
        given = list(dict.fromkeys(("all",) if everything else self.builtin_tools))
        asked = [name for name in given if name not in (*STEERING, *CREW)]
        try:
            tools = [tool.name for tool in builtin_tools(None, asked)]
        except ToolDefinitionError as error:
            yield f"builtin_tools: {error}"
            return
        steering = [*STEERING, *CREW] if "all" in given else [name for name in given if name not in asked]
        if THINK in steering and not self.think_tool:
            if "all" not in given:
                yield "builtin_tools: 'think' wants think_tool=True"
            steering.remove(THINK)
        for name in (CREATE_PLAN, SUBTASK_DONE):
            if name not in steering:
                yield f"builtin_tools: '{name}' is missing, without which nothing can be carried out"
        self._set(_names=(*steering, *tools))
        for name in self._names:
            if name in self._toolbox:
                yield f"tools: '{name}' is a built-in tool: rename yours, or leave it out of builtin_tools="
