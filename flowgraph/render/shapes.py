"""Shapes: what a kind of node looks like, and how large its card is.

Cards are sized here and not by the layout engine, so that a drawing is the same by every engine and its text has room
whatever sans-serif face the reader has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from .picture import Card, Line
from .text import measure
from .theme import TYPES

_PAD_X: Final = 14.0
_PAD_Y: Final = 8.0
_LEAST: Final = 76.0
_ROUND: Final = 7.0


class Shape(NamedTuple):
    """dot: the nearest shape of DOT. wider, higher: room in pixels that its outline takes from the text."""

    dot: str
    wider: float = 0
    higher: float = 0


_PLAIN: Final = Shape("box")
_SHAPES: Final = {
    "input": Shape("ellipse", 6),
    "agent": Shape("hexagon", 14),
    "map": Shape("box3d", 5, 5),
    "loop": Shape("box", 8, 8),
    "graph": Shape("folder"),
    "gate": Shape("octagon", 10, 4),
    "sleep": Shape("parallelogram", 16),
    "tool": Shape("component", 8),
    "model": Shape("ellipse", 10),
    "more": Shape("note", 4),
}


def shape_of(kind: str) -> Shape:
    """The shape of a kind of node; what has none of its own is a box."""
    return _SHAPES.get(kind, _PLAIN)


def text_size(lines: Iterable[Line]) -> tuple[float, float]:
    """Width and height in pixels of lines of text."""
    width = height = 0.0
    for line in lines:
        type_ = TYPES[line.role]
        width = max(width, measure(line.text, type_.size, bold=type_.bold))
        height += type_.pitch
    return width, height


def size_of(card: Card) -> tuple[float, float]:
    """Width and height in pixels of a card."""
    width, height = text_size(card.lines)
    if card.status is not None:  # the glyph stands before the title
        title = card.lines[0]
        width = max(width, measure(title.text, TYPES["title"].size, bold=True) + 18)
    shape = shape_of(card.kind)
    return max(round(width + 2 * _PAD_X + shape.wider), _LEAST, card.least), round(height + 2 * _PAD_Y + shape.higher)


def outline(kind: str, x: float, y: float, w: float, h: float) -> list[str]:
    """SVG paths of a kind's outline in the box at x, y; the last one is in front and carries the text."""
    if kind in ("input", "model"):
        return [rounded(x, y, w, h, h / 2)]
    if kind == "agent":
        return [
            polygon(
                [(x + 9, y), (x + w - 9, y), (x + w, y + h / 2), (x + w - 9, y + h), (x + 9, y + h), (x, y + h / 2)]
            )
        ]
    if kind == "gate":
        a, b = x + w, y + h
        return [
            polygon([(x + 8, y), (a - 8, y), (a, y + 8), (a, b - 8), (a - 8, b), (x + 8, b), (x, b - 8), (x, y + 8)])
        ]
    if kind == "sleep":
        return [polygon([(x + 10, y), (x + w, y), (x + w - 10, y + h), (x, y + h)])]
    if kind == "map":
        return [rounded(x + 5, y, w - 5, h - 5, _ROUND), rounded(x, y + 5, w - 5, h - 5, _ROUND)]
    if kind == "loop":
        return [rounded(x, y, w, h, _ROUND + 3), rounded(x + 3.5, y + 3.5, w - 7, h - 7, _ROUND)]
    if kind == "graph":  # the tab sticks out, so that edges end at the card and not at the height of the tab
        tab = min(46.0, w / 2)
        return [polygon([(x, y + h), (x, y - 6), (x + tab - 6, y - 6), (x + tab, y), (x + w, y), (x + w, y + h)])]
    if kind == "tool":
        return [rounded(x, y, w, h, 2)]
    return [rounded(x, y, w, h, _ROUND)]


def text_centre(kind: str, x: float, y: float, w: float, h: float) -> tuple[float, float]:
    """Where the middle of the text is in the box at x, y."""
    shift = 2.5 if kind == "map" else 0.0
    return x + w / 2 - shift, y + h / 2 + shift


def rounded(x: float, y: float, w: float, h: float, r: float) -> str:
    """The path of a box with round corners."""
    arc = f"A{n(r)} {n(r)} 0 0 1 "
    return (
        f"M{n(x + r)} {n(y)}H{n(x + w - r)}{arc}{n(x + w)} {n(y + r)}V{n(y + h - r)}{arc}{n(x + w - r)} {n(y + h)}"
        f"H{n(x + r)}{arc}{n(x)} {n(y + h - r)}V{n(y + r)}{arc}{n(x + r)} {n(y)}Z"
    )


def polygon(points: Iterable[tuple[float, float]]) -> str:
    """The path of a closed polygon."""
    return "M" + "L".join(f"{n(x)} {n(y)}" for x, y in points) + "Z"


def n(number: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    text = f"{number:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
