"""Choices, compiled: what lies below their targets, and where their branches rejoin."""

from __future__ import annotations

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
        if not choices:
            return
        self.below = [0] * len(edges)
        for node in reversed(order):
            bits = 1 << node
            for child in children[node]:
                bits |= self.below[child]
            self.below[node] = bits
        regions = [self._region(choice) for choice in choices]
        for number, choice in enumerate(choices):
            self.compiled.append(self._compile(number, choice, regions, children))

    def chooses(self, node: int) -> tuple[int, ...]:
        return tuple(number for number, choice in enumerate(self.compiled) if choice.chooser == node)

    def _region(self, choice: Choice) -> int:
        """The targets and everything below them."""
        bits = 0
        for name in choice.targets:
            bits |= self.below[self.index[name]]
        return bits

    def _compile(self, number: int, choice: Choice, regions: list[int], children: list[list[int]]) -> PlanChoice:
        chooser = self.index[choice.on.name]
        targets = tuple(self.index[name] for name in choice.targets)
        region = regions[number]
        for target in targets:
            through = self._through(target, targets, chooser)
            self.targeted[target] = (*self.targeted.get(target, ()), Target(number, through))
        inside = _bits(region)
        found = dict.fromkeys(child for node in inside for child in children[node] if child not in targets)
        rejoins = tuple(sorted(found))
        for node in rejoins:
            branch = tuple(e.parent for e in self.edges[node] if region >> e.parent & 1)
            independent = tuple(e.parent for e in self.edges[node] if self._independent(e.parent, region, chooser))
            self.rejoins[node] = (*self.rejoins.get(node, ()), Rejoin(number, branch, independent))
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
            rejoins=rejoins,
            enclosed=any(bits >> chooser & 1 for other, bits in enumerate(regions) if other != number),
        )

    def _through(self, target: int, targets: tuple[int, ...], chooser: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
        found = []
        for edge in self.edges[target]:
            others = tuple(t for t in targets if t != target and self.below[t] >> edge.parent & 1)
            if others and edge.parent != chooser:
                found.append((edge.parent, others))
        return tuple(found)

    def _independent(self, parent: int, region: int, chooser: int) -> bool:
        return not region >> parent & 1 and parent != chooser and not self.below[parent] >> chooser & 1


def _numbers(names: tuple[str, ...] | None, index: Mapping[str, int]) -> tuple[int, ...] | None:
    return None if names is None else tuple(index[name] for name in names)


def _bits(bits: int) -> list[int]:
    """The positions of the ones."""
    return [position for position, digit in enumerate(reversed(f"{bits:b}")) if digit == "1"]
