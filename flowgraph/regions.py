"""Choices, compiled: what lies below their targets, and where their branches rejoin."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from .entry import Choice
from .outcome import MISSING
from .unit import Edge, PlanChoice, Rejoin, Target


class Regions:
    """Targets and rejoins, found with bit sets of what lies below each node."""

    def __init__(
        self,
        index: Mapping[str, int],
        choices: list[Choice],
        edges: list[list[Edge]],
        children: list[list[int]],
        order: tuple[int, ...],
    ) -> None:
        self.index = index
        self.edges = edges
        self.compiled: list[PlanChoice] = []
        self.targeted: dict[int, tuple[Target, ...]] = {}
        self.rejoins: dict[int, tuple[Rejoin, ...]] = {}
        self.choosers: dict[int, tuple[int, ...]] = {}
        if not choices:
            return
        self.below = [0] * len(edges)
        for node in reversed(order):
            bits = 1 << node
            for child in children[node]:
                bits |= self.below[child]
            self.below[node] = bits
        regions = [self._region(choice) for choice in choices]
        targeted: defaultdict[int, list[Target]] = defaultdict(list)
        rejoins: defaultdict[int, list[Rejoin]] = defaultdict(list)
        choosers: defaultdict[int, list[int]] = defaultdict(list)
        for number, choice in enumerate(choices):
            compiled = self._compile(choice, regions, number)
            choosers[compiled.chooser].append(number)
            for target in compiled.targets:
                targeted[target].append(self._target(target, number, compiled, regions[number]))
            for rejoin in compiled.rejoins:
                rejoins[rejoin].append(self._rejoin(rejoin, number, compiled, regions[number]))
            self.compiled.append(compiled)
        self.targeted = {node: tuple(found) for node, found in targeted.items()}
        self.rejoins = {node: tuple(found) for node, found in rejoins.items()}
        self.choosers = {node: tuple(found) for node, found in choosers.items()}

    def chooses(self, node: int) -> tuple[int, ...]:
        """The choices that a node makes."""
        return self.choosers.get(node, ())

    def _region(self, choice: Choice) -> int:
        """The targets and everything below them."""
        bits = 0
        for name in choice.targets:
            bits |= self.below[self.index[name]]
        return bits

    def _compile(self, choice: Choice, regions: list[int], number: int) -> PlanChoice:
        chooser = self.index[choice.on.name]
        targets = tuple(self.index[name] for name in choice.targets)
        chosen = frozenset(targets)
        cases = [_numbers(taken, self.index) for _, taken in choice.cases]
        has_default = choice.default is not MISSING
        if has_default:
            cases.append(_numbers(choice.default, self.index))
        return PlanChoice(
            chooser=chooser,
            source=choice.on,
            labels=tuple(label for label, _ in choice.cases),
            cases=tuple(cases),
            has_default=has_default,
            targets=targets,
            rejoins=tuple(node for node in _bits(regions[number]) if node not in chosen),
        )

    def _target(self, node: int, number: int, choice: PlanChoice, region: int) -> Target:
        through = []
        for edge in self.edges[node]:
            if edge.parent == choice.chooser or not region >> edge.parent & 1:
                continue
            others = tuple(t for t in choice.targets if t != node and self.below[t] >> edge.parent & 1)
            through.append((edge.parent, others))
        return Target(number, tuple(through))

    def _rejoin(self, node: int, number: int, choice: PlanChoice, region: int) -> Rejoin:
        parents = [edge.parent for edge in self.edges[node]]
        branch = tuple(parent for parent in parents if region >> parent & 1)
        independent = tuple(parent for parent in parents if self._independent(parent, region, choice.chooser))
        return Rejoin(number, branch, independent)

    def _independent(self, parent: int, region: int, chooser: int) -> bool:
        return not region >> parent & 1 and parent != chooser and not self.below[parent] >> chooser & 1


def _numbers(names: tuple[str, ...] | None, index: Mapping[str, int]) -> tuple[int, ...] | None:
    return None if names is None else tuple(index[name] for name in names)


def _bits(bits: int) -> list[int]:
    """The positions of the ones."""
    return [position for position, digit in enumerate(reversed(f"{bits:b}")) if digit == "1"]
