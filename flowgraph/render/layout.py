"""Layouts: where everything of a picture goes, read from the JSON of a layout engine. Pixels, y grows downwards."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..errors import DrawError
from .picture import Picture

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """The left upper corner and the size."""

    x: float
    y: float
    w: float
    h: float


@dataclass(frozen=True, slots=True)
class Route:
    """The way of an edge: points of Bézier curves, the tips of the arrows at its ends, the middle of its label."""

    points: tuple[Point, ...]
    head: Point | None = None
    tail: Point | None = None
    label: Point | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """Places by id."""

    width: float
    height: float
    cards: dict[str, Box]
    clusters: dict[str, Box]
    edges: dict[str, Route]


def read_layout(text: str, picture: Picture | None = None) -> Layout:
    """Read what Graphviz writes for `-Tjson0`.

    Raises DrawError when it is something else, or has no place for a card or a cluster of the picture.
    """
    try:
        data = json.loads(text)
        _, _, width, height = _numbers(data.get("bb") or "0,0,0,0")
        cards, clusters = {}, {}
        for thing in data.get("objects", ()):
            if "pos" in thing:
                cards[thing["name"]] = _card(thing, height)
            elif "bb" in thing and thing["name"].startswith("cluster_"):
                left, low, right, high = _numbers(thing["bb"])
                box = Box(left, height - high, right - left, high - low)
                clusters[thing["name"].removeprefix("cluster_")] = box
        edges = {edge["id"]: _route(edge, height) for edge in data.get("edges", ()) if "id" in edge and "pos" in edge}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DrawError(f"the layout engine wrote something that is no layout: {error}") from error
    if picture is not None:
        places = {*cards, *clusters}
        for card in (*picture.cards, *picture.clusters):
            if card.id not in places:
                raise DrawError(f"the layout engine wrote something that is no layout: '{card.id}' has no place")
    return Layout(width, height, cards, clusters, edges)


def _numbers(text: str) -> list[float]:
    return [float(number) for number in text.split(",")]


def _point(text: str, height: float) -> Point:
    x, y = _numbers(text)
    return x, height - y


def _card(thing: dict[str, Any], height: float) -> Box:
    x, y = _point(thing["pos"], height)
    w, h = float(thing["width"]) * 72, float(thing["height"]) * 72
    return Box(x - w / 2, y - h / 2, w, h)


def _route(edge: dict[str, Any], height: float) -> Route:
    points, head, tail = [], None, None
    for word in edge["pos"].split(";")[0].split():
        if word.startswith("e,"):
            head = _point(word[2:], height)
        elif word.startswith("s,"):
            tail = _point(word[2:], height)
        else:
            points.append(_point(word, height))
    label = _point(edge["lp"], height) if "lp" in edge else None
    return Route(tuple(points), head, tail, label)
