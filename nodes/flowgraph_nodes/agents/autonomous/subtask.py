"""Subtasks: the nodes of a plan's run. Each is a conversation of its own, which ends with `subtask_done`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from flowgraph.context import Context
from flowgraph.errors import Skip
from flowgraph.node import Kind, Parameter
from flowgraph_nodes.agents.autonomous.board import Board
from flowgraph_nodes.agents.autonomous.crew import Crew, Seat
from flowgraph_nodes.agents.autonomous.findings import Finding, Stopped
from flowgraph_nodes.agents.autonomous.pace import Thinking, near
from flowgraph_nodes.agents.autonomous.plan import PlanRefused, State, Step
from flowgraph_nodes.agents.autonomous.settings import Equipment
from flowgraph_nodes.agents.autonomous.tools import (
    COMPLETE_TASK,
    CREATE_PLAN,
    SUBTASK_DONE,
    THINK,
    complete_task_tool,
    completion_in,
    create_plan_tool,
    ended_by,
    plan_in,
    subtask_done_tool,
    think_tool,
)
from flowgraph_nodes.agents.autonomous.words import NO_END, WORKING, plan_text, step_text
from flowgraph_nodes.agents.conclusion import concluded
from flowgraph_nodes.agents.errors import AgentFailed
from flowgraph_nodes.agents.history import History
from flowgraph_nodes.agents.progress import Progress
from flowgraph_nodes.agents.reasons import Ending
from flowgraph_nodes.agents.turn import Means, Turn, take_turn
from flowgraph_nodes.messages import UserMessage
from flowgraph_nodes.tools import Tool
from flowgraph_nodes.tools.dynamic import DynamicToolbox

_REVISE = (
    "Revise the plan. Steps that have ended stay as they are; of the others those that you name are added or changed, "
    "and those that you do not name are dropped."
)


@dataclass(frozen=True, slots=True, repr=False)
class Subtask:
    """A step of the plan, to be carried out.

    number: of all subtasks of the run, from 1. before: ids of the steps that come before it where one runs at a time.

    Raises AgentFailed when it has failed, Skip when the task or this plan has ended before it begins.
    """

    equipment: Equipment
    board: Board
    crew: Crew | None
    step: Step
    number: int
    before: frozenset[str]

    kind: ClassVar[str] = "agent"
    output_type: ClassVar[Any] = Finding

    @property
    def name(self) -> str:
        """The step's, as the run has it."""
        return self.step.node

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """One for each step that it needs."""
        return {name: Parameter(name, Finding) for name in needs(self.step)}

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Finding:
        """Carry it out."""
        if not ctx.outcomes:  # else it has begun before, in a run that was taken up again
            self.board.admit(self.number, self.equipment.pace.subtask_iterations)
        history = History(self.equipment.system, self.equipment.before, self._order())
        work = _Work(self, ctx, history)
        finding: Finding = (await concluded(ctx, self.step.id, history, work.ending)).output
        return finding

    def _order(self) -> str:
        """What the model is asked.

        It must be the same in a resumed run: where subtasks run side by side it tells only of the steps that this one
        needs, since how far the others are is a matter of time; where they do not, of those before it.
        """
        given, plan = self.equipment, self.board.plan
        states = self.board.states(self.before if given.pace.parallel == 1 else plan.above(self.step))
        text = WORKING.render(
            {
                "task": given.task,
                "plan": plan_text(plan, {**states, self.step.id: State()}),
                "step": step_text(self.step),
                "id": self.step.id,
            }
        )
        note = near(self.number, given.pace.subtask_iterations, "subtasks")
        return f"{text}\n\n{note}" if note else text


