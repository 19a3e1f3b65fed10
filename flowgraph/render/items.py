"""Items: what could be drawn, the spec of a node beside its node run, and what lies below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..node_run import NodeRun
from ..outcome import Status
from ..spec import EdgeSpec, GraphSpec, NodeSpec

CALLS = frozenset({"model", "tool"})
"""Kinds of children that an agent has many of: told in one line instead of drawn."""


@dataclass(frozen=True, slots=True)
class Item:
    """A node with what the spec (`node`) and the run (`run`) say of it, as far as there are any.

    label: what it is called beside its siblings. inner: the graph that it runs, or that its items and rounds run.
    condition: the text of its `when`. stands_for: the items that a summary is in place of.
    """

    path: str
    label: str
    kind: str
    node: NodeSpec | None = None
    run: NodeRun | None = None
    inner: GraphSpec | None = None
    condition: str = ""
    stands_for: tuple[Item, ...] = ()

    @property
    def status(self) -> Status | None:
        """The status of its run."""
        return None if self.run is None else self.run.status

    @property
    def key(self) -> str:
        """What the edges of its level call it."""
        return self.node.name if self.node is not None else self.path


@dataclass(frozen=True, slots=True)
class Level:
    """What is drawn inside one node (or at the top): items and the edges among them, by key.

    rounds: the items follow each other. calls: model and tool calls left out, by kind.
    """

    items: tuple[Item, ...]
    edges: tuple[EdgeSpec, ...] = ()
    rounds: bool = False
    calls: Counter[str] = field(default_factory=Counter)

    @property
    def free(self) -> bool:
        """Whether nothing says where the items stand to each other."""
        return not self.edges and not self.rounds


def level_of_graph(spec: GraphSpec, run: NodeRun | None, prefix: str = "", *, inputs: bool = False) -> Level:
    """The nodes of a graph, with their node runs. inputs: whether the graph's inputs are drawn."""
    runs = {child.name: child for child in run.children} if run is not None else {}
    items = []
    for node in spec.nodes:
        if node.kind == "input" and not inputs:
            continue
        own = runs.pop(node.name, None)
        path = own.path if own is not None else prefix + node.name
        condition = spec.conditions.get(node.name, "")
        items.append(Item(path, node.title or node.name, node.kind, node, own, node.inner, condition))
    others = [item_of_run(child) for child in runs.values()]  # a fallback, say
    return Level((*items, *others), spec.edges)


def item_of_run(run: NodeRun, parent: Item | None = None) -> Item:
    """A child that a node run called. It runs the graph inside its parent when that is a map or a loop."""
    label = run.title or run.name
    inner = None
    if parent is not None and parent.run is not None and parent.kind in ("map", "loop"):
        place = run.path.removeprefix(parent.path)
        label = place if place[:1] in ("[", "#") else label
        inner = parent.inner if run.kind in ("graph", "map", "loop") else None
    return Item(run.path, label, run.kind, None, run, inner)


def level_below(item: Item, *, calls: bool = False) -> Level | None:
    """What lies below an item; None when there is nothing to draw. calls: draw an agent's calls, too."""
    if item.run is None:
        return None if item.inner is None else level_of_graph(item.inner, None, f"{item.path}/")
    if not item.run.children:
        return None
    if item.kind == "graph" and item.inner is not None:
        return level_of_graph(item.inner, item.run, f"{item.path}/")
    shown, left = [], Counter[str]()
    for child in item.run.children:
        if child.kind in CALLS and not child.children and not calls:
            left[child.kind] += 1
        else:
            shown.append(item_of_run(child, item))
    place = f"{item.path}/"
    edges = tuple(EdgeSpec(place + source, place + target) for source, target in item.run.edges)
    return Level(tuple(shown), edges, item.kind == "loop", left) if shown or left else None


def statuses(items: Sequence[Item]) -> str:
    """How many ended how: "85 succeeded, 3 failed"; "" when none has run."""
    found = Counter(item.run.status for item in items if item.run is not None)
    words = [f"{found[status]:,} {str(status).replace('_', ' ')}" for status in Status if found[status]]
    return ", ".join(words)
