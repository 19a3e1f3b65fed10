"""The end of a conversation with a model: what the node run keeps of it, and whether it is a success."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from flowgraph.context import Context
from flowgraph.errors import LimitExceeded
from flowgraph_nodes.agents.errors import AgentFailed
from flowgraph_nodes.agents.history import History
from flowgraph_nodes.agents.reasons import Ending


async def concluded(ctx: Context[Any], name: str, history: History, work: Callable[[], Awaitable[Ending]]) -> Ending:
    """Do the work of an agent, or of a part of one, and keep what was said, however it ends.

    Raises AgentFailed, in the name given, when it stopped without success, and whatever the work raises.
    """
    try:
        ending = await work()
    except BaseException as error:
        ctx.keep(**_details(history, _ending_of(error)))
        raise
    ctx.keep(**_details(history, ending))
    if ending.ok:
        return ending
    partial = history.said if ending.output is None else ending.output
    messages = history.transcript.messages
    raise AgentFailed(name, ending.reason, ending.detail, partial=partial, messages=messages)


def _ending_of(error: BaseException) -> Ending:
    if isinstance(error, AgentFailed):  # of a part: it is the whole's reason, too
        return Ending(error.reason, detail=error.detail)
    if isinstance(error, LimitExceeded):
        return Ending("limit", detail=str(error))
    return Ending("error" if isinstance(error, Exception) else "cancelled")


def _details(history: History, ending: Ending) -> dict[str, Any]:
    """What the node run keeps: plain data, so that any store can."""
    details: dict[str, Any] = {
        "messages": history.transcript.to_wire(),
        "new": len(history) - history.start,
        "turns": history.turns,
        "stop_reason": ending.reason,
    }
    if ending.detail:
        details["stop_detail"] = ending.detail
    if ending.call is not None:
        details["stopped_by"] = {"name": ending.call.name, "arguments": ending.call.arguments}
    return details
