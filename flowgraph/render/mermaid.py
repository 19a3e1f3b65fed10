"""Mermaid: a picture as a flowchart, for pages that render Mermaid themselves."""

from __future__ import annotations

import re

from .picture import Card, Cluster, Edge, Picture
from .theme import DASHED, Colour, colour_of, paint_of, width_of

# Everything that Mermaid, Markdown or HTML could read as markup goes in as the number of the character.
_MARKS = re.compile(r"""[^\w .,·…✓✗○⊘⧖↻▶■≥()-]""")
_BRACKETS = {
    "input": ("([", "])"),
    "agent": ("{{", "}}"),
    "map": ("[[", "]]"),
    "loop": ("[[", "]]"),
    "graph": ("[[", "]]"),
    "gate": ("{", "}"),
    "sleep": ("[/", "/]"),
    "more": ("[", "]"),
}


def mermaid_of(picture: Picture) -> str:
    """The Mermaid text of a picture."""
    rows = [f"flowchart {picture.direction}"]
    inside: dict[str, list[Card]] = {}
    for member in (*picture.cards, *picture.clusters):
        inside.setdefault(member.cluster, []).append(member)
    stack: list[Card | None] = [*reversed(inside.get("", []))]  # None: here a cluster ends
    depth = 1
    while stack:
        top = stack.pop()
        if top is None:
            depth -= 1
            rows.append("  " * depth + "end")
        elif isinstance(top, Cluster):
            rows.append("  " * depth + f"subgraph {top.id}[{_label(top.texts)}]")
            depth += 1
            stack += [None, *reversed(inside.get(top.id, []))]
        else:
            left, right = _BRACKETS.get(top.kind, ("(", ")"))
            rows.append("  " * depth + f"{top.id}{left}{_label(top.texts)}{right}")
    rows += [f"  {_arrow(edge)}" for edge in picture.edges]
    rows += [_style(card) for card in (*picture.cards, *picture.clusters)]
    rows += [
        f"  linkStyle {number} stroke:{colour_of(edge).light},stroke-width:{width_of(edge):g}px"
        for number, edge in enumerate(picture.edges)
        if edge.state
    ]
    return "\n".join([*rows, ""])


def _label(lines: tuple[str, ...]) -> str:
    return '"' + "<br/>".join(_literal(line) for line in lines) + '"'


def _literal(text: str) -> str:
    return _MARKS.sub(lambda mark: f"#{ord(mark[0])};", text)


def _arrow(edge: Edge) -> str:
    dotted = edge.state == "faded" or edge.kind in ("order", "next") or edge.optional
    line = "-.->" if dotted else "==>" if edge.state == "critical" else "-->"
    label = f"|{_label((edge.label,))}|" if edge.label else ""
    return f"{edge.source} {line}{label} {edge.target}"


def _style(card: Card) -> str:
    paint = paint_of(card)
    fill: Colour = paint.fill
    dashes = ",stroke-dasharray:4 3" if card.status in DASHED else ""
    width = ",stroke-width:3px" if card.critical or card.asks else ""
    return f"  style {card.id} fill:{fill.light},stroke:{paint.stroke.light},color:#1e2530{dashes}{width}"
