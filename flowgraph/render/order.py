"""Order in graphs: layers, the critical path, and bands of layers. All linear, none recursive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

BANDS: Final = 40
"""Into about so many bands a level is cut that is too large to draw."""

Pair: TypeAlias = tuple[str, str]


def layers(names: Sequence[str], edges: Iterable[Pair]) -> dict[str, int]:
    """How many edges the longest way to each node has. Nodes on a cycle, which no run accepts, come last."""
    children, waiting = _adjacent(names, edges)
    depth = dict.fromkeys(names, 0)
    ready = [name for name in names if not waiting[name]]
    for name in ready:  # grows while it is read
        for child in children[name]:
            depth[child] = max(depth[child], depth[name] + 1)
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    last = max((depth[name] for name in ready), default=-1) + 1
    return {name: last if waiting[name] else depth[name] for name in names}


def critical_path(names: Sequence[str], edges: Iterable[Pair], seconds: Mapping[str, float]) -> list[str]:
    """The way through the graph that took longest, by the nodes' own times, in order. Nodes without a time did not
    run and are on no way. Of equal ways the first declared.
    """
    ran = [name for name in names if name in seconds]
    children, waiting = _adjacent(ran, edges)
    until, before = dict.fromkeys(ran, 0.0), dict[str, str]()
    ready = [name for name in ran if not waiting[name]]
    for name in ready:
        until[name] += seconds[name]
        for child in children[name]:
            if until[name] > until[child]:
                until[child], before[child] = until[name], name
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    if not ready:
        return []
    path = [max(ready, key=lambda name: until[name])]
    while path[-1] in before:
        path.append(before[path[-1]])
    return path[::-1]


def bands(names: Sequence[str], edges: Iterable[Pair]) -> list[list[str]]:
    """The nodes in at most about twice `BANDS` groups of neighbouring layers, so that edges between groups go down."""
    room = max(len(names) // BANDS, 1)
    rows: dict[int, list[str]] = {}
    for name, layer in layers(names, edges).items():
        rows.setdefault(layer, []).append(name)
    found: list[list[str]] = []
    for layer in sorted(rows):
        if found and len(found[-1]) + len(rows[layer]) <= room:
            found[-1] += rows[layer]
        else:
            found.append(rows[layer])
    return found


def _adjacent(names: Sequence[str], edges: Iterable[Pair]) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Children and number of parents, each pair counted once."""
    children: dict[str, list[str]] = {name: [] for name in names}
    parents = dict.fromkeys(names, 0)
    for source, target in dict.fromkeys(edges):
        if source in children and target in children:
            children[source].append(target)
            parents[target] += 1
    return children, parents
