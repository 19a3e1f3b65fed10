"""Insisting: a model that must call one of the tools that it is offered, each of which ends the conversation."""

from __future__ import annotations

from typing import Any

from flowgraph.context import Context
from flowgraph_nodes.agents.history import History
from flowgraph_nodes.agents.reasons import Ending
from flowgraph_nodes.agents.turn import Means, take_turn
from flowgraph_nodes.messages import UserMessage


async def insist(ctx: Context[Any], means: Means, history: History, attempts: int) -> Ending:
    """Ask until a tool stops it, `attempts` times at most; what is wrong with a call is told by its result.

    The ending's output is the payload that the tool stopped with, its call the one that did. Raises ModelError.
    """
    names = " or ".join(tool.name for tool in means.toolbox)
    for _ in range(attempts):
        turn = await take_turn(ctx, means, history)
        ctx.emit("turn", history.turns)
        for result in turn.results:
            if result.stop is not None:
                return Ending("stopped_by_tool", result.stop.payload, f"by the tool '{result.call.name}'", result.call)
        if not turn.results:
            history.add(UserMessage(f"Text alone is no answer here: call the tool {names}."))
    return Ending("limit", detail=f"{attempts} replies came without a valid call of {names}")
