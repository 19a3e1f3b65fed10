"""Models: what an agent asks. Only `litellm.py` knows litellm, and imports it on first use."""

from flowgraph_nodes.models.base import (
    ChatModel,
    Delta,
    ForcedTool,
    OnDelta,
    ReasoningDelta,
    Request,
    Response,
    ResponseFormat,
    TextDelta,
    ToolCallDelta,
    ToolChoice,
    is_priced,
)
from flowgraph_nodes.models.model import Fallbacks, Model
from flowgraph_nodes.models.override import no_real_models, override_models
from flowgraph_nodes.models.rate import Limited, RateLimit
from flowgraph_nodes.models.resolve import ModelLike, resolve
from flowgraph_nodes.models.scripted import Reply, Scripted, ScriptedModel, call
from flowgraph_nodes.models.settings import ModelSettings

__all__ = [
    "ChatModel",
    "Delta",
    "Fallbacks",
    "ForcedTool",
    "Limited",
    "Model",
    "ModelLike",
    "ModelSettings",
    "OnDelta",
    "RateLimit",
    "ReasoningDelta",
    "Reply",
    "Request",
    "Response",
    "ResponseFormat",
    "Scripted",
    "ScriptedModel",
    "TextDelta",
    "ToolCallDelta",
    "ToolChoice",
    "call",
    "is_priced",
    "no_real_models",
    "override_models",
    "resolve",
]
