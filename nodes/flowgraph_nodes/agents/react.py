"""The plain agent: it thinks, acts, looks at what came of it, and so on until it has an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flowgraph.context import Context
from flowgraph_nodes.agents.agent import Agent
from flowgraph_nodes.agents.history import History
from flowgraph_nodes.agents.progress import Progress
from flowgraph_nodes.agents.reasons import Ending
from flowgraph_nodes.agents.turn import Means, take_turn


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReactAgent(Agent):
    """An agent that takes turns until a reply is an answer, with no further call.

    max_turns: model calls at most, default 20; then it stops with the reason `limit`. The rest: see `AgentConfig`.

    >>> agent = ReactAgent(model="openai/gpt-5-mini", tools=[fetch], prompt="Collect facts on {topic}")
    """

    max_turns: int = 20

    async def _work(self, ctx: Context[Any], history: History, means: Means) -> Ending:
        return await take_turns(ctx, means, history, Progress(self._patience(), self._output), self.max_turns)

    def _least(self) -> dict[str, int]:
        return {**super()._least(), "max_turns": 1}


async def take_turns(ctx: Context[Any], means: Means, history: History, progress: Progress, max_turns: int) -> Ending:
    """Take turns until one of them ends it, `max_turns` at most. Raises ModelError."""
    for _ in range(max_turns):
        turn = await take_turn(ctx, means, history)
        ctx.emit("turn", history.turns)
        if (ending := progress.after(turn, history)) is not None:
            return ending
    return Ending("limit", detail=f"max_turns={max_turns} turns were taken without an answer")
