"""What a tool may know about the call it serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowgraph_nodes.messages import ToolCall

if TYPE_CHECKING:
    from flowgraph.context import Context
    from flowgraph_nodes.tools.result import ToolResult


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Given to the parameter of a tool that is annotated with it; the model does not see that parameter.

    call: the call as the model wrote it. ctx: the context of the node run the call belongs to, None when a
    toolbox is used alone. deps: whatever the agent's owner hands to its tools. others: for a `last` tool, the results
    of the other calls of the same reply.
    """

    call: ToolCall
    ctx: Context[Any] | None = None
    deps: Any = None
    others: tuple[ToolResult, ...] = ()
