"""What has changed between two graphs, as far as it matters to a run that was begun with one and goes on with another.

Titles, retries and time limits do not matter. What a function does cannot be seen: a node's `version` says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .spec import EdgeSpec, GraphSpec, NodeSpec


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. path: of the node that it concerns, or ends in; "" for the graph itself. text: in words."""

    path: str
    text: str


def changes(before: GraphSpec, now: GraphSpec, prefix: str = "") -> Iterator[Change]:
    """What is different, depth first, in the order of the graph as it is now."""
    old = {node.name: node for node in before.nodes}
    new = {node.name: node for node in now.nodes}
    for name in old:
        if name not in new:
            yield Change(prefix + name, f"{_what(old[name])} '{prefix}{name}' is gone")
    for name, node in new.items():
        if name not in old:
            yield Change(prefix + name, f"{_what(node)} '{prefix}{name}' is new")
        else:
            yield from _within(old[name], node, prefix)
    yield from _edges(before, now, prefix)
    for name in {**before.conditions, **now.conditions}:
        was, is_ = before.conditions.get(name), now.conditions.get(name)
        if was != is_ and name in old and name in new:
            yield Change(prefix + name, f"the condition of '{prefix}{name}' was {was or 'none'}, is {is_ or 'none'}")


def _within(old: NodeSpec, new: NodeSpec, prefix: str) -> Iterator[Change]:
    path = prefix + new.name
    if old.kind != new.kind:
        yield Change(path, f"'{path}' was of kind {old.kind}, is of kind {new.kind}")
    if old.version != new.version:
        yield Change(path, f"'{path}' was version {old.version or 'none'}, is version {new.version or 'none'}")
    if old.inner is not None and new.inner is not None:
        yield from changes(old.inner, new.inner, f"{path}/")
    elif (old.inner is None) != (new.inner is None):
        yield Change(path, f"'{path}' {'holds no graph any more' if new.inner is None else 'holds a graph now'}")


def _edges(before: GraphSpec, now: GraphSpec, prefix: str) -> Iterator[Change]:
    old, new = dict.fromkeys(before.edges), dict.fromkeys(now.edges)
    names = {node.name for node in before.nodes} & {node.name for node in now.nodes}
    for word, edges, others in (("gone", old, new), ("new", new, old)):
        for edge in edges:
            if edge not in others and {edge.source, edge.target} <= names:
                yield Change(prefix + edge.target, f"{_edge(edge, prefix)} is {word}")


def _edge(edge: EdgeSpec, prefix: str) -> str:
    label = f" for {edge.label}" if edge.label else ""
    optional = " (optional)" if edge.optional else ""
    return f"the {edge.kind} edge '{prefix}{edge.source}' → '{prefix}{edge.target}'{label}{optional}"


def _what(node: NodeSpec) -> str:
    return "input" if node.kind == "input" else "node"


_INDEX: Final = re.compile(r"\[\d+\]|#\d+|~\d+")


def place_of(path: str) -> str:
    """The place in the spec that a node run's path stands at: without items, rounds and repetitions."""
    return _INDEX.sub("", path)
