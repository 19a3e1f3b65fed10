"""A picture: what a drawing shows, as plain data that knows neither graphs and runs nor DOT and SVG.

Ids are made up (`n0`, `c0`, `e0`), never names, so that no name can mean anything to whatever reads the drawing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..outcome import Status
from ..record import GLYPHS

Direction: TypeAlias = Literal["TB", "LR"]
Flow: TypeAlias = Literal["graph", "grid"]
Role: TypeAlias = Literal["title", "detail", "reason"]
EdgeKind: TypeAlias = Literal["data", "order", "choice", "next"]
EdgeState: TypeAlias = Literal["", "faded", "failed", "critical"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a card. role: "title" (bold), "detail" (facts), "reason" (why, or when)."""

    text: str
    role: Role = "detail"


@dataclass(frozen=True, slots=True)
class Card:
    """A node. kind: the node's, or "more" for a card that stands for several nodes.

    status: None in the picture of a graph. tip: the tooltip. critical: it lies on the critical path. cluster: the id
    of the cluster that it is in ("" for none). path: the path of the node run, or of the node in its graph.
    least: pixels that it is wide at least. asks: it waits for a person, and stands out.
    """

    id: str
    kind: str
    lines: tuple[Line, ...]
    status: Status | None = None
    tip: str = ""
    critical: bool = False
    cluster: str = ""
    path: str = ""
    least: float = 0.0
    asks: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        """The lines, the first with the glyph of the status."""
        first, *rest = (line.text for line in self.lines)
        return (first if self.status is None else f"{GLYPHS[self.status]} {first}", *rest)


@dataclass(frozen=True, slots=True)
class Cluster(Card):
    """A node with what it runs drawn inside. flow: "graph" (edges say where things go) or "grid" (in rows)."""

    flow: Flow = "graph"


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between cards or clusters, by id.

    kind: what it carries ("next": from a round to the one after it). choice: a choice takes it or not, chosen: it did.
    optional: the target runs without it, too. state: "faded" when an end was skipped, "failed" when a failure came
    this way.
    """

    id: str
    source: str
    target: str
    kind: EdgeKind = "data"
    label: str = ""
    choice: bool = False
    chosen: bool = False
    optional: bool = False
    state: EdgeState = ""


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of the legend: a status, or what an edge looks like, and what it means."""

    sign: Status | Edge
    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing before anything has a place. Clusters come before what is in them.

    title, facts: the heading. status: the run's, None for a graph. direction: which way the edges go, "TB" (down) or
    "LR" (to the right).
    """

    title: str
    facts: tuple[str, ...]
    status: Status | None
    cards: tuple[Card, ...]
    clusters: tuple[Cluster, ...]
    edges: tuple[Edge, ...]
    legend: tuple[Key, ...] = ()
    direction: Direction = "TB"
