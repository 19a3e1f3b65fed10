"""Tool modes: how calls travel between us and a model that has no calls of its own, or poor ones.

A mode is a model around a model: it turns a request with tools into one that the inner model understands, and the
reply's text back into text and calls. So everything else knows calls only as calls; a transcript is the same in every
mode, and can be continued in another.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from flowgraph_nodes.agents.tool_modes.schema import SchemaMode
from flowgraph_nodes.agents.tool_modes.text import TextMode
from flowgraph_nodes.models import ChatModel
from flowgraph_nodes.models.base import MALFORMED

ToolMode: TypeAlias = Literal["native", "schema", "text"]
"""native: the provider's own calls. schema: JSON by a schema. text: Thought / Action / Action Input."""


def in_mode(model: ChatModel, mode: ToolMode) -> ChatModel:
    """The model as it is called in that mode. Raises ValueError for an unknown one."""
    match mode:
        case "native":
            return model
        case "schema":
            return SchemaMode(model)
        case "text":
            return TextMode(model)
        case _:
            raise ValueError(f"tool_mode={mode!r} must be 'native', 'schema' or 'text'")


__all__ = ["MALFORMED", "SchemaMode", "TextMode", "ToolMode", "in_mode"]
