"""The workloads as graphs of flowgraph: async nodes, events and record on, as anybody would run them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio

import flowgraph as fg

Dag = list[tuple[str, list[str], float]]
Work = Callable[[Sequence[Any], float], Awaitable[int]]


def graph_of(dag: Dag, work: Work) -> fg.Graph:
    """A graph with a node per row: it awaits `work` with what its parents gave."""

    async def node(values: list[int], secs: float) -> int:
        return await work(values, secs)

    graph = fg.Graph("bench")
    for name, before, secs in dag:
        if before:
            graph.add(name, node, bind={"values": before}, values={"secs": secs})
        else:
            graph.add(name, node, values={"values": [], "secs": secs})
    return graph


def build(dag: Dag, work: Work) -> Callable[[], int]:
    """A function that runs the graph and gives the greatest value."""
    graph = graph_of(dag, work)
    fg.check(graph)

    async def main() -> int:
        run = await fg.arun(graph)
        return max(node.value for node in run.nodes.values())

    return lambda: anyio.run(main)
