"""The tool by which an agent speaks to its user while it works: respond_to_user."""

from __future__ import annotations

from typing import Final, Literal

from flowgraph_nodes.tools.context import ToolContext

EVENT: Final = "respond_to_user"
"""The kind of the `Emitted` event; its data has `message` and `message_type`."""


async def respond_to_user(
    message: str,
    message_type: Literal["info", "progress", "result", "question", "warning", "error"] = "info",
    *,
    ctx: ToolContext,
) -> str:
    """Show a message to the user at once, while you go on working. No answer comes back from this.

    Args:
        message: the text, in the user's language.
        message_type: what kind of message it is.
    """
    if ctx.ctx is None:
        return "not shown: nobody is listening here"
    ctx.ctx.emit(EVENT, {"message": message, "message_type": message_type})
    return "shown to the user"
