"""How autonomous agents fail: as other agents do, and for want of a plan."""

from __future__ import annotations

from flowgraph_nodes.agents.errors import AgentFailed


class PlanningFailed(AgentFailed):
    """An AutonomousAgent has made no plan that can be carried out; `detail` says what was wrong with the last one."""
