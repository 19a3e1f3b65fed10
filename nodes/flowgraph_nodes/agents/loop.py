"""The loop agent: whole runs of a plain agent, again and again, until the answer is finished."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

from flowgraph.context import Context
from flowgraph_nodes.agents.agent import Agent
from flowgraph_nodes.agents.errors import IterationsExhausted
from flowgraph_nodes.agents.history import History
from flowgraph_nodes.agents.part import Answer, Part
from flowgraph_nodes.agents.progress import Progress
from flowgraph_nodes.agents.react import take_turns
from flowgraph_nodes.agents.reasons import Ending
from flowgraph_nodes.agents.sentinel import Sentinel
from flowgraph_nodes.agents.stop_rules import (
    BySentinel,
    Judged,
    Round,
    StopLike,
    StopRule,
    on_answer,
    rule_of,
)
from flowgraph_nodes.agents.turn import Means
from flowgraph_nodes.flows.loop import OnExhausted
from flowgraph_nodes.flows.repeats import Repeats
from flowgraph_nodes.flows.verdict import RoundFunction, Verdict, best_of
from flowgraph_nodes.messages import AssistantMessage
from flowgraph_nodes.tools import Tool
from flowgraph_nodes.tools.text import to_text


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LoopAgent(Agent):
    """An agent that works on its answer in rounds, each a ReAct loop with a fresh context, until it is finished.

    The first round gets the task, each later one also the answer of the round before and the coaching text. Rounds
    are children `<path>#0`, `<path>#1`, ….

    max_iterations: rounds at most. max_turns: model calls at most in each of them; with more the agent fails.
    stop: when an answer is finished. `Sentinel()` (default): it ends with DONE. A function (sync or async) or an
    expression: it is true of the answer. A `Judge`, or a model: it says so. A `Tool`: the model calls it; what it
    stops the run with (`Stop(payload)`) is the answer or, without a payload, the text of that reply, else the answer
    of the round before. A tool that returns `Stop` ends the loop under every rule.
    coaching: what each later round is told, None: what fits the rule.
    on_exhausted: what happens when no answer is finished: "error" raises LoopExhausted (also an AgentFailed) with the
    last answer and the number of rounds, "last" takes the last answer, "best" that with the highest `score`.
    score: a function or an expression, like `stop`, that gives a number, the higher the better; wanted for "best".
    stall: so many equal answers in a row count as exhausted, too (at least 2; None: never).

    The rest: see `AgentConfig`. A round that fails, fails the agent. A function is asked again in a resumed run.

    >>> writer = LoopAgent(model="openai/gpt-5-mini", prompt="An essay on {topic}", max_iterations=5)
    """

    max_iterations: int = 10
    max_turns: int = 20
    stop: StopLike = field(default_factory=Sentinel)
    coaching: str | None = None
    on_exhausted: OnExhausted = "error"
    score: RoundFunction | None = None
    stall: int | None = 2

    _rule: StopRule = field(init=False)
    _score: Verdict | None = field(init=False, default=None)

    async def _work(self, ctx: Context[Any], history: History, means: Means) -> Ending:
        task, before = history.transcript[-1].content, history.transcript[:-1]
        part = Part(name=self.name, work=self._round, means=means, system=self._system, before=before)
        answers: list[Any] = []
        repeats = Repeats(self.stall)
        asked = _joined(task, self._rule.how)
        for number in range(self.max_iterations):
            answer: Answer = await ctx.call(part, {"task": asked}, round=number)
            history.turns += answer.turns
            judged = await self._judged(ctx, Round(task, answer.output, number, answers), answer)
            answers.append(judged.answer)
            ctx.emit("iteration", {"number": number, "output": judged.answer, "finished": judged.finished})
            if judged.finished:
                return self._ended(ctx, history, answers, "finished", judged.answer)
            if repeats.after(judged.answer):
                return await self._exhausted(ctx, history, answers, stalled=True)
            draft = f"Your answer so far:\n\n{to_text(judged.answer)}"
            coaching = self._rule.coaching if self.coaching is None else self.coaching
            asked = _joined(task, draft, judged.remark, coaching)
        return await self._exhausted(ctx, history, answers, stalled=False)

    async def _round(self, ctx: Context[Any], history: History, means: Means) -> Ending:
        return await take_turns(ctx, means, history, Progress(self._patience(), self._output), self.max_turns)

    async def _judged(self, ctx: Context[Any], round_: Round, answer: Answer) -> Judged:
        """What the rule says; a tool that stopped the round ends the loop under every rule."""
        if answer.reason != "stopped_by_tool":
            return await self._rule.judge(ctx, round_)
        if answer.output == "":  # the tool only said that the answer is finished
            return Judged(True, answer.reply or (round_.answers[-1] if round_.answers else answer.said))
        return Judged(True, answer.output)

    async def _exhausted(self, ctx: Context[Any], history: History, answers: list[Any], *, stalled: bool) -> Ending:
        ended = "stalled" if stalled else "exhausted"
        if self.on_exhausted == "error":
            self._ended(ctx, history, answers, ended, answers[-1])
            messages = history.transcript.messages
            raise IterationsExhausted(self.name, answers[-1], len(answers), stalled=stalled, messages=messages)
        chosen = answers[-1] if self._score is None else await best_of(self._score, answers)
        return self._ended(ctx, history, answers, ended, chosen)

    def _ended(self, ctx: Context[Any], history: History, answers: list[Any], ended: str, answer: Any) -> Ending:
        """The answer becomes part of the conversation, of which the rounds are none."""
        ctx.keep(iterations=len(answers), ended=ended)
        history.add(AssistantMessage(to_text(answer)))
        return Ending("completed", answer, "" if ended == "finished" else f"{ended} after {len(answers)} iterations")

    # -- building

    def problems(self) -> list[str]:
        """Also those of a judge."""
        judge = getattr(self._rule, "said_by", None)
        return super().problems() + ([f"judge: {problem}" for problem in judge.agent.problems()] if judge else [])

    def _controls(self) -> list[Tool]:
        tool = self._rule.tool
        return super()._controls() + ([] if tool is None else [tool])

    def _least(self) -> dict[str, int]:
        return {**super()._least(), "max_iterations": 1, "max_turns": 1} | ({} if self.stall is None else {"stall": 2})

    def _wrong(self) -> Iterator[str]:
        yield from super()._wrong()
        try:
            self._set(_rule=rule_of(self.stop))
        except (TypeError, ValueError) as error:
            yield f"stop: {error}"
        else:
            yield from self._wrong_rule()
        coaching: Any = self.coaching
        if not isinstance(coaching, str | None):
            yield f"coaching={coaching!r} is no text"
        if self.on_exhausted not in get_args(OnExhausted):
            yield f"on_exhausted={self.on_exhausted!r} must be 'error', 'last' or 'best'"
        elif (self.on_exhausted == "best") != (self.score is not None):
            yield "score= and on_exhausted='best' go together: give both or neither"
        if self.score is not None:
            try:
                self._set(_score=on_answer(self.score, "score"))
            except (TypeError, ValueError) as error:
                yield f"score: {error}"

    def _wrong_rule(self) -> Iterator[str]:
        if isinstance(self._rule, BySentinel) and self.output_type is not str:
            yield "stop: a Sentinel reads the end of a text: with output_type give a function, a Judge or a Tool"
        if self._rule.tool is not None and self._rule.tool.name in self._toolbox:
            yield f"stop: there is a tool '{self._rule.tool.name}' already: give one of the two another name"


def _joined(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)
