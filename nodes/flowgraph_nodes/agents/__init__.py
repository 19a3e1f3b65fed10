"""Agents: nodes whose output is the answer of a model that may use tools on the way."""

from flowgraph_nodes.agents.agent import Agent
from flowgraph_nodes.agents.autonomous import AutonomousAgent, PlanningFailed, SubAgents
from flowgraph_nodes.agents.errors import AgentConfigError, AgentFailed, IterationsExhausted
from flowgraph_nodes.agents.judge import Judge
from flowgraph_nodes.agents.loop import LoopAgent
from flowgraph_nodes.agents.plan_execute import PlanExecuteAgent
from flowgraph_nodes.agents.react import ReactAgent
from flowgraph_nodes.agents.reasons import StopReason
from flowgraph_nodes.agents.result import AgentResult
from flowgraph_nodes.agents.sentinel import Sentinel
from flowgraph_nodes.agents.stream import AgentRun

__all__ = [
    "Agent",
    "AgentConfigError",
    "AgentFailed",
    "AgentResult",
    "AgentRun",
    "AutonomousAgent",
    "IterationsExhausted",
    "Judge",
    "LoopAgent",
    "PlanExecuteAgent",
    "PlanningFailed",
    "ReactAgent",
    "Sentinel",
    "StopReason",
    "SubAgents",
]
