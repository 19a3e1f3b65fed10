"""What a node cannot run without, for each rule of `rules.py`: demands, and the ways to meet them.

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
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from .labels import Labels
from .plan import Plan
from .unit import Edge, PlanNode, Rejoin, Target

MOST: Final = 10
"""So many choices that a node is a rejoin of are looked at, and so many that go straight on to it: the work is linear,
and each demand that is left out only makes the set larger."""


class Way(NamedTuple):
    """One way to meet a demand: by this node (by the choices themselves, when it is the one that demands)."""

    node: int
    labels: int


Demand: TypeAlias = Sequence[Way]
"""Ways of which a node needs at least one."""


class Demands:
    """The demands of the nodes of a plan. may: node → the labels with which it may have succeeded, 0 for never.

    Whoever asks for the demands of a node has set `may` for those before it.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.labels = Labels(plan.choices)
        self.may = [self.labels.every] * len(plan.nodes)
        self.rank = {index: rank for rank, index in enumerate(plan.order)}
        self.above: dict[int, int] = {}

    def of(self, index: int) -> Iterator[Demand]:
        """All that must be met when it runs, from what is known of the nodes before it."""
        node = self.plan.nodes[index]
        quorum = node.join.quorum is not None
        yield from self._parents([edge for edge in node.parents if edge.awaited] if quorum else node.parents)
        taken = [self._taken(target, index) for target in node.targeted]
        if len(node.targeted) > 1:
            yield from ([Way(index, self._sound(target.choice))] for target in node.targeted)
        if node.targeted:
            yield [*taken, *chain.from_iterable(map(self._through, node.targeted))]
        if quorum:
            yield from self._quorum(node)
            return
        straight = self._straight(node)
        yield from self._arrivals(index, node, taken, straight)
        yield from self._needs(index, node, taken, straight)

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

    def _arrivals(self, index: int, node: PlanNode, taken: list[Way], straight: int) -> Iterator[Demand]:
        """Rule 0 for a rejoin. (A required parent in the branch says more, a tolerant one says nothing.)"""
        labels, settled = self.labels, {edge.parent for edge in node.parents if edge.tolerant or edge.required}
        for rejoin in self._nearest(node.rejoins):
            if not settled.isdisjoint(rejoin.branch):
                continue
            others = self._ways(index, straight & ~self._above(rejoin.choice))
            if others is not None:
                ways = [Way(parent, self.may[parent]) for parent in (*rejoin.branch, *rejoin.independent)]
                spoilt = labels.failed[rejoin.choice]
                if self._above(rejoin.choice):
                    spoilt |= labels.skipped(rejoin.choice)
                yield [*ways, *taken, *others, Way(index, labels.only(rejoin.choice, spoilt))]

    def _needs(self, index: int, node: PlanNode, taken: list[Way], straight: int) -> Iterator[Demand]:
        """Rule 3."""
        if any(edge.tolerant or (edge.required and node.needs is None) for edge in node.parents):
            return  # tolerated, or said by rule 2
        needs = [edge.parent for edge in node.parents] if node.needs is None else node.needs
        others = self._ways(index, straight)
        if needs and others is not None:
            yield [*(Way(parent, self.may[parent]) for parent in needs), *taken, *others]

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

    def _straight(self, node: PlanNode) -> int:
        """The choices that may go straight on to a node, as bits."""
        return sum(1 << rejoin.choice for rejoin in node.rejoins if self.labels.straight[rejoin.choice])

    def _above(self, choice: int) -> int:
        """The choices above a choice, as bits."""
        if choice not in self.above:
            chooser = self.plan.nodes[self.plan.choices[choice].chooser]
            bits = sum(1 << target.choice for target in chooser.targeted)
            self.above[choice] = bits | sum(1 << rejoin.choice for rejoin in chooser.rejoins)
        return self.above[choice]

    def _ways(self, index: int, choices: int) -> list[Way] | None:
        """What is needed for these choices, as bits, to go straight on; None where they are too many to look at."""
        if choices.bit_count() > MOST:
            return None
        ways = []
        while choices:
            choice = choices.bit_length() - 1
            ways.append(self._given(choice, self.labels.straight[choice], index))
            choices ^= 1 << choice
        return ways

    def _nearest(self, rejoins: Sequence[Rejoin]) -> Sequence[Rejoin]:
        """Below many choices in a row, the last of them decide."""
        if len(rejoins) <= MOST:
            return rejoins
        return sorted(rejoins, key=lambda rejoin: self.rank[self.plan.choices[rejoin.choice].chooser])[-MOST:]

    def _given(self, choice: int, bits: int, index: int) -> Way:
        return Way(index, self.may[self.plan.choices[choice].chooser] & self.labels.only(choice, bits))
