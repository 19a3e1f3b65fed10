"""Agents, models and tools for flowgraph: nodes that think."""
