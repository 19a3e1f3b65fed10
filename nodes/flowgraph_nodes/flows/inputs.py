"""Inputs of the graphs that flows build: one for each parameter that their nodes need from outside."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flowgraph.graph import Graph
from flowgraph.node import Kind, Node, Parameter


def needed(node: Node) -> list[Parameter]:
    """The parameters that bind by name: neither the context nor those with a default."""
    return [p for p in node.parameters.values() if p.kind not in (Kind.CONTEXT, Kind.DEFAULT)]


def declare(graph: Graph, parameters: Iterable[Parameter]) -> None:
    """Declare an input for each name. Where types differ, it takes any; only Maybes everywhere make it optional."""
    by_name: dict[str, list[Parameter]] = {}
    for parameter in parameters:
        by_name.setdefault(parameter.name, []).append(parameter)
    for name, uses in by_name.items():
        type_ = same_type(p.type for p in uses if p.kind is not Kind.OUTCOME)
        if all(p.kind is Kind.MAYBE for p in uses):
            graph.input(name, type_, default=None)
        else:
            graph.input(name, type_)


def same_type(types: Iterable[Any]) -> Any:
    """The type, if it is one and the same; else Any."""
    found: list[Any] = []
    for type_ in types:
        if type_ not in found:
            found.append(type_)
    return found[0] if len(found) == 1 else Any
