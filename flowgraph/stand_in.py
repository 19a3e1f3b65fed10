"""Replacing nodes of a graph, for tests and trials: `fg.replace(graph, {"legal": fake})`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace as changed
from typing import Any

from .context import Context
from .errors import GraphError, Problem
from .graph import Graph
from .node import Kind, Node, as_node


class StandIn:
    """A node in the place of another: it binds as the original does, and runs a node, or gives a value, instead."""

    kind = "stand-in"

    def __init__(self, original: Node, instead: Any) -> None:
        self.name = original.name
        self.parameters = original.parameters
        self.output_type: Any = Any
        self.title = getattr(original, "title", "") or ""
        self.inner: Node | None = None
        self._value = None
        if isinstance(instead, Node) or callable(instead):
            self.inner = as_node(instead)
            self.output_type = self.inner.output_type
        else:
            self._value = instead

    def problems(self) -> list[str]:
        """Parameters of the stand-in that the original does not have."""
        if self.inner is None:
            return []
        wanted = [p.name for p in self.inner.parameters.values() if p.kind not in (Kind.CONTEXT, Kind.DEFAULT)]
        missing = [name for name in wanted if name not in self.parameters]
        return [f"its replacement needs '{name}', which the node it replaces does not have" for name in missing]

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Any:
        """The replacement with those of the inputs that it takes, or the value."""
        if self.inner is None:
            return self._value
        return await self.inner.call(ctx, {k: v for k, v in inputs.items() if k in self.inner.parameters})


def replace(graph: Graph, replacements: Mapping[str, Any]) -> Graph:
    """A copy of the graph in which some nodes are replaced; the graph itself stays as it is.

    replacements: name of a node (or path, `outer/inner`, into graphs that are nodes) → a node, a function, or a value
    that the node then gives. A replacement binds, waits and is skipped as the original is, and sees those of its
    inputs that it has parameters for.

    Raises GraphError for names that are no nodes.
    """
    unknown = [_unknown(graph, path) for path in replacements if path.partition("/")[0] not in graph.entries]
    if unknown:
        raise GraphError(graph.name, unknown)
    copy = Graph(
        graph.name,
        policy=graph.policy,
        limits=graph.limits,
        max_concurrency=graph.max_concurrency,
        title=graph.title,
    )
    copy.inputs, copy.choices, copy.outputs = dict(graph.inputs), list(graph.choices), graph.outputs
    for name, entry in graph.entries.items():
        node: Any = entry.node
        below = {path.partition("/")[2]: new for path, new in replacements.items() if path.startswith(f"{name}/")}
        if name in replacements:
            node = StandIn(node, replacements[name])
        elif below:
            if not isinstance(node, Graph):
                raise GraphError(
                    graph.name, [Problem(name, f"it is no graph, so there is no '{name}/{next(iter(below))}'")]
                )
            node = replace(node, below)
        copy.entries[name] = changed(entry, node=node)
    copy.revision += 1
    return copy


def _unknown(graph: Graph, path: str) -> Problem:
    near = difflib.get_close_matches(path, list(graph.entries), 1)
    hint = f": did you mean '{near[0]}'?" if near else ""
    return Problem("", f"there is no node '{path}' to replace{hint}")
