"""Colours and sizes. Every colour is a pair: for light pages, and for dark ones."""

from __future__ import annotations

from typing import Final, NamedTuple

from ..outcome import Status
from .picture import Card, Edge, Role


class Colour(NamedTuple):
    """A colour on light pages and its counterpart on dark ones."""

    light: str
    dark: str


class Paint(NamedTuple):
    """How a box is filled and outlined."""

    fill: Colour
    stroke: Colour


PAPER: Final = Colour("#ffffff", "#0f1318")
FRAME: Final = Colour("#e3e7ec", "#262e38")
INK: Final = Colour("#1e2530", "#e7ebf1")
MUTED: Final = Colour("#576271", "#9ea9b8")
LINE: Final = Colour("#76828f", "#828d9b")
FAINT: Final = Colour("#a3adb9", "#616c7a")
STRONG: Final = Colour("#2c3644", "#d3dae4")
ALERT: Final = Colour("#cc5f66", "#d9777d")

_NEUTRAL: Final = Paint(Colour("#f7f8fa", "#191f27"), Colour("#8a95a3", "#717c8b"))
_HOLDER: Final = Paint(Colour("#eef6f6", "#14262a"), Colour("#4a8f94", "#62aeb4"))
INSIDE: Final = Colour("#fbfcfd", "#141920")
"""What clusters are filled with, so that the cards in them stand out."""

_KINDS: Final = {
    "input": Paint(Colour("#ffffff", "#0f1318"), Colour("#8a95a3", "#717c8b")),
    "agent": Paint(Colour("#eef2fd", "#182040"), Colour("#5f78c9", "#8aa2f0")),
    "map": _HOLDER,
    "loop": _HOLDER,
    "graph": _HOLDER,
    "gate": Paint(Colour("#fdf6e6", "#2c2411"), Colour("#b58a2b", "#d6ae55")),
}
_STATUSES: Final = {
    Status.PENDING: Paint(Colour("#fcfdfd", "#12171e"), Colour("#adb7c3", "#5a6573")),
    Status.RUNNING: Paint(Colour("#e8f1fd", "#122440"), Colour("#2a70cc", "#6cabf7")),
    Status.RETRYING: Paint(Colour("#fff6da", "#2f280e"), Colour("#9a7300", "#e0b83f")),
    Status.WAITING: Paint(Colour("#f3eefd", "#241b3a"), Colour("#7a4ed2", "#ae8cf2")),
    Status.PAUSED: Paint(Colour("#f5f0fa", "#291f3d"), Colour("#8553bd", "#b897ea")),
    Status.SUCCEEDED: Paint(Colour("#eaf6ee", "#12291d"), Colour("#2a8656", "#4fc585")),
    Status.FAILED: Paint(Colour("#fdebeb", "#36181a"), Colour("#c43535", "#f27d7d")),
    Status.TIMED_OUT: Paint(Colour("#fff0e2", "#35230f"), Colour("#b95a08", "#f0a35e")),
    Status.SKIPPED: Paint(Colour("#f6f7f8", "#171c23"), Colour("#8893a0", "#7b8695")),
    Status.UPSTREAM_FAILED: Paint(Colour("#fcf0f3", "#2d1821"), Colour("#ac5474", "#d88ba8")),
    Status.CANCELLED: Paint(Colour("#f1eff6", "#211d2d"), Colour("#6f6592", "#a69bcb")),
}
_ASKING: Final = Paint(Colour("#e2d3fb", "#3d2a6b"), Colour("#6a35d0", "#c3a8fb"))
"""A gate that waits for a person."""
DASHED: Final = frozenset({Status.SKIPPED, Status.UPSTREAM_FAILED, Status.PENDING})
"""Statuses of nodes that did not run: their boxes are dashed."""


class Type(NamedTuple):
    """How a line of text is set: size and distance to the next line in pixels."""

    size: float
    pitch: float
    bold: bool
    colour: Colour


TYPES: Final[dict[Role, Type]] = {
    "title": Type(13, 16, True, INK),
    "detail": Type(10.5, 14, False, MUTED),
    "reason": Type(10.5, 14, False, INK),
}
EDGE_TYPE: Final = Type(10.5, 13, False, MUTED)
HEADING: Final = Type(18, 24, True, INK)
FACTS: Final = Type(12, 18, False, MUTED)
FONTS: Final = "Helvetica, Arial, 'Liberation Sans', sans-serif"


def paint_of(card: Card) -> Paint:
    """By status in the picture of a run, by kind in that of a graph."""
    if card.asks:
        return _ASKING
    if card.status is not None:
        return _STATUSES[card.status]
    return _KINDS.get(card.kind, _NEUTRAL)


def outline_of(card: Card) -> float:
    """The width of a box's outline in pixels: bold on the critical path, and where a person is waited for."""
    return 2.6 if card.critical or card.asks else 1.2


def colour_of(edge: Edge) -> Colour:
    """The colour of an edge."""
    return {"": LINE, "faded": FAINT, "failed": ALERT, "critical": STRONG}[edge.state]


def dashes_of(edge: Edge) -> str:
    """The dashes of an edge ("" for a solid line): skipped, order only, from round to round."""
    if edge.state == "faded":
        return "3,4"
    return {"order": "7,4", "next": "1.5,3"}.get(edge.kind, "")


def width_of(edge: Edge) -> float:
    """The width of an edge in pixels."""
    return 2.6 if edge.state == "critical" else 1.3


def pairs() -> list[Colour]:
    """Every colour there is, each once."""
    plain = [PAPER, FRAME, INK, MUTED, LINE, FAINT, STRONG, ALERT, INSIDE]
    boxes = [colour for paint in (_NEUTRAL, *_KINDS.values(), *_STATUSES.values(), _ASKING) for colour in paint]
    return list(dict.fromkeys([*plain, *boxes]))
