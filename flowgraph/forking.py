"""Forking: the journal of a new run that begins as a copy of another, up to a node and what depends on it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace

from . import events as ev
from .changes import place_of
from .errors import FlowgraphError, RunExists
from .keeping import record_of
from .node_run import NodeRun
from .record import Run
from .spec import GraphSpec
from .stores import Batch, Claim, Head, Store


def fork_journal(store: Store, run_id: str, at: str, new_id: str) -> None:
    """Make the run `new_id`: all of `run_id` but the node run `at`, what depends on it, and how those above it ended.

    Raises RunNotFound, StoreError, and FlowgraphError when there is no node run of that path.
    """
    stored = store.read(run_id)
    record = record_of(stored)
    if at not in record.nodes:
        known = ", ".join(f"'{node.name}'" for node in record.root.children[:12])
        raise FlowgraphError(f"run {run_id} has no node run '{at}' to fork at: there are {known}")
    gone, above = set(_gone(record, record.nodes[at])), {node.path for node in _above(record.nodes[at])}
    first, *others = zip(record.events, stored.rows, strict=True)
    rows = [json.dumps({**json.loads(first[1]), "run_id": new_id, "forked_from": run_id})]
    rows += [text for event, text in others if _stays(event, gone, above)]
    now = time.time()
    head = Head(new_id, record.graph, "running", record.events[0].at, now, forked_from=run_id)
    claim = _claimed(store, new_id, head)
    try:
        store.write([Batch(claim, replace(head, length=len(rows)), 0, rows, stored.values)])
    finally:
        store.release(claim)


def _claimed(store: Store, new_id: str, head: Head) -> Claim:
    """The claim of a run that is made, or that somebody made who was killed before he wrote its beginning."""
    try:
        return store.claim(new_id, head)
    except RunExists:
        claim = store.claim(new_id)
        if store.read(new_id).rows:
            store.release(claim)
            raise
        return claim


def _stays(event: ev.Lasting, gone: set[str], above: set[str]) -> bool:
    if isinstance(event, ev.RunPaused | ev.RunFinished):
        return False
    if event.path in above and isinstance(event, ev.NodeFinished | ev.NodeFallingBack):
        return False
    return gone.isdisjoint(_heads(event.path))


def _heads(path: str) -> Iterator[str]:
    """A path and those that it lies below: `a/b#1` → `a/b#1`, `a/b`, `a`."""
    yield path
    for position in range(len(path) - 1, 0, -1):
        if path[position] in "/#[":
            yield path[:position]


def _above(node: NodeRun) -> Iterator[NodeRun]:
    while node.parent is not None and node.parent.path:
        node = node.parent
        yield node


def _gone(record: Run, node: NodeRun) -> Iterator[str]:
    """Paths of the node run, and of what depends on it in its graph, in the graph around that, and so on."""
    yield node.path
    while (parent := node.parent) is not None:
        spec = _spec_at(record.spec, place_of(parent.path)) if parent.kind == "graph" else None
        if parent.kind == "map":
            pass  # items know nothing of one another
        elif spec is None:  # its parent calls its children one after the other
            yield from (child.path for child in parent.children[parent.children.index(node) + 1 :])
        else:
            prefix = f"{parent.path}/" if parent.path else ""
            yield from (prefix + name for name in _downstream(spec, node.name))
        node = parent


def _spec_at(spec: GraphSpec, place: str) -> GraphSpec | None:
    """The graph at a place of a graph; None when there is none, or its nodes are not known beforehand."""
    found: GraphSpec | None = spec
    for name in place.split("/") if place else ():
        node = found.node(name) if found is not None else None
        found = node.inner if node is not None else None
    return found


def _downstream(spec: GraphSpec, name: str) -> list[str]:
    found, stack = dict.fromkeys([name]), [name]
    while stack:
        source = stack.pop()
        for edge in spec.edges:
            if edge.source == source and edge.target not in found:
                found[edge.target] = None
                stack.append(edge.target)
    return [other for other in found if other != name]
