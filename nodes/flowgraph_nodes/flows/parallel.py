"""Parallel branches: several nodes at once, their outputs as a dict."""

from __future__ import annotations

from typing import Any

from flowgraph.graph import Graph
from flowgraph.node import as_node

from .inputs import declare, needed


def parallel(*, name: str = "parallel", title: str = "", **nodes: Any) -> Graph:
    """A graph that runs nodes side by side; its output is a dict, branch → output, in the order given.

    What the nodes need are the graph's inputs; a name that several need is one input. A branch that is skipped is
    left out of the dict; one that fails, fails the graph, after the others have ended.

    Raises ValueError when there are no nodes, or when a branch has the name of a parameter.
    """
    if not nodes:
        raise ValueError("parallel needs at least one node: parallel(facts=..., figures=...)")
    graph = Graph(name, title=title)
    branches = {branch: as_node(node) for branch, node in nodes.items()}
    parameters = [parameter for node in branches.values() for parameter in needed(node)]
    for parameter in parameters:
        if parameter.name in branches:
            raise ValueError(f"'{parameter.name}' names a branch and a parameter: branches do not read each other")
    declare(graph, parameters)
    for branch, node in branches.items():
        graph.add(branch, node)
    graph.output(**{branch: branch for branch in branches})
    return graph
