"""DOT: a picture as the text that Graphviz reads. The only module that imports the graphviz package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from .picture import Card, Cluster, Edge, Picture
from .shapes import shape_of, size_of, text_size
from .text import measure
from .theme import DASHED, EDGE_TYPE, INK, INSIDE, PAPER, colour_of, paint_of, width_of

if TYPE_CHECKING:
    from graphviz import Digraph

C = TypeVar("C", bound=Card)

_COLUMNS = 4  # of a grid
_EM = 5.56 / 10  # the width of the letter n


def dot_of(picture: Picture, *, blank: bool = False) -> str:
    """The DOT text of a picture.

    blank: for the layout. Then it holds ids and sizes only, and letters n in place of the labels, so that nothing a
    user wrote ever gets to the engine; and every card is a box, so that edges end where our own outlines begin.
    """
    import graphviz

    graph = graphviz.Digraph("flowgraph", graph_attr=_page(picture, blank), **_defaults(blank))
    bodies: dict[str, Digraph] = {"": graph}
    for cluster in picture.clusters:
        bodies[cluster.id] = graphviz.Digraph(f"cluster_{cluster.id}", graph_attr=_cluster(cluster, blank))
    for card in _first_on_top(picture.cards, picture):
        bodies[card.cluster].node(card.id, **_card(card, blank))
    anchors = _Anchors(picture)
    for cluster in picture.clusters:
        anchors.arrange(cluster, bodies[cluster.id])
    inside: dict[str, list[Digraph]] = {}
    for cluster in _first_on_top(picture.clusters, picture):
        inside.setdefault(cluster.cluster, []).append(bodies[cluster.id])
    for name in reversed(bodies):  # the innermost first: a subgraph is copied as it is
        for body in inside.get(name, ()):
            bodies[name].subgraph(body)
    for edge in picture.edges:
        graph.edge(anchors.exit[edge.source], anchors.entry[edge.target], **_edge(edge, anchors.clusters, blank))
    return str(graph.source)


def _first_on_top(cards: Sequence[C], picture: Picture) -> list[C]:
    """Cards in the order in which they are written. To go to the right, engines turn what they have laid out downwards:
    of what nothing joins, the first would get lowest.
    """
    grids = {cluster.id for cluster in picture.clusters if cluster.flow == "grid" and picture.direction == "LR"}
    turned = reversed([card for card in cards if card.cluster in grids])
    return [next(turned) if card.cluster in grids else card for card in cards]


def literal(text: str) -> str:
    """Text that DOT shows as it is: no escapes, no entities, no HTML."""
    import graphviz

    # The result stays what graphviz made of it: a plain str in angle brackets would be read as HTML.
    found: str = graphviz.escape(text.replace("&", "&amp;"))
    return found


def _label(lines: Sequence[str], *, left: bool = False) -> str:
    """A label of several lines, in the middle or to the left."""
    import graphviz

    rows = [literal(line) for line in lines]
    found: str = graphviz.nohtml("".join(f"{row}\\l" for row in rows) if left else "\\n".join(rows))
    return found


def _placeholder(width: float, lines: int, size: float) -> str:
    return "\\n".join(["n" * max(math.ceil(width / (_EM * size)), 1)] * max(lines, 1))


def _page(picture: Picture, blank: bool) -> dict[str, str]:
    page = {"rankdir": picture.direction, "compound": "true", "nodesep": "0.3", "ranksep": "0.42"}
    if blank:
        return page | {"margin": "16"}  # between clusters
    facts = " · ".join(picture.facts)
    return page | {
        "label": _label([picture.title, facts, ""], left=True),
        "labelloc": "t",
        "labeljust": "l",
        "bgcolor": PAPER.light,
        "fontname": "Helvetica",
        "fontcolor": INK.light,
        "tooltip": literal(picture.title),
    }


def _defaults(blank: bool) -> dict[str, dict[str, str]]:
    font = {"fontname": "Helvetica", "fontcolor": INK.light}
    node = {"shape": "box", "fixedsize": "true"} | ({"label": ""} if blank else {"fontsize": "11", **font})
    edge = {"fontsize": "10", "arrowsize": "0.7"} | ({"fontname": "Helvetica"} if blank else font)
    return {"node_attr": node, "edge_attr": edge}


def _card(card: Card, blank: bool) -> dict[str, str]:
    width, height = size_of(card)
    size = {"width": f"{width / 72:.3f}", "height": f"{height / 72:.3f}"}
    if blank:
        return size
    paint, shape = paint_of(card), shape_of(card.kind).dot
    style = ["filled", *(["rounded"] if shape == "box" else []), *(["dashed"] if card.status in DASHED else [])]
    return size | {
        "label": _label(card.texts),
        "tooltip": literal(card.tip.replace("\n", " · ")),
        "shape": shape,
        "style": ",".join(style),
        "fillcolor": paint.fill.light,
        "color": paint.stroke.light,
        **({"peripheries": "2"} if card.kind == "loop" else {}),
        **({"penwidth": "2.6"} if card.critical or card.asks else {}),
    }


def _cluster(cluster: Cluster, blank: bool) -> dict[str, str]:
    width, height = text_size(cluster.lines)
    if blank:
        rows = math.ceil(height / 13)
        return {
            "label": _placeholder(width + 20, rows, 11),
            "labeljust": "l",
            "fontsize": "11",
            "margin": "12",
            "fontname": "Helvetica",
        }
    paint = paint_of(cluster)
    return {
        "label": _label(cluster.texts, left=True),
        "labeljust": "l",
        "fontsize": "11",
        "tooltip": literal(cluster.tip.replace("\n", " · ")),
        "style": "filled,rounded",
        "fillcolor": INSIDE.light,
        "color": paint.stroke.light,
        **({"penwidth": "2.6"} if cluster.critical else {}),
    }


def _edge(edge: Edge, clusters: frozenset[str], blank: bool) -> dict[str, str]:
    found = {"id": edge.id}
    if edge.source in clusters:
        found["ltail"] = f"cluster_{edge.source}"
    if edge.target in clusters:
        found["lhead"] = f"cluster_{edge.target}"
    if "ltail" in found or "lhead" in found:
        found["minlen"] = "2"  # the part outside of the cluster would be no longer than its arrow
    if edge.choice:
        found |= {"dir": "both", "arrowtail": "odiamond"}
    if edge.state == "critical":
        found["weight"] = "4"
    if blank:
        if edge.label:
            width = measure(edge.label, EDGE_TYPE.size, bold=edge.chosen)
            found["label"] = _placeholder(width + 6, 1, 10)
        return found
    dashed = edge.state == "faded" or edge.kind == "order"
    style = "dashed" if dashed else "dotted" if edge.kind == "next" else "solid"
    return found | {
        **({"label": _label([edge.label])} if edge.label else {}),
        **({"fontname": "Helvetica-Bold"} if edge.chosen else {}),
        **({"arrowhead": "onormal"} if edge.optional else {}),
        "style": style,
        "color": colour_of(edge).light,
        "penwidth": f"{width_of(edge):g}",
    }


class _Anchors:
    """Where edges to and from clusters hold on: DOT joins only nodes, and cuts the edge at the cluster's border."""

    def __init__(self, picture: Picture) -> None:
        self._turned = picture.direction == "LR"
        self.clusters = frozenset(cluster.id for cluster in picture.clusters)
        self.entry = {card.id: card.id for card in picture.cards}
        self.exit = dict(self.entry)
        self._members: dict[str, list[str]] = {}
        for member in (*picture.cards, *picture.clusters):
            self._members.setdefault(member.cluster, []).append(member.id)
        self._targets = {edge.target for edge in picture.edges}
        self._sources = {edge.source for edge in picture.edges}
        self._invisible: dict[str, list[tuple[str, str]]] = {}
        home = {member.id: member.cluster for member in (*picture.cards, *picture.clusters)}
        inner = [edge for edge in picture.edges if home[edge.source]]
        fed, feeding = {edge.target for edge in inner}, {edge.source for edge in inner}
        for cluster in reversed(picture.clusters):
            members = self._members[cluster.id]
            if cluster.flow == "grid":
                self._grid(cluster.id, members)
            else:
                self.entry[cluster.id] = self._end(cluster.id, "i", [m for m in members if m not in fed] or members[:1])
                self.exit[cluster.id] = self._end(
                    cluster.id, "o", [m for m in members if m not in feeding] or members[-1:]
                )

    def arrange(self, cluster: Cluster, body: Digraph) -> None:
        """Write what keeps a cluster's inside in place: unseen edges, and rows of a grid."""
        seen: set[str] = set()
        for source, target in self._invisible.get(cluster.id, ()):
            for name in (source, target):
                if name[0] == "c" and name not in seen:
                    seen.add(name)
                    body.node(name, shape="point", style="invis", width="0.01", height="0.01", label="")
            body.edge(source, target, style="invis")
        members = self._members[cluster.id]
        if cluster.flow == "grid" and not self.clusters.intersection(members):
            columns = _columns(len(members))
            for start in range(0, len(members), columns):
                row = members[start : start + columns]
                if self._turned:  # a rank then goes upwards
                    row.reverse()
                unseen = " [style=invis]" if len(row) > 1 else ""  # an edge inside a rank keeps the order in it
                body.body.append(f"\t{{rank=same; {' -> '.join(row)}{unseen}}}\n")

    def _grid(self, cluster: str, members: list[str]) -> None:
        columns = _columns(len(members))
        pairs = zip(members, members[columns:], strict=False)
        self._invisible[cluster] = [(self.exit[above], self.entry[below]) for above, below in pairs]
        last = members[(len(members) - 1) // columns * columns :]
        self.entry[cluster] = self.entry[members[min(columns, len(members)) // 2]]
        self.exit[cluster] = self.exit[last[len(last) // 2]]

    def _end(self, cluster: str, side: str, members: list[str]) -> str:
        """The one node that an edge can hold on to; of several, a point that is above, or below, all of them."""
        ends = [self.entry[member] if side == "i" else self.exit[member] for member in members]
        wanted = cluster in (self._targets if side == "i" else self._sources)
        if len(ends) == 1 or not wanted:
            return ends[0]
        point = cluster + side
        pairs = [(point, end) if side == "i" else (end, point) for end in ends]
        self._invisible.setdefault(cluster, []).extend(pairs)
        return point


def _columns(count: int) -> int:
    return count if count < _COLUMNS else min(_COLUMNS, math.ceil(math.sqrt(count)))
