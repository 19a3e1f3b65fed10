"""Agents that are described in YAML, for teams who keep prompts, models and budgets out of code.

source      reading, with lines
forms       what may stand there
parts       models, tools, servers, limits from their forms
building    agents, and everything that is wrong with them
"""

from flowgraph_nodes.described.building import load_agents, load_graphs
from flowgraph_nodes.described.errors import DescriptionError

__all__ = ["DescriptionError", "load_agents", "load_graphs"]
