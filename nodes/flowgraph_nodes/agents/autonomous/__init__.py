"""The autonomous agent: planning, execution, summary, and agents that it makes for itself.

plan        plans as data: checks, merging, order
board       where the steps of a plan stand while it is carried out
planning, plan_run (of subtask), summary    the three phases, as nodes
course      one run, from phase to phase
crew (of assignments, crew_tools)           sub-agents and what they were given to do
tools, words, pace                          what the model may call, and what it is told
"""

from flowgraph_nodes.agents.autonomous.agent import AutonomousAgent
from flowgraph_nodes.agents.autonomous.errors import PlanningFailed
from flowgraph_nodes.agents.autonomous.sub_agents import SubAgents

__all__ = ["AutonomousAgent", "PlanningFailed", "SubAgents"]
