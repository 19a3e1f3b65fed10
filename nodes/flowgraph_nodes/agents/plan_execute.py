"""The plan-and-execute agent: a plan, its steps one by one, and a new look at the plan after each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from flowgraph.context import Context
from flowgraph_nodes.agents.agent import Agent
from flowgraph_nodes.agents.errors import AgentFailed
from flowgraph_nodes.agents.history import History
from flowgraph_nodes.agents.insisting import insist
from flowgraph_nodes.agents.output import FINAL_TOOL
from flowgraph_nodes.agents.part import Answer, Part
from flowgraph_nodes.agents.plan import PLAN, PLANNER, REPLANNER, Plan, Step, answer_tool, plan_tool
from flowgraph_nodes.agents.progress import Progress
from flowgraph_nodes.agents.react import take_turns
from flowgraph_nodes.agents.reasons import Ending
from flowgraph_nodes.agents.turn import Means
from flowgraph_nodes.errors import AgentError
from flowgraph_nodes.messages import AssistantMessage
from flowgraph_nodes.models import ChatModel, ForcedTool, ModelLike
from flowgraph_nodes.tools import Tool, Toolbox
from flowgraph_nodes.tools.text import to_text


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PlanExecuteAgent(Agent):
    """An agent that makes a plan, does it step by step, and looks at it anew after each step.

    The planner calls the tool `plan` with steps in order (child `<path>/plan`). Each step is a ReAct loop with the
    agent's tools and a fresh context, which sees the task, the plan and the results so far (`<path>/step#0`, …). After
    it the re-planner replaces the steps that are left, or answers (`<path>/replan#0`, …).

    planner, executor, replanner: the models of these roles. Default: `model`; for the re-planner that of the planner.
    max_plan_cycles: steps at most, with the look after each. max_turns: model calls at most in each step; a step that
    needs more, or gets stuck, counts as failed, and the re-planner decides what then. A plan or answer that does not
    fit is told to the model, `output_retries` times.

    The rest: see `AgentConfig`.

    >>> agent = PlanExecuteAgent(model="openai/gpt-5-mini", planner="openai/gpt-5", tools=[search, calculate])
    """

    planner: ModelLike | None = None
    executor: ModelLike | None = None
    replanner: ModelLike | None = None
    max_plan_cycles: int = 10
    max_turns: int = 10

    _planners: tuple[ChatModel, ...] = field(init=False)
    _executors: tuple[ChatModel, ...] = field(init=False)
    _replanners: tuple[ChatModel, ...] = field(init=False)

    async def _work(self, ctx: Context[Any], history: History, means: Means) -> Ending:
        plan = Plan(history.transcript[-1].content)
        work = _Working(ctx, history, means, history.transcript[:-1])
        plan.left = await self._planned(work, plan)
        for cycle in range(self.max_plan_cycles):
            ctx.keep(plan=plan.details)
            await self._do_step(work, plan, cycle)
            ctx.keep(plan=plan.details)
            tool, given = await self._looked_at(work, plan, cycle)
            if tool != PLAN:
                answer = given if self._output is None else self._output.read(given)
                history.add(AssistantMessage(to_text(answer)))
                return Ending("completed", answer)
            plan.left = given
        ctx.keep(plan=plan.details)
        detail = f"max_plan_cycles={self.max_plan_cycles} steps were done without an answer"
        return Ending("limit", plan.last, detail)

    async def _planned(self, work: _Working, plan: Plan) -> list[str]:
        """The steps of the planner."""
        tools = Toolbox([plan_tool("Make the plan: the steps to do, in order.")])
        part = self._part(work, "plan", PLANNER, self._planners, tools)
        offered = "\n".join(f"- {spec.name}: {spec.description}" for spec in work.means.toolbox.specs())
        known = f"\n\nWho does the steps has these tools:\n{offered}" if offered else ""
        answer: Answer = await work.ctx.call(part, {"task": f"The task:\n\n{plan.task}{known}"})
        work.history.turns += answer.turns
        steps: list[str] = answer.output[1]
        return steps

    async def _do_step(self, work: _Working, plan: Plan, cycle: int) -> None:
        """The next step. Raises what is no failure of the step alone, such as ModelError."""
        part = Part(
            name="step",
            title=f"{cycle + 1}. {plan.left[0]}",
            work=self._executed,
            means=replace(work.means, models=self._executors),
            system=self._system,
            before=work.before,
        )
        outcome = await work.ctx.call(part, {"task": plan.order()}, round=cycle, name="step", outcome=True)
        text = plan.left.pop(0)
        if isinstance(outcome.error, AgentFailed):
            plan.done.append(Step(text, _failure(outcome.error), ok=False))
            return
        answer: Answer = outcome.unwrap()
        work.history.turns += answer.turns
        plan.done.append(Step(text, to_text(answer.output), ok=True))

    async def _looked_at(self, work: _Working, plan: Plan, cycle: int) -> tuple[str, Any]:
        """The tool that the re-planner called, and what it gave it."""
        answering = answer_tool(self._output)
        tools = Toolbox([plan_tool("Replace the steps that are left by these, in order."), answering])
        system = REPLANNER.format(plan=PLAN, answer=answering.name)
        part = self._part(work, "replan", system, self._replanners, tools)
        report = plan.report(self.max_plan_cycles - cycle - 1)
        answer: Answer = await work.ctx.call(part, {"task": report}, round=cycle, name="replan")
        work.history.turns += answer.turns
        tool, given = answer.output
        return tool, given

    def _part(self, work: _Working, name: str, system: str, models: tuple[ChatModel, ...], tools: Toolbox) -> Part:
        """A part in which a tool must be called."""
        names = [tool.name for tool in tools]
        means = replace(
            work.means,
            models=models,
            toolbox=tools,
            tool_choice=ForcedTool(names[0]) if len(names) == 1 else "required",
            controls=frozenset(names),
        )
        whole = f"{self._system}\n\n{system}" if self._system else system
        return Part(name=name, work=self._insisted, means=means, system=whole, before=work.before)

    async def _insisted(self, ctx: Context[Any], history: History, means: Means) -> Ending:
        ending = await insist(ctx, means, history, 1 + max(self.output_retries, self.max_nudges))
        return replace(ending, output=[ending.call.name, ending.output]) if ending.call else ending

    async def _executed(self, ctx: Context[Any], history: History, means: Means) -> Ending:
        return await take_turns(ctx, means, history, Progress(self._patience()), self.max_turns)

    # -- building

    def _means(self) -> Means:
        """Those of a step, whose answer is a text."""
        return replace(super()._means(), tool_choice=None)

    def _controls(self) -> list[Tool]:
        return [tool for tool in super()._controls() if tool.name != FINAL_TOOL]

    def problems(self) -> list[str]:
        """Also those of the models of each role."""
        found = dict.fromkeys(super().problems())
        for model in (*self._planners, *self._executors, *self._replanners):
            try:
                model.check()
            except AgentError as error:
                found[str(error)] = None
        return list(found)

    def _least(self) -> dict[str, int]:
        return {**super()._least(), "max_plan_cycles": 1, "max_turns": 1}

    def _wrong(self) -> Iterator[str]:
        yield from super()._wrong()
        for role in ("planner", "executor", "replanner"):
            given = getattr(self, role)
            if given is None:
                given = self.planner if role == "replanner" and self.planner is not None else self.model
            try:
                self._set(**{f"_{role}s": self._in_mode(given)})
            except (AgentError, ValueError) as error:
                yield f"{role}: {error}"


@dataclass(frozen=True, slots=True)
class _Working:
    """What one run of the agent works with. before: the conversation that it continues."""

    ctx: Context[Any]
    history: History
    means: Means
    before: tuple[Any, ...]


def _failure(error: AgentFailed) -> str:
    """Why a step failed, for who plans anew."""
    said = f"\nIts last words were: {to_text(error.partial)}" if error.partial else ""
    return f"It stopped ({error.reason}): {error.detail}{said}"
