"""Sets of labels as bits: for every choice of a graph at once, the labels that it may have been given."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from typing import Any, Final

from .handle import Ref
from .unit import PlanChoice

OTHER, SKIPPED, FAILED = 0, 1, 2
"""What may become of a choice besides a label that it names: another value; its chooser was skipped, or failed (as
does a choice whose label cannot be read). They follow the labels, in this order."""

WORDS: Final = ("any other value", "when it is skipped", "when it fails")


class Labels:
    """One block of bits for each source, that is for what choices read: two choices that read the same agree.

    `every` is the set of all that may happen. Above each block stands a guard, a bit that every set has: taking one
    from each block at once leaves the guards standing but where a block is empty.
    """

    def __init__(self, choices: Sequence[PlanChoice]) -> None:
        known: dict[Ref, dict[tuple[type, Any], int]] = {}
        for choice in choices:
            block = known.setdefault(choice.source, {})
            for label in choice.labels:
                block.setdefault((type(label), label), len(block))
        self.sources = list(known)
        self.labels = [[label for _, label in block] for block in known.values()]
        self.start: list[int] = []
        self.guards = self.lows = 0
        end = 1  # the lowest bit is in every set, so that 0 stands for "never", also without choices
        for block in known.values():
            self.start.append(end)
            self.lows |= 1 << end
            end += len(block) + 3
            self.guards |= 1 << end
            end += 1
        self.every = (1 << end) - 1
        number = {source: i for i, source in enumerate(known)}
        self.block = [number[choice.source] for choice in choices]
        self.takes: list[dict[int, int]] = []  # choice → target → the labels that take it
        self.straight: list[int] = []  # choice → the labels that go straight on
        self.failed: list[int] = []  # choice → what makes it fail
        for choice in choices:
            self._choice(choice, known[choice.source])

    def _choice(self, choice: PlanChoice, block: dict[tuple[type, Any], int]) -> None:
        bits = [1 << block[type(label), label] for label in choice.labels]
        unnamed = ((1 << len(block) + 1) - 1) & ~sum(bits)
        takes: dict[int, int] = {}
        straight = 0
        for case, bit in zip(choice.cases, [*bits, unnamed], strict=False):  # the last one is the default's, if any
            for target in case or ():
                takes[target] = takes.get(target, 0) | bit
            straight |= bit if case == () else 0
        self.takes.append(takes)
        self.straight.append(straight)
        self.failed.append(1 << len(block) + FAILED | (0 if choice.has_default else unnamed))

    def only(self, choice: int, bits: int) -> int:
        """The set in which a choice has but these labels, and the others are free."""
        block = self.block[choice]
        return self.every ^ ((self._full(block) ^ bits) << self.start[block])

    def without(self, choice: int, bits: int) -> int:
        """The set in which a choice has any but these labels, and the others are free."""
        return self.every ^ (bits << self.start[self.block[choice]])

    def skipped(self, choice: int) -> int:
        """The bit, within its block, for a choice whose chooser was skipped."""
        return 1 << len(self.labels[self.block[choice]]) + SKIPPED

    def impossible(self, labels: int) -> bool:
        """Whether some choice has no label left."""
        return (labels - self.lows) & self.guards != self.guards

    # -- in words

    def empty_block(self, labels: int) -> int:
        """The first source that has no label left."""
        fallen = self.guards & ~(labels - self.lows)
        return bisect(self.start, (fallen & -fallen).bit_length() - 1) - 1

    def of(self, block: int, labels: int) -> int:
        """What is left for one source."""
        return labels >> self.start[block] & self._full(block)

    def choices_on(self, block: int) -> list[int]:
        """The choices that read this source."""
        return [choice for choice, of in enumerate(self.block) if of == block]

    def any_label(self, block: int, bits: int) -> bool:
        """Whether no label is excluded."""
        named = (1 << len(self.labels[block]) + 1) - 1
        return bits & named == named

    def shown(self, block: int, bits: int) -> str:
        """In words; skipped and failed are mentioned only where there is nothing else."""
        named = [repr(label) for label in self.labels[block]]
        texts = [*named, WORDS[OTHER]] if bits & ((1 << len(named) + 1) - 1) else ["", *named, *WORDS]
        return _or(text for i, text in enumerate([*named, *WORDS]) if bits >> i & 1 and text in texts)

    def _full(self, block: int) -> int:
        return (1 << len(self.labels[block]) + 3) - 1


def _or(texts: Iterable[str]) -> str:
    every = list(texts)
    if len(every) > 6:
        every[5:] = [f"{len(every) - 5} more"]
    return " or ".join(filter(None, [", ".join(every[:-1]), every[-1]]))
