"""Specs: a graph as plain data, for drawings and records. Nothing in it can be called; it goes to JSON as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from .entry import Entry
from .graph import Graph
from .handle import Ref
from .outcome import MISSING
from .plan import Plan, plan_of
from .policy import Join


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node. kind: "input", "function", "agent", "map", "loop", "graph", …; inner: the graph that it runs, if any.

    notes: short texts on how it is tried ("3 attempts", "30 s", "falls back").
    """

    name: str
    kind: str
    title: str = ""
    notes: tuple[str, ...] = ()
    inner: GraphSpec | None = None
    version: str = ""


@dataclass(frozen=True, slots=True)
class EdgeSpec:
    """An edge. kind: "data" (a parameter reads it), "order" (`after`, conditions) or "choice" (source is the chooser).

    label: the case of a choice, or the condition of the target; optional: the target runs without it, too.
    """

    source: str
    target: str
    kind: Literal["data", "order", "choice"] = "data"
    label: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class GraphSpec:
    """A graph as data. conditions: node → text of its `when`."""

    name: str
    title: str = ""
    nodes: tuple[NodeSpec, ...] = ()
    edges: tuple[EdgeSpec, ...] = ()
    conditions: dict[str, str] = field(default_factory=dict)

    def node(self, name: str) -> NodeSpec | None:
        """The node of that name."""
        return next((node for node in self.nodes if node.name == name), None)

    @property
    def digest(self) -> str:
        """A hash of the content, equal for equal graphs."""
        import hashlib
        import json

        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def document(spec: GraphSpec, outputs: Ref | Mapping[str, Ref] | None) -> dict[str, Any]:
    """A spec, and what the graph's output is, as plain JSON."""
    if isinstance(outputs, Ref):
        return {"graph": asdict(spec), "output": asdict(outputs)}
    return {"graph": asdict(spec), "outputs": {name: asdict(ref) for name, ref in (outputs or {}).items()}}


def read_document(plain: Mapping[str, Any]) -> tuple[GraphSpec, Ref | dict[str, Ref]]:
    """The inverse of `document`. Raises KeyError or TypeError when it is none."""
    if "output" in plain:
        return _spec_from(plain["graph"]), _ref_from(plain["output"])
    return _spec_from(plain["graph"]), {name: _ref_from(ref) for name, ref in plain["outputs"].items()}


def _spec_from(plain: Mapping[str, Any]) -> GraphSpec:
    nodes = [
        NodeSpec(**{**row, "notes": tuple(row["notes"]), "inner": _spec_from(row["inner"]) if row["inner"] else None})
        for row in plain["nodes"]
    ]
    edges = [EdgeSpec(**row) for row in plain["edges"]]
    return GraphSpec(plain["name"], plain["title"], tuple(nodes), tuple(edges), dict(plain["conditions"]))


def _ref_from(plain: Mapping[str, Any]) -> Ref:
    return Ref(plain["name"], tuple(plain["keys"]))


def spec_of(thing: Any) -> GraphSpec | None:
    """The spec of a graph, or of the graph inside a node (a map of graphs, a loop); None when there is none."""
    graph = inner_graph(thing)
    return None if graph is None else spec_of_plan(plan_of(graph))


def inner_graph(thing: Any) -> Graph | None:
    """A graph itself, or the graph that a node runs, if any."""
    while thing is not None and not isinstance(thing, Graph):
        thing = getattr(thing, "inner", None)
    return thing


def spec_of_plan(plan: Plan, known: dict[int, GraphSpec] | None = None) -> GraphSpec:
    """The spec of a compiled graph. known: those made already, since one graph may stand in many places."""
    known = {} if known is None else known
    graph = plan.graph
    if id(graph) in known:
        return known[id(graph)]
    inputs = [NodeSpec(i.name, "input", i.title, _input_notes(i.default)) for i in graph.inputs.values()]
    circular = _contains_itself(graph)
    nodes = [_node(plan, index, entry, None if circular else known) for index, entry in enumerate(plan.entries)]
    edges: dict[EdgeSpec, None] = {}
    for index, entry in enumerate(plan.entries):
        for edge in _edges(plan, index, entry):
            edges[edge] = None
    for choice in graph.choices:
        cases = [*choice.cases, *([("otherwise", choice.default)] if choice.default is not MISSING else [])]
        for label, targets in cases:
            for target in targets or ():
                text = label if label == "otherwise" else repr(label) if not isinstance(label, str) else label
                edges[EdgeSpec(choice.on.name, target, "choice", text)] = None
    conditions = {entry.name: entry.when.text for entry in plan.entries if entry.when}
    known[id(graph)] = GraphSpec(graph.name, graph.title, (*inputs, *nodes), tuple(edges), conditions)
    return known[id(graph)]


def _node(plan: Plan, index: int, entry: Entry, known: dict[int, GraphSpec] | None) -> NodeSpec:
    policy, notes = plan.policies[index], []
    if policy.attempts > 1:
        notes.append(f"{policy.attempts} attempts")
    if policy.limit is not None:
        notes.append(f"{policy.limit:g} s")
    if entry.fallback is not MISSING:
        notes.append("falls back")
    if entry.join != Join.ALL:
        notes.append(f"join: {entry.join}")
    graph = inner_graph(entry.node)
    inner = None if known is None or graph is None else spec_of_plan(plan_of(graph), known)
    return NodeSpec(entry.name, entry.node.kind, entry.title, tuple(notes), inner, entry.version)


def _contains_itself(graph: Graph) -> bool:
    """Whether a graph lies inside itself, at any depth: a check reports it, and a drawing does not go in."""
    seen: set[int] = set()
    stack: list[Any] = [entry.node for entry in graph.entries.values()]
    while stack:
        thing = stack.pop()
        if thing is graph:
            return True
        if thing is None or id(thing) in seen:
            continue
        seen.add(id(thing))
        stack += (
            [e.node for e in thing.entries.values()] if isinstance(thing, Graph) else [getattr(thing, "inner", None)]
        )
    return False


def _edges(plan: Plan, index: int, entry: Entry) -> list[EdgeSpec]:
    found = []
    condition = plan.conditions[index]
    for source in plan.bindings[index].sources:
        optional = source.parameter.kind != "required"
        found += [EdgeSpec(ref.name, entry.name, "data", "", optional) for _, ref in source.refs]
    read = {edge.source for edge in found}
    for source in condition.sources if condition else ():
        found += [EdgeSpec(ref.name, entry.name, "order") for _, ref in source.refs if ref.name not in read]
    found += [EdgeSpec(name, entry.name, "order") for name in entry.after if name not in read]
    return found


def _input_notes(default: Any) -> tuple[str, ...]:
    return () if default is MISSING else ("has a default",)