class _Work:
    """The conversation of one subtask."""

    def __init__(self, subtask: Subtask, ctx: Context[Any], history: History) -> None:
        self._subtask = subtask
        self._given = subtask.equipment
        self._board = subtask.board
        self._ctx = ctx
        self._history = history
        self._seat: Seat | None = None if subtask.crew is None else subtask.crew.seat(ctx)
        self._revise = create_plan_tool(self._board.look, _REVISE)
        self._progress = Progress(self._given.patience(), wanted=NO_END)
        self._thinking = Thinking(self._given.pace.thinks)
        self._revised = False

    async def ending(self) -> Ending:
        """Take turns until the subtask has ended. Raises Skip when the whole task was ended elsewhere."""
        ctx, means, most = self._ctx, self._means(), self._given.pace.subtask_loops
        for number in range(1, most + 1):
            recorded = len(ctx.outcomes)
            turn = await take_turn(ctx, means, self._history)
            ctx.emit("turn", self._history.turns)
            if (ending := self._after(turn, live=len(ctx.outcomes) > recorded)) is not None:
                return self._told(ending)
            for note in filter(None, (self._thinking.after(turn.results), near(number, most, "model calls"))):
                self._history.add(UserMessage(note))
        return self._told(
            Ending("limit", detail=f"max_subtask_loops={most} model calls were made without subtask_done")
        )

    def _told(self, ending: Ending) -> Ending:
        """The ending, of which whoever watches is told; when it has failed with what it has done to the plan."""
        if not ending.ok and (self._revised or (self._seat is not None and self._seat.roll.profiles)):
            ending = replace(ending, output=self._complete(Finding(ending.detail, "failed")))
        found: Finding | None = ending.output if ending.ok else None
        success = found is not None and found.status == "completed"
        summary = ending.detail if found is None else found.summary
        self._ctx.emit("subtask", {"step_id": self._subtask.step.id, "success": success, "summary": summary})
        return ending

    def _means(self) -> Means:
        step, board = self._subtask.step, self._board
        known: dict[str, Tool] = {
            CREATE_PLAN: self._revise,
            SUBTASK_DONE: subtask_done_tool(step.id, board.states, lambda: frozenset(s.id for s in board.latest.steps)),
            COMPLETE_TASK: complete_task_tool(),
            THINK: think_tool(),
        }
        tools = [tool for name, tool in known.items() if name in self._given.names]
        if self._seat is not None:
            tools += self._seat.tools()
        means = self._given.with_tools(tools, work=True)
        if isinstance(means.toolbox, DynamicToolbox):
            means.toolbox.preload("\n".join([self._given.task, *(one.description for one in board.plan.steps)]))
        return means

    def _after(self, turn: Turn, live: bool) -> Ending | None:
        """What the turn means for the subtask; None when it goes on.

        live: it is no turn that was taken before, in a run that was taken up again. What others have done since does
        not end the subtask at a turn after which it had gone on.
        """
        if self._seat is not None:
            self._seat.after(turn.results)
        self._revise_by(turn)
        done = ended_by(turn.results, SUBTASK_DONE)
        if (completion := completion_in(turn.results)) is not None:
            self._board.ended = True
            finished = done is not None and done["success"]
            summary = done["summary"] if done is not None else completion.summary
            return self._found(Finding(summary, "completed" if finished else "open", completion=completion))
        if done is not None:
            if done["success"]:
                return self._found(Finding(done["summary"]))
            return Ending("agent_failed", detail=done["summary"])
        if live and self._board.over:
            raise Skip("the whole task was ended meanwhile")
        if live and self._board.latest.step(self._subtask.step.id) is None:
            return self._found(Finding("a revised plan is without it", "dropped"))
        return self._judged(turn)

    def _judged(self, turn: Turn) -> Ending | None:
        ending = self._progress.after(turn, self._history)
        if ending is None or ending.reason != "stopped_by_tool":
            return ending
        assert ending.call is not None, "a tool has stopped it"
        self._board.ended = True
        return self._found(Finding(ending.output, "open", stopped=Stopped(ending.call, ending.output)))

    def _revise_by(self, turn: Turn) -> None:
        for result in turn.results:
            if not result.ok or result.call.name != CREATE_PLAN:
                continue
            try:
                self._board.revise(*plan_in(self._revise, result.call))
            except PlanRefused as error:  # another subtask has revised it since
                self._history.add(UserMessage(f"Your revision of the plan does not hold any more: {error}"))
            else:
                self._revised = True

    def _found(self, finding: Finding) -> Ending:
        return Ending("completed", self._complete(finding))

    def _complete(self, finding: Finding) -> Finding:
        """The finding, with what the subtask has done to the plan and the crew."""
        plan = self._board.latest if self._revised else None
        return replace(finding, plan=plan, roll=finding.roll if self._seat is None else self._seat.roll)


@dataclass(frozen=True, slots=True, repr=False)
class Ended:
    """A step that has ended in an earlier run of the plan, as it stands in this one."""

    step: Step
    state: State

    kind: ClassVar[str] = "agent"
    output_type: ClassVar[Any] = Finding

    @property
    def name(self) -> str:
        """The step's, as the run has it."""
        return self.step.node

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """One for each step that it needed, whatever became of that."""
        return {name: Parameter(name, Finding, Kind.OUTCOME) for name in needs(self.step)}

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Finding:
        """What came of it before. Raises AgentFailed when it has failed."""
        if self.state.status == "failed":
            raise AgentFailed(self.step.id, "agent_failed", self.state.text)
        return Finding(self.state.text)


def needs(step: Step) -> dict[str, str]:
    """Parameter → id of the step that it stands for."""
    return {f"needs_{number}": name for number, name in enumerate(step.dependencies, 1)}
