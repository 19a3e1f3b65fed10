"""Opening: which nodes are drawn with what they run inside, and which of many children are left out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, TypeAlias

from .items import Item, Level, level_below
from .order import bands

Expand: TypeAlias = bool | Collection[str] | None

MOST: Final = 2000
"""Cards in a picture, at most."""
COMFORTABLE: Final = 160  # cards in a picture that nobody asked to expand
LARGE: Final = 30  # nodes in a nested graph that stays closed unless asked for
MANY: Final = 12  # children that nothing joins, all drawn
FIRST: Final = 8  # drawn of more than that
FAILURES: Final = 20  # drawn beside them, and as many that wait for people
DEEPEST: Final = 50  # clusters in clusters; layout engines work by recursion and run out of stack


class Opening:
    """Decides, level by level from the top, what to open, within a number of cards.

    expand: None opens what is small; True opens everything; False nothing; paths open these nodes and what they are
    in. Whatever is asked for, there are at most `MOST` cards and those of one level's summary. asking: path → how many
    gates are open at or below it.
    """

    def __init__(self, expand: Expand, asking: Mapping[str, int] | None = None) -> None:
        self._asking = asking or {}
        self._paths = frozenset() if expand is None or isinstance(expand, bool) else frozenset(expand)
        self._all = expand is True
        self._none = expand is False
        self._room = MOST
        self._reserve = MOST - COMFORTABLE  # kept for what was asked for

    def top(self, level: Level) -> Level:
        """The nodes of the graph itself: all of them, or, of too many, bands of neighbours as one card each."""
        if len(level.items) > MOST:
            level = _banded(level)
        self._room -= len(level.items)
        return level

    def below(self, item: Item, depth: int) -> tuple[Level | None, Level | None]:
        """What lies below an item (depth: in so many clusters), and what of it to draw inside (None: nothing)."""
        asked = self._all or item.path in self._paths
        level = level_below(item, calls=asked)
        if level is None or not level.items or self._none or depth >= DEEPEST:
            return level, None
        wanted = asked or self._leads_on(item.path)
        room = self._room if wanted else self._room - self._reserve
        # Of many rounds or items some are drawn; a part of a graph would be no picture of it.
        shown = level if level.edges or (asked and len(level.items) <= room) else self._shortened(level)
        if len(shown.items) > (room if wanted or not level.edges else min(room, LARGE)):
            return level, None
        self._room -= len(shown.items)
        return level, shown

    def _leads_on(self, path: str) -> bool:
        """Whether a path that is to be opened lies below."""
        return any(len(one) > len(path) and one.startswith(path) and one[len(path)] in "/[#~" for one in self._paths)

    def _shortened(self, level: Level) -> Level:
        """Of many children the first few, failures, open gates and what is to be opened; one card for the rest."""
        if len(level.items) <= MANY:
            return level
        kept, left, failures, gates = [], [], 0, 0
        for number, item in enumerate(level.items):
            bad = item.status is not None and item.status.bad
            failures += bad
            asks = item.path in self._asking
            gates += asks
            first = number < FIRST or (bad and failures <= FAILURES) or (asks and gates <= FAILURES)
            if first or item.path in self._paths or self._leads_on(item.path):
                kept.append(item)
            else:
                left.append(item)
        if not left:
            return level
        rest = Item(f"{left[0].path} …", f"… {len(left):,} more", "more", stands_for=tuple(left))
        return Level((*kept, rest), (), level.rounds, level.calls)


def _banded(level: Level) -> Level:
    """A level of very many nodes as bands of neighbouring layers."""
    items = {item.key: item for item in level.items}
    groups = bands(list(items), [(edge.source, edge.target) for edge in level.edges])
    home: dict[str, str] = {}
    found = []
    for group in groups:
        members = tuple(items[key] for key in group)
        item = members[0]
        if len(members) > 1:
            label = f"{len(members):,} nodes\n{item.label} … {members[-1].label}"
            item = Item(f"{item.path} … {members[-1].path}", label, "more", stands_for=members)
        found.append(item)
        home |= dict.fromkeys(group, item.key)
    edges = dict.fromkeys(
        type(edge)(home[edge.source], home[edge.target])
        for edge in level.edges
        if edge.source in home and edge.target in home and home[edge.source] != home[edge.target]
    )
    return Level(tuple(found), tuple(edges))
