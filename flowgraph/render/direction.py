"""Which way a picture goes: down, unless that is wider than a page and to the right is better."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from .order import layers
from .picture import Card, Cluster, Direction, Edge
from .shapes import size_of, text_size

_PAGE: Final = (1000.0, 1600.0)  # pixels; down a page one can scroll
_GAP: Final = (24.0, 36.0)  # between neighbours, between layers
_FRAME: Final = 30.0


def direction_of(cards: Sequence[Card], clusters: Sequence[Cluster], edges: Sequence[Edge]) -> Direction:
    """Estimates both ways, from the innermost clusters outwards."""
    inside: dict[str, list[str]] = {one: [] for one in ("", *(cluster.id for cluster in clusters))}
    home = {}
    for member in (*cards, *clusters):
        inside[member.cluster].append(member.id)
        home[member.id] = member.cluster
    joins: dict[str, list[Edge]] = {}
    for edge in edges:
        joins.setdefault(home[edge.source], []).append(edge)
    down = {card.id: size_of(card) for card in cards}
    right = {one: (height, width) for one, (width, height) in down.items()}  # as if turned to go down
    for cluster in reversed(clusters):
        width, height = text_size(cluster.lines)
        for sizes, (least, head) in ((down, (width, height)), (right, (height, 0.0))):
            w, h = _extent(inside[cluster.id], joins.get(cluster.id, ()), sizes)
            sizes[cluster.id] = (max(w, least) + _FRAME, h + head + _FRAME)
    wide, high = _extent(inside[""], joins.get("", ()), down)
    turned_high, turned_wide = _extent(inside[""], joins.get("", ()), right)
    better = max(turned_wide / _PAGE[0], turned_high / _PAGE[1]) < max(wide / _PAGE[0], high / _PAGE[1])
    return "LR" if wide > _PAGE[0] and better else "TB"


def _extent(ids: Sequence[str], edges: Iterable[Edge], sizes: dict[str, tuple[float, float]]) -> tuple[float, float]:
    """How wide the widest layer is, and how high all layers are."""
    pairs = [(edge.source, edge.target) for edge in edges]
    rows: dict[int, tuple[float, float]] = {}
    for one, layer in (layers(ids, pairs) if pairs else _rows(ids)).items():
        (width, height), (wide, high) = sizes[one], rows.get(layer, (0.0, 0.0))
        rows[layer] = (wide + width + _GAP[0], max(high, height))
    return max((wide for wide, _ in rows.values()), default=0.0), sum(high + _GAP[1] for _, high in rows.values())


def _rows(ids: Sequence[str]) -> dict[str, int]:
    """Four in a row, where nothing joins them."""
    return {one: number // 4 for number, one in enumerate(ids)}
