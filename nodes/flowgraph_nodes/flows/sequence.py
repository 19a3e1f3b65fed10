"""Sequences: each node gets what the one before gave."""

from __future__ import annotations

from typing import Any

from flowgraph.graph import Graph
from flowgraph.node import Node, Parameter, as_node

from .inputs import declare, needed


def sequence(*nodes: Any, name: str = "sequence", title: str = "") -> Graph:
    """A graph that runs nodes one after the other; its output is the last one's.

    What a node needs: its only parameter without a default gets the output of the node before. With several, those
    named like an earlier node or like an input (a parameter of the first node) get that, and the one that is left
    gets the output of the node before. The first node's parameters are the graph's inputs.

    A node that needs nothing just follows. Nodes of the same name are told apart: `polish`, `polish_2`.

    Raises ValueError when there are no nodes, or when it cannot be told which parameter gets the output.
    """
    if not nodes:
        raise ValueError("a sequence needs at least one node")
    graph = Graph(name, title=title)
    first, *rest = [as_node(node) for node in nodes]
    declare(graph, needed(first))
    before = _add(graph, first, None, {})
    for node in rest:
        before = _add(graph, node, before, _binding(graph, node, before))
    graph.output(before)
    return graph


def _binding(graph: Graph, node: Node, before: str) -> dict[str, str]:
    wanted = needed(node)
    known = {*graph.inputs, *graph.entries}
    left: list[Parameter] = wanted if len(wanted) == 1 else [p for p in wanted if p.name not in known]
    if len(left) > 1:
        names = ", ".join(f"'{p.name}'" for p in left)
        raise ValueError(
            f"which parameter of '{node.name}' gets the output of '{before}'? It needs {names}: give all but one a "
            "default, or name them like an earlier node or input"
        )
    return {left[0].name: before} if left else {}


def _add(graph: Graph, node: Node, before: str | None, bind: dict[str, str]) -> str:
    name, count = node.name, 1
    while name in graph.entries or name in graph.inputs:
        count += 1
        name = f"{node.name}_{count}"
    graph.add(name, node, bind=bind, after=() if before is None else before)
    return name
