"""Routes: a classifier says which one of several nodes runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from flowgraph.context import Context
from flowgraph.graph import Graph
from flowgraph.node import Kind, Node, Parameter, as_node
from flowgraph.outcome import MISSING

from .inputs import declare, needed, same_type


def route(
    classifier: Any, cases: Mapping[Any, Any], *, default: Any = MISSING, name: str = "route", title: str = ""
) -> Graph:
    """A graph that runs the node whose label the classifier gives; its output is that node's.

    cases: label → node; labels match by type and value. default: the node for every other label; without it such a
    label fails (ChoiceError). What the nodes need are the graph's inputs, but a parameter with the classifier's name
    gets the label.

    Raises ValueError when there are no cases.
    """
    if not cases:
        raise ValueError("a route needs at least one case: route(classifier, {'urgent': ..., 'normal': ...})")
    graph = Graph(name, title=title)
    chooser = as_node(classifier)
    targets: list[Node] = []
    numbers = {label: _number(targets, as_node(node)) for label, node in cases.items()}
    other = None if default is MISSING else _number(targets, as_node(default))
    parameters = [p for node in targets for p in needed(node) if p.name != chooser.name]
    declare(graph, [*needed(chooser), *parameters])
    graph.add(chooser.name, chooser)
    names: list[str] = []
    for number, node in enumerate(targets):
        names.append(_free(graph, _label_of(number, numbers), node))
        graph.add(names[-1], node)
    taken = {label: names[number] for label, number in numbers.items()}
    graph.choose(chooser.name, taken, default=MISSING if other is None else names[other])
    taker = _Taken(names, same_type(node.output_type for node in targets))
    graph.output(graph.add(_free(graph, "", taker), taker))
    return graph


class _Taken:
    """Gives on the output of the one branch that ran."""

    kind = "function"
    name = "taken"

    def __init__(self, branches: list[str], output_type: Any) -> None:
        self.parameters = {branch: Parameter(branch, Any, Kind.MAYBE) for branch in branches}
        self.output_type = output_type

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Any:
        """The output that is there."""
        return next((value for value in inputs.values() if value is not None), None)


def _number(targets: list[Node], node: Node) -> int:
    """The number of a node among the targets; a node that several labels share is one target."""
    for number, known in enumerate(targets):
        if known is node or getattr(known, "function", known) is getattr(node, "function", node):
            return number
    targets.append(node)
    return len(targets) - 1


def _label_of(number: int, numbers: Mapping[Any, int]) -> str:
    """The label of a target as a name, when only one leads to it."""
    labels = [label for label, target in numbers.items() if target == number]
    return re.sub(r"[^A-Za-z0-9_-]", "_", labels[0]) if len(labels) == 1 and isinstance(labels[0], str) else ""


def _free(graph: Graph, wanted: str, node: Node) -> str:
    """A name for a target: its label, or the node's own, made unique."""
    base = wanted if wanted and not wanted[0].isdigit() and wanted[0] != "-" else node.name
    name, count = base, 1
    while name in graph.entries or name in graph.inputs:
        count += 1
        name = f"{base}_{count}"
    return name
