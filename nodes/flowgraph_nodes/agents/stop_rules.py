"""Stop rules: when a LoopAgent's answer is finished, and what the model is told of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeAlias

from flowgraph.context import Context
from flowgraph_nodes.agents.judge import Judge
from flowgraph_nodes.agents.sentinel import Sentinel
from flowgraph_nodes.flows.verdict import RoundFunction, Verdict
from flowgraph_nodes.models import ChatModel
from flowgraph_nodes.tools import Fail, GiveUp, NeedsFeedback, Stop, Tool
from flowgraph_nodes.tools.text import to_text

StopLike: TypeAlias = Sentinel | Judge | ChatModel | Tool | RoundFunction
"""What a user gives as a stop rule. A function is asked of the answer, as its only parameter or named `output`."""

REFINE: Final = "Keep refining it. Reply with the whole improved answer, not only with what changed."


@dataclass(frozen=True, slots=True)
class Round:
    """An answer that is judged. answers: of all rounds before it."""

    task: str
    answer: Any
    number: int
    answers: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Judged:
    """What a rule says of a round. answer: without what only told that it is finished. remark: for the next round."""

    finished: bool
    answer: Any
    remark: str = ""


class StopRule(Protocol):
    """When an answer is finished.

    how: tells the model how to finish, "" when it need not know. coaching: goes with each later round. tool: to be
    offered to the model.
    """

    @property
    def how(self) -> str: ...
    @property
    def coaching(self) -> str: ...
    @property
    def tool(self) -> Tool | None: ...
    async def judge(self, ctx: Context[Any], round_: Round) -> Judged: ...


@dataclass(frozen=True, slots=True)
class BySentinel:
    """The answer ends with a word."""

    sentinel: Sentinel
    how = "When your answer is fully complete, end it with the single word DONE on a line of its own."
    coaching = f"{REFINE} When it is fully complete, end it with the single word DONE on a line of its own."
    tool = None

    async def judge(self, ctx: Context[Any], round_: Round) -> Judged:
        """Look at its end."""
        if not self.sentinel.stops(round_.answer):
            return Judged(False, round_.answer)
        left = self.sentinel.taken_off(round_.answer)
        return Judged(True, left or (round_.answers[-1] if round_.answers else round_.answer))


@dataclass(frozen=True, slots=True)
class ByFunction:
    """A function or expression is true of it."""

    verdict: Verdict
    how = ""
    coaching = REFINE
    tool = None

    async def judge(self, ctx: Context[Any], round_: Round) -> Judged:
        """Ask it. Raises ConditionError."""
        history = [*round_.answers, round_.answer]
        return Judged(await self.verdict.holds(round_.answer, round_.number, history), round_.answer)


@dataclass(frozen=True, slots=True)
class ByJudge:
    """A model says so."""

    said_by: Judge
    how = ""
    coaching = REFINE
    tool = None

    async def judge(self, ctx: Context[Any], round_: Round) -> Judged:
        """Ask it, as a child of the agent's node run. Raises AgentFailed, ModelError."""
        inputs = self.said_by.inputs(round_.task, to_text(round_.answer))
        finding = await ctx.call(self.said_by.agent, inputs, name="judge", round=round_.number)
        missing = "" if finding.finished else finding.missing.strip()
        return Judged(finding.finished, round_.answer, f"What a reviewer says is missing: {missing}" if missing else "")


@dataclass(frozen=True, slots=True)
class ByTool:
    """The model calls a tool. (That ends the round, as every tool does that stops it.)"""

    tool: Tool

    @property
    def how(self) -> str:
        """Names the tool."""
        return f"When your answer is fully complete, write it and call the tool {self.tool.name} in the same reply."

    @property
    def coaching(self) -> str:
        """Names the tool, too."""
        return f"{REFINE} {self.how}"

    async def judge(self, ctx: Context[Any], round_: Round) -> Judged:
        """It was not called."""
        return Judged(False, round_.answer)


def rule_of(stop: StopLike) -> StopRule:
    """The rule that is meant. Raises ValueError or TypeError for what is none, AgentConfigError for a model."""
    if isinstance(stop, Sentinel):
        return BySentinel(stop)
    if isinstance(stop, Judge):
        return ByJudge(stop)
    if isinstance(stop, Tool):
        return ByTool(_stopping(stop))
    if isinstance(stop, ChatModel):
        return ByJudge(Judge(model=stop))
    return ByFunction(on_answer(stop, "stop"))


def on_answer(function: RoundFunction, what: str) -> Verdict:
    """A function of an answer, whatever its only parameter is called. Raises ValueError, TypeError."""
    try:
        return Verdict(function, what)
    except ValueError:
        if isinstance(function, str) or len(inspect.signature(function).parameters) != 1:
            raise
        named = Verdict(lambda output: function(output), what)  # noqa: PLW0108 - it is the name that counts
        named.text = getattr(function, "__name__", type(function).__name__)
        return named


def _stopping(tool: Tool) -> Tool:
    """The tool, so that a call of it stops the run, whatever it returns."""
    target: Callable[..., Any] = tool.target

    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return _stop(await target(*args, **kwargs))

    def called(*args: Any, **kwargs: Any) -> Any:
        value = target(*args, **kwargs)
        return _later(value) if inspect.isawaitable(value) else _stop(value)

    is_async = inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(type(target).__call__)
    return replace(tool, target=awaited if is_async else called, last=True)


async def _later(value: Any) -> Any:
    return _stop(await value)


def _stop(value: Any) -> Any:
    """What a tool returned, as a stop: only a payload that it stops with on purpose is an answer."""
    if isinstance(value, Fail | GiveUp | NeedsFeedback):
        return value
    return value if isinstance(value, Stop) and value.payload is not None else Stop("")
