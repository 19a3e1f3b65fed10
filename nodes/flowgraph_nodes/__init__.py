"""Agents, models and tools for flowgraph: nodes that think."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from flowgraph_nodes.agents import (
    AgentConfigError,
    AgentFailed,
    AgentResult,
    AgentRun,
    AutonomousAgent,
    Judge,
    LoopAgent,
    PlanExecuteAgent,
    PlanningFailed,
    ReactAgent,
    Sentinel,
    SubAgents,
)
from flowgraph_nodes.errors import AgentError
from flowgraph_nodes.flows import LoopExhausted, LoopFlow, Team, parallel, route, sequence
from flowgraph_nodes.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from flowgraph_nodes.models import (
    ChatModel,
    Model,
    ModelSettings,
    RateLimit,
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
from flowgraph_nodes.tools.mcp import McpServer, mcp_servers
from flowgraph_nodes.transcript import Transcript

if TYPE_CHECKING:
    from flowgraph_nodes.described import DescriptionError, load_agents
    from flowgraph_nodes.tools.builtin import Workspace, builtin_tools

__all__ = [
    "AgentConfigError",
    "AgentError",
    "AgentFailed",
    "AgentResult",
    "AgentRun",
    "Approval",
    "AssistantMessage",
    "AutonomousAgent",
    "ChatModel",
    "DescriptionError",
    "Fail",
    "GiveUp",
    "Judge",
    "LoopAgent",
    "LoopExhausted",
    "LoopFlow",
    "McpServer",
    "Message",
    "Model",
    "ModelSettings",
    "NeedsFeedback",
    "PlanExecuteAgent",
    "PlanningFailed",
    "RateLimit",
    "ReactAgent",
    "Reply",
    "Scripted",
    "ScriptedModel",
    "Sentinel",
    "Stop",
    "SubAgents",
    "SystemMessage",
    "Team",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolMessage",
    "ToolResult",
    "Toolbox",
    "Transcript",
    "UserMessage",
    "Workspace",
    "builtin_tools",
    "call",
    "load_agents",
    "mcp_servers",
    "no_real_models",
    "override_models",
    "parallel",
    "route",
    "sequence",
    "tool",
]


def __getattr__(name: str) -> object:
    """What few need is imported when it is asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


_LATER: Final = {
    "DescriptionError": "flowgraph_nodes.described",
    "Workspace": "flowgraph_nodes.tools.builtin",
    "builtin_tools": "flowgraph_nodes.tools.builtin",
    "load_agents": "flowgraph_nodes.described",
}
