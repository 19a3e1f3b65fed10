"""Dead joins: nodes that can never run, whatever the choices take, because they need branches that exclude each other.

For each node, in topological order, the labels that every choice may have been given when the node succeeded
(`labels.py`), as a superset: what it must have is intersected, of what it may have instead the union is taken. Where a
choice has no label left, the node can never run. What follows from each rule of `rules.py`:

0. A target needs one of: a label that takes it; a succeeded parent below another target, with a label that takes that
   one. Its choosers have not failed. A rejoin needs one of: a succeeded parent in the branches or an independent one;
   a label that takes the rejoin by name or goes straight on to it from anywhere but above; a chooser that was skipped
   below another choice; a choice that failed. A tolerant edge to a branch excludes nothing, for what it leads to may
   have failed.
1. A parent on a non-tolerant edge has not failed, and so neither have the choices that it is a target of.
2. A required parent on a non-tolerant edge has succeeded.
3. One of the `needs` has, or a choice took the node, or went straight on to it, unless an edge tolerates.
4. A condition may hold or not, a node may fail or skip itself: this excludes nothing.

A quorum of all its data parents needs each of them, any other at least one. That a label was given means that its
chooser succeeded, with the labels which that needs.

There is never a false alarm. Combinations are missed: labels are remembered choice by choice, not which of one goes
with which of another, for the exact question is NP-hard. Each set is one integer, so that all choices of a graph are
intersected at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

from .errors import Problem
from .labels import Labels
from .plan import Plan
from .unit import Edge, PlanNode, Rejoin, Target


class Way(NamedTuple):
    """One way to meet a demand: by this node (by the choices themselves, when it is the one that demands)."""

    node: int
    labels: int


Demand: TypeAlias = Sequence[Way]
"""Ways of which a node needs at least one."""


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
        self.labels = Labels(plan.choices)
        self.may = [self.labels.every] * len(plan.nodes)  # when the node succeeded; 0 when it never runs
        self.never: list[int] = []
        self.dead: list[int] = []
        for index in plan.order:
            self._visit(index)

    def _visit(self, index: int) -> None:
        left = self.labels.every
        for demand in self.demands(index):
            found = self.met(left, demand)
            if not found:
                self.may[index] = 0
                self.never.append(index)
                if any(way.labels for way in demand):
                    self.dead.append(index)
                return
            left = found
        for choice in self.plan.nodes[index].chooses:
            left &= self.labels.without(choice, self.labels.skipped(choice))
        self.may[index] = left

    def met(self, left: int, demand: Demand) -> int:
        """What is left of the labels when a demand is met; 0 when it cannot be."""
        found = 0
        for _, may in demand:
            both = left & may
            if both == left:
                return left
            if not self.labels.impossible(both):
                found |= both
        return found

    # -- what a node needs

    def demands(self, index: int) -> Iterator[Demand]:
        """All that must be met when it runs, from what is known of the nodes before it."""
        node = self.plan.nodes[index]
        quorum = node.join.quorum is not None
        yield from self._parents([edge for edge in node.parents if edge.awaited] if quorum else node.parents)
        taken = [self._taken(target, index) for target in node.targeted]
        if node.targeted:
            yield from ([Way(index, self._sound(target.choice))] for target in node.targeted)
            yield [*taken, *chain.from_iterable(map(self._through, node.targeted))]
        if quorum:
            yield from self._quorum(node)
            return
        if node.rejoins:
            edges = {edge.parent: edge for edge in node.parents}
            for rejoin in node.rejoins:
                if not any(edges[parent].tolerant or edges[parent].required for parent in rejoin.branch):
                    yield self._arrival(rejoin, index, node, taken)
        yield from self._needs(index, node, taken)

    def _parents(self, edges: Sequence[Edge]) -> Iterator[Demand]:
        """Rules 1 and 2."""
        for edge in edges:
            if edge.required and not edge.tolerant:
                yield [Way(edge.parent, self.may[edge.parent])]
            elif not edge.tolerant:
                for target in self.plan.nodes[edge.parent].targeted:
                    yield [Way(edge.parent, self._sound(target.choice))]

    def _through(self, target: Target) -> Iterator[Way]:
        """Rule 0 for a target: below another one that the same choice took."""
        takes, chooser = self.labels.takes[target.choice], self.plan.choices[target.choice].chooser
        for parent, others in target.through:
            bits = 0
            for other in others:
                bits |= takes[other]
            yield Way(parent, self.may[parent] & self.may[chooser] & self.labels.only(target.choice, bits))

    def _arrival(self, rejoin: Rejoin, index: int, node: PlanNode, taken: list[Way]) -> Demand:
        """Rule 0 for a rejoin. (A required parent in the branch says more, a tolerant one says nothing.)"""
        labels, choice = self.labels, rejoin.choice
        chooser = self.plan.nodes[self.plan.choices[choice].chooser]
        above = [target.choice for target in chooser.targeted] + [other.choice for other in chooser.rejoins]
        ways = [Way(parent, self.may[parent]) for parent in (*rejoin.branch, *rejoin.independent)]
        ways += taken
        ways += [self._straight(other.choice, index) for other in node.rejoins if other.choice not in above]
        failed = labels.failed[choice] | (labels.skipped(choice) if above else 0)
        return [*ways, Way(index, labels.only(choice, failed))]

    def _needs(self, index: int, node: PlanNode, taken: list[Way]) -> Iterator[Demand]:
        """Rule 3."""
        if any(edge.tolerant or (edge.required and node.needs is None) for edge in node.parents):
            return  # tolerated, or said by rule 2
        needs = [edge.parent for edge in node.parents] if node.needs is None else node.needs
        if needs:
            straight = (self._straight(rejoin.choice, index) for rejoin in node.rejoins)
            yield [*(Way(parent, self.may[parent]) for parent in needs), *taken, *straight]

    def _quorum(self, node: PlanNode) -> Iterator[Demand]:
        ways = [Way(edge.parent, self.may[edge.parent]) for edge in node.parents if edge.data]
        if node.parents and node.join.quorum is not None:
            if node.join.quorum >= len(ways):
                yield from ([way] for way in ways)
            yield ways if node.join.quorum <= len(ways) else []

    # -- choices

    def _sound(self, choice: int) -> int:
        return self.labels.without(choice, self.labels.failed[choice])

    def _taken(self, target: Target, index: int) -> Way:
        return self._given(target.choice, self.labels.takes[target.choice][index], index)

    def _straight(self, choice: int, index: int) -> Way:
        bits = self.labels.straight[choice]
        return self._given(choice, bits, index) if bits else Way(index, 0)

    def _given(self, choice: int, bits: int, index: int) -> Way:
        return Way(index, self.may[self.plan.choices[choice].chooser] & self.labels.only(choice, bits))


# -- in words


class _Part(NamedTuple):
    """A demand, seen from one source of labels: the nodes that would meet it, and the labels that they run for."""

    nodes: tuple[int, ...]
    bits: int


def _explained(analysis: DeadJoins, index: int) -> str:
    """Why a node can never run: the branches that it needs and that exclude each other, and what to do about it."""
    labels, plan = analysis.labels, analysis.plan
    left, narrowed = labels.every, list[tuple[Demand, int]]()
    for demand in analysis.demands(index):
        found = analysis.met(left, demand)
        if not found:
            break
        if found != left:
            narrowed.append((demand, found))
        left = found
    first = next(way for way in demand if way.labels)
    block = labels.empty_block(left & first.labels)
    last = _part(labels, block, demand)
    if last.bits & labels.of(block, left):  # some of the other ways are excluded by another source
        last = _part(labels, block, [first])
    parts = [part for part in _against(labels, block, narrowed, last) if not labels.any_label(block, part.bits)]
    parts = [part if index not in part.nodes else _Part((index,), part.bits) for part in parts]
    return f"'{plan.names[index]}' {_clash(analysis, index, block, parts)}: {_remedy(analysis, index, block, parts)}"


def _part(labels: Labels, block: int, demand: Demand) -> _Part:
    ways = [way for way in demand if way.labels]
    bits = 0
    for way in ways:
        bits |= labels.of(block, way.labels)
    return _Part(tuple(dict.fromkeys(way.node for way in ways)), bits)


def _against(labels: Labels, block: int, narrowed: list[tuple[Demand, int]], last: _Part) -> list[_Part]:
    """The demand that excludes the last one; where none does so alone, all that do so together."""
    parts, before = list[_Part](), labels.every
    for demand, found in narrowed:
        part = _part(labels, block, demand)
        if not part.bits & last.bits:
            return [part, last]
        if labels.of(block, found) != labels.of(block, before):
            parts.append(part)
        before = found
    return [*parts, last]


def _clash(analysis: DeadJoins, index: int, block: int, parts: list[_Part]) -> str:
    labels, plan = analysis.labels, analysis.plan
    targets = {target for choice in labels.choices_on(block) for target in plan.choices[choice].targets}
    needs = [_named(plan, part.nodes, "one of ") for part in parts if index not in part.nodes]
    takes = targets.issuperset(node for part in parts for node in part.nodes)
    verb, run = ("takes", "") if takes else ("lets", " run")
    only = [f"{_named(plan, part.nodes)}{run} only for {labels.shown(block, part.bits)}" for part in parts]
    return f"needs {_and(dict.fromkeys(needs))}, but '{labels.sources[block]}' {verb} {_and(only)}"


def _remedy(analysis: DeadJoins, index: int, block: int, parts: list[_Part]) -> str:
    labels, plan = analysis.labels, analysis.plan
    node, choices = plan.nodes[index], labels.choices_on(block)
    required = {edge.parent for edge in node.parents if edge.required and not edge.tolerant}
    read = [part.nodes[0] for part in parts if len(part.nodes) == 1 and part.nodes[0] in required]
    remedies = []
    if read:
        one = "what reads one of them" if len(read) > 1 else f"what reads {_named(plan, read)}"
        remedies.append(f"annotate {one} as fg.Maybe[...]")
    if node.needs and len(read) < len(parts):
        remedies.append("name others in needs=")
    if len(read) < len(parts) and any(rejoin.choice in choices for rejoin in node.rejoins):
        remedies.append("write [] for a label that goes straight on")
    together = f"let one label of '{labels.sources[block]}' lead to {'both' if len(parts) == 2 else 'all of them'}"
    return "it can never run; " + ", or ".join([*remedies, together])


def _named(plan: Plan, nodes: Sequence[int], several: str = "") -> str:
    texts = [f"'{plan.names[node]}'" for node in nodes[:8]] + ([f"{len(nodes) - 8} more"] if len(nodes) > 8 else [])
    if len(texts) > 1 and several:
        return several + ", ".join(texts)
    return _and(texts)


def _and(texts: Iterable[str]) -> str:
    every = list(texts)
    return " and ".join(filter(None, [", ".join(every[:-1]), *every[-1:]]))
