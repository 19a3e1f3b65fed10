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
        for number, choice in enumerate(choices):
            self.compiled.append(self._compile(number, choice, regions))

    def chooses(self, node: int) -> tuple[int, ...]:
        """The choices that a node makes."""
        return self.choosers.get(node, ())

    def _region(self, choice: Choice) -> int:
        """The targets and everything below them."""
        bits = 0
        for name in choice.targets:
            bits |= self.below[self.index[name]]
        return bits

    def _compile(self, number: int, choice: Choice, regions: list[int]) -> PlanChoice:
        chooser = self.index[choice.on.name]
        targets = tuple(self.index[name] for name in choice.targets)
        self.choosers[chooser] = (*self.choosers.get(chooser, ()), number)
        region = regions[number]
        for target in targets:
            through = self._through(target, targets, region, chooser)
            self.targeted[target] = (*self.targeted.get(target, ()), Target(number, through))
        chosen = frozenset(targets)
        rejoins = tuple(node for node in _bits(region) if node not in chosen)
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

    def _through(
        self, target: int, targets: tuple[int, ...], region: int, chooser: int
    ) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The parents of a target that are, or lie below, other targets; with those targets."""
        found = []
        for edge in self.edges[target]:
            if edge.parent == chooser or not region >> edge.parent & 1:
                continue
            others = tuple(t for t in targets if t != target and self.below[t] >> edge.parent & 1)
            found.append((edge.parent, others))
        return tuple(found)

    def _independent(self, parent: int, region: int, chooser: int) -> bool:
        return not region >> parent & 1 and parent != chooser and not self.below[parent] >> chooser & 1


def _numbers(names: tuple[str, ...] | None, index: Mapping[str, int]) -> tuple[int, ...] | None:
    return None if names is None else tuple(index[name] for name in names)


def _bits(bits: int) -> list[int]:
    """The positions of the ones."""
    return [position for position, digit in enumerate(reversed(f"{bits:b}")) if digit == "1"]
