"""Agents, models and tools for flowgraph: nodes that think."""

from flowgraph_nodes.agents import AgentConfigError, AgentFailed, AgentResult, AgentRun, ReactAgent
from flowgraph_nodes.errors import AgentError
from flowgraph_nodes.flows import LoopExhausted, LoopFlow, parallel, route, sequence
from flowgraph_nodes.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from flowgraph_nodes.models import (
    ChatModel,
    Model,
    ModelSettings,
    Reply,
    Scripted,
    ScriptedModel,
    call,
    no_real_models,
    override_models,
)
from flowgraph_nodes.tools import (
    Approval,
    Fail,
    GiveUp,
    NeedsFeedback,
    Stop,
    Tool,
    Toolbox,
    ToolContext,
    ToolResult,
    tool,
)
from flowgraph_nodes.transcript import Transcript

__all__ = [
    "AgentConfigError",
    "AgentError",
    "AgentFailed",
    "AgentResult",
    "AgentRun",
    "Approval",
    "AssistantMessage",
    "ChatModel",
    "Fail",
    "GiveUp",
    "LoopExhausted",
    "LoopFlow",
    "Message",
    "Model",
    "ModelSettings",
    "NeedsFeedback",
    "ReactAgent",
    "Reply",
    "Scripted",
    "ScriptedModel",
    "Stop",
    "SystemMessage",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolMessage",
    "ToolResult",
    "Toolbox",
    "Transcript",
    "UserMessage",
    "call",
    "no_real_models",
    "override_models",
    "parallel",
    "route",
    "sequence",
    "tool",
]
