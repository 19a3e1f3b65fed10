"""Dead joins: nodes that can never run, whatever the choices take, because they need branches that exclude each other.

For each node, in topological order, the labels that every choice may have been given when the node succeeded
(`labels.py`), as a superset: what it must have is intersected, of what it may have instead the union is taken
(`demands.py`). Where a choice has no label left, the node can never run.

There is never a false alarm. Combinations are missed: labels are remembered choice by choice, not which of one goes
with which of another, for the exact question is NP-hard. Each set is one integer, so that all choices of a graph are
intersected at once. See docs/decisions/0006.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from .demands import Demand, Demands, Way
from .errors import Problem
from .labels import Labels
from .plan import Plan


def dead_joins(plan: Plan) -> list[Problem]:
    """A problem for each node that can never run; for none that only follows from another. The plan has no cycle."""
    if not plan.choices:
        return []
    analysis = DeadJoins(plan)
    return [Problem(plan.names[index], _explained(analysis, index)) for index in analysis.dead]


class DeadJoins:
    """The analysis of one plan. never: the nodes that can never run. dead: those of them that are the cause of it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.demands = Demands(plan)
        self.labels = self.demands.labels
        self.never: list[int] = []
        self.dead: list[int] = []
        for index in plan.order:
            self.demands.may[index] = self._visit(index)

    def _visit(self, index: int) -> int:
        """The labels with which a node may succeed, 0 when it never runs."""
        left = self.labels.every
        for demand in self.demands.of(index):
            found = self.met(left, demand)
            if not found:
                self.never.append(index)
                if any(map(self.possible, demand)):
                    self.dead.append(index)
                return 0
            left = found
        for choice in self.plan.nodes[index].chooses:
            left &= self.labels.without(choice, self.labels.skipped(choice))
        return left

    def met(self, left: int, demand: Demand) -> int:
        """What is left of the labels when a demand is met; 0 when it cannot be."""
        found, every = 0, self.labels.every
        for _, may in demand:
            if may is every:
                return left
            both = left & may
            if both == left:
                return left
            if both and not self.labels.impossible(both):
                found |= both
        return found

    def possible(self, way: Way) -> bool:
        """Whether it is one at all: it is not where it leads through what never runs."""
        return way.labels != 0 and not self.labels.impossible(way.labels)


# -- in words


class _Part(NamedTuple):
    """A demand, seen from one source of labels: the nodes that would meet it, and the labels that they run for."""

    nodes: tuple[int, ...]
    bits: int


def _explained(analysis: DeadJoins, index: int) -> str:
    """Why a node can never run: the branches that it needs and that exclude each other, and what to do about it."""
    labels, plan = analysis.labels, analysis.plan
    left, narrowed = labels.every, list[tuple[Demand, int]]()
    for demand in analysis.demands.of(index):
        found = analysis.met(left, demand)
        if not found:
            break
        if found != left:
            narrowed.append((demand, found))
        left = found
    clashes: dict[int, list[Way]] = {}  # a source of labels → the ways that it excludes
    for way in demand:
        if analysis.possible(way):
            clashes.setdefault(labels.empty_block(left & way.labels), []).append(way)
    whys, remedies = list[str](), dict[str, None]()
    for block, ways in list(clashes.items())[:3]:
        parts = [*_against(labels, block, narrowed, last := _part(labels, block, ways)), last]
        parts = [part for part in parts if not labels.any_label(block, part.bits)]
        parts = [part if index not in part.nodes else _Part((index,), part.bits) for part in parts]
        whys.append(_clash(analysis, index, block, parts))
        remedies.update(dict.fromkeys(_remedies(analysis, index, block, parts)))
    return f"'{plan.names[index]}' {'; and it '.join(whys)}: it can never run; {', or '.join(remedies)}"


def _part(labels: Labels, block: int, demand: Demand) -> _Part:
    bits = 0
    for way in demand:
        bits |= labels.of(block, way.labels) if way.labels else 0
    return _Part(tuple(dict.fromkeys(way.node for way in demand if way.labels)), bits)


def _against(labels: Labels, block: int, narrowed: list[tuple[Demand, int]], last: _Part) -> list[_Part]:
    """The demand that excludes the last one; where none does so alone, all that do so together."""
    parts, before = list[_Part](), labels.every
    for demand, found in narrowed:
        part = _part(labels, block, demand)
        if not part.bits & last.bits:
            return [part]
        if labels.of(block, found) != labels.of(block, before):
            parts.append(part)
        before = found
    return parts


def _clash(analysis: DeadJoins, index: int, block: int, parts: list[_Part]) -> str:
    labels, plan = analysis.labels, analysis.plan
    targets = {target for choice in labels.choices_on(block) for target in plan.choices[choice].targets}
    needs = [_named(plan, part.nodes, "one of ") for part in parts if index not in part.nodes]
    if not needs:
        return f"is taken only for what another choice on '{labels.sources[block]}' has no case for"
    takes = targets.issuperset(node for part in parts for node in part.nodes)
    verb, run = ("takes", "") if takes else ("lets", " run")
    only = [f"{_named(plan, part.nodes)}{run} only for {labels.shown(block, part.bits)}" for part in parts]
    return f"needs {_and(dict.fromkeys(needs))}, but '{labels.sources[block]}' {verb} {_and(only)}"


def _remedies(analysis: DeadJoins, index: int, block: int, parts: list[_Part]) -> Iterator[str]:
    labels, plan = analysis.labels, analysis.plan
    node, choices = plan.nodes[index], labels.choices_on(block)
    required = {edge.parent for edge in node.parents if edge.required and not edge.tolerant}
    read = [part.nodes[0] for part in parts if len(part.nodes) == 1 and part.nodes[0] in required]
    if all(index in part.nodes for part in parts):
        yield "give that one the case, or a default"
        return
    if read:
        one = "what reads one of them" if len(read) > 1 else f"what reads {_named(plan, read)}"
        yield f"annotate {one} as fg.Maybe[...]"
    if node.needs and len(read) < len(parts):
        yield "name others in needs="
    if len(read) < len(parts) and any(rejoin.choice in choices for rejoin in node.rejoins):
        yield "write [] for a label that goes straight on"
    yield f"let one label of '{labels.sources[block]}' lead to {'both' if len(parts) == 2 else 'all of them'}"


def _named(plan: Plan, nodes: Sequence[int], several: str = "") -> str:
    texts = [f"'{plan.names[node]}'" for node in nodes[:8]] + ([f"{len(nodes) - 8} more"] if len(nodes) > 8 else [])
    if len(texts) > 1 and several:
        return several + ", ".join(texts)
    return _and(texts)


def _and(texts: Iterable[str]) -> str:
    every = list(texts)
    return " and ".join(filter(None, [", ".join(every[:-1]), *every[-1:]]))
