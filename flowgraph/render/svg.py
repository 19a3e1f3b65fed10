"""SVG: a picture and its layout as one file that stands alone: no script, no link, no font to load.

Colours for light pages stand in the elements, so that every viewer knows them; a style sheet exchanges them on dark
pages. The drawing has its own background, so that it can be read wherever it is put.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ..record import GLYPHS
from . import shapes, theme
from .layout import Box, Layout, Point, Route
from .picture import Card, Cluster, Edge, Key, Picture
from .shapes import n
from .text import measure
from .theme import Colour, Type

_NAMESPACE = "http://www.w3.org/2000/svg"
_FIT = "max-width:100%;height:auto"
_MARGIN = 24.0
_LEAST = 380.0  # width of the heading, at least
_KEY_GAP = 18.0
_KEY_PITCH = 19.0
_GLYPH = 16.0  # from the left of a glyph to the text behind it
_SAMPLE = 26.0  # length of an edge in the legend


def svg_of(picture: Picture, layout: Layout) -> str:
    """The SVG text of a picture."""
    heading, top, wide = _heading(picture, max(layout.width, _LEAST))
    width, height = max(layout.width, wide) + 2 * _MARGIN, layout.height + top + _MARGIN
    left = (width - layout.width) / 2
    size = f'width="{n(width)}" height="{n(height)}" viewBox="0 0 {n(width)} {n(height)}"'
    page = f'fill="{theme.PAPER.light}" stroke="{theme.FRAME.light}"'
    parts = [
        f'<svg xmlns="{_NAMESPACE}" class="flowgraph" role="img" {size} font-family="{theme.FONTS}" style="{_FIT}">',
        f"<title>{_text(picture.title)}</title>",
        f"<desc>{_text(' · '.join(picture.facts))}</desc>",
        f"<style>{_style()}</style>",
        f'<path d="{shapes.rounded(0.5, 0.5, width - 1, height - 1, 10)}" {page}/>',
        *heading,
        f'<g transform="translate({n(left)} {n(top)})">',
    ]
    for cluster in picture.clusters:
        parts += _cluster(cluster, layout.clusters[cluster.id])
    # What did not happen lies below what did, and the critical path above all.
    for edge in sorted(picture.edges, key=lambda edge: ("faded", "", "failed", "critical").index(edge.state)):
        if edge.id in layout.edges:
            parts += _edge(edge, layout.edges[edge.id])
    for card in picture.cards:
        parts += _card(card, layout.cards[card.id])
    parts += [
        _edge_label(edge, layout.edges[edge.id]) for edge in picture.edges if edge.label and edge.id in layout.edges
    ]
    return "\n".join([*(part for part in parts if part), "</g>", "</svg>", ""])


def _style() -> str:
    rules = []
    for light, dark in theme.pairs():
        rules.append(f'.flowgraph [fill="{light}"]{{fill:{dark}}}.flowgraph [stroke="{light}"]{{stroke:{dark}}}')
    dark_rules = "".join(rules)
    return (
        f".flowgraph text{{font-variant-emoji:text;white-space:pre}}@media (prefers-color-scheme:dark){{{dark_rules}}}"
    )


# -- heading and legend


def _heading(picture: Picture, room: float) -> tuple[list[str], float, float]:
    """The heading, where the drawing below it begins, and how wide the heading is."""
    y = _MARGIN + 10
    parts = [_words(picture.title, _MARGIN, y, theme.HEADING)]
    wide = measure(picture.title, theme.HEADING.size, bold=True)
    y += theme.HEADING.pitch - 3
    facts = " · ".join(picture.facts)
    if picture.status is not None:
        paint = theme.paint_of(Card("", "graph", (), picture.status))
        parts.append(_words(GLYPHS[picture.status], _MARGIN, y, Type(13, 18, True, paint.stroke)))
    indent = 0.0 if picture.status is None else 18.0
    parts.append(_words(facts, _MARGIN + indent, y, theme.FACTS))
    wide = max(wide, measure(facts, theme.FACTS.size) + indent)
    x = _MARGIN
    room = max(room, wide)
    for number, key in enumerate(picture.legend):
        width = _key_width(key)
        if not number or x + width > _MARGIN + room:
            x, y = _MARGIN, y + _KEY_PITCH + (3 if not number else 0)
        parts.append(_key(key, x, y))
        x += width + _KEY_GAP
        wide = max(wide, x - _KEY_GAP - _MARGIN)
    return parts, y + 20, wide


def _key_width(key: Key) -> float:
    return (_SAMPLE + 6 if isinstance(key.sign, Edge) else 16) + measure(key.text, 10.5)


def _key(key: Key, x: float, y: float) -> str:
    small = theme.TYPES["detail"]
    if isinstance(key.sign, Edge):
        end = (x + _SAMPLE, y - 3.5)
        start = (x + (9 if key.sign.choice else 0), y - 3.5)
        tail = (x, y - 3.5) if key.sign.choice else None
        route = Route((start, start, (end[0] - 7, end[1]), (end[0] - 7, end[1])), end, tail)
        sample = "".join(_lines(key.sign, route))
        return f"<g>{sample}{_words(key.text, x + _SAMPLE + 6, y, small)}</g>"
    colour = theme.paint_of(Card("", "", (), key.sign)).stroke
    return f"<g>{_words(GLYPHS[key.sign], x, y, Type(12, 14, True, colour))}{_words(key.text, x + 16, y, small)}</g>"


# -- nodes


def _card(card: Card, box: Box) -> list[str]:
    paint = theme.paint_of(card)
    dashes = ' stroke-dasharray="4,3"' if card.status in theme.DASHED else ""
    stroke = f'stroke="{paint.stroke.light}" stroke-width="{theme.outline_of(card)}"{dashes}'
    paths = shapes.outline(card.kind, box.x, box.y, box.w, box.h)
    x, y = shapes.text_centre(card.kind, box.x, box.y, box.w, box.h)
    return [
        _group("node", card),
        *(f'<path d="{path}" fill="{paint.fill.light}" {stroke}/>' for path in paths),
        *_rows(card, x, y - shapes.text_size(card.lines)[1] / 2, "middle"),
        "</g>",
    ]


def _cluster(cluster: Cluster, box: Box) -> list[str]:
    paint = theme.paint_of(cluster)
    stroke = f'stroke="{paint.stroke.light}" stroke-width="{2.4 if cluster.critical else 1}"'
    path = shapes.rounded(box.x, box.y, box.w, box.h, 9)
    rows = _rows(cluster, box.x + 12, box.y + 6, "start")
    return [_group("cluster", cluster), f'<path d="{path}" fill="{theme.INSIDE.light}" {stroke}/>', *rows, "</g>"]


def _group(what: str, card: Card) -> str:
    names = " ".join(word for word in (what, _word(card.kind), str(card.status or "")) if word)
    return f'<g id="{card.id}" class="{names}" data-path="{_text(card.path)}"><title>{_text(card.tip)}</title>'


def _rows(card: Card, x: float, y: float, anchor: str) -> Iterable[str]:
    """The lines of a card from y downwards, the first with its glyph.

    The glyph is a text of its own: some renderers set a whole text in the first font that has all of its characters.
    """
    for number, line in enumerate(card.lines):
        type_ = theme.TYPES[line.role]
        base, at = y + type_.pitch * 0.76, x
        if not number and card.status is not None:
            colour = theme.paint_of(card).stroke
            at = x + (_GLYPH / 2 if anchor == "middle" else _GLYPH)
            left = at - measure(line.text, type_.size, bold=type_.bold) / 2 - _GLYPH if anchor == "middle" else x
            yield _words(GLYPHS[card.status], left, base, type_._replace(colour=colour))
        colour = theme.MUTED if card.status in theme.DASHED else type_.colour
        yield _words(line.text, at, base, type_._replace(colour=colour), anchor)
        y += type_.pitch


# -- edges


def _edge(edge: Edge, route: Route) -> list[str]:
    names = " ".join(word for word in ("edge", edge.kind, edge.state, "chosen" if edge.chosen else "") if word)
    return [
        f'<g id="{edge.id}" class="{names}" data-from="{edge.source}" data-to="{edge.target}">',
        *_lines(edge, route),
        "</g>",
    ]


def _lines(edge: Edge, route: Route) -> list[str]:
    colour, width = theme.colour_of(edge), theme.width_of(edge)
    dashes = f' stroke-dasharray="{theme.dashes_of(edge)}"' if theme.dashes_of(edge) else ""
    start, *rest = route.points
    curve = f"M{n(start[0])} {n(start[1])}C" + " ".join(f"{n(x)} {n(y)}" for x, y in rest)
    line = f'<path d="{curve}" fill="none" stroke="{colour.light}" stroke-width="{width}"{dashes}/>'
    ends = []
    if route.head is not None:
        ends.append(_end(_arrow(route.points[-1], route.head), colour, hollow=edge.optional))
    if route.tail is not None:
        ends.append(_end(_diamond(start, route.tail), colour, hollow=True))
    return [line, *ends]


def _edge_label(edge: Edge, route: Route) -> str:
    if route.label is None:
        return ""
    colour = theme.INK if edge.chosen else theme.FAINT if edge.state == "faded" else theme.EDGE_TYPE.colour
    type_ = theme.EDGE_TYPE._replace(bold=edge.chosen, colour=colour)
    halo = f' stroke="{theme.PAPER.light}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'
    return _words(edge.label, route.label[0], route.label[1] + 3.5, type_, "middle", more=halo)


def _end(points: list[Point], colour: Colour, *, hollow: bool) -> str:
    fill = theme.PAPER if hollow else colour
    path = shapes.polygon(points)
    return f'<path d="{path}" fill="{fill.light}" stroke="{colour.light}" stroke-width="1.2" stroke-linejoin="round"/>'


def _arrow(base: Point, tip: Point) -> list[Point]:
    x, y = _across(base, tip, 3.2)
    return [tip, (base[0] + x, base[1] + y), (base[0] - x, base[1] - y)]


def _diamond(base: Point, tip: Point) -> list[Point]:
    x, y = _across(base, tip, 3.2)
    middle = ((base[0] + tip[0]) / 2, (base[1] + tip[1]) / 2)
    return [tip, (middle[0] + x, middle[1] + y), base, (middle[0] - x, middle[1] - y)]


def _across(base: Point, tip: Point, length: float) -> Point:
    """A vector of some length at a right angle to the way from base to tip."""
    x, y = tip[0] - base[0], tip[1] - base[1]
    size = (x * x + y * y) ** 0.5 or 1.0
    return -y / size * length, x / size * length


# -- text


def _words(words: str, x: float, y: float, type_: Type, anchor: str = "start", more: str = "") -> str:
    weight = ' font-weight="700"' if type_.bold else ""
    middle = ' text-anchor="middle"' if anchor == "middle" else ""
    where = f'x="{n(x)}" y="{n(y)}" font-size="{type_.size:g}" fill="{type_.colour.light}"'
    return f"<text {where}{weight}{middle}{more}>{_text(words)}</text>"


def _text(words: str) -> str:
    return escape(words)


def _word(kind: str) -> str:
    """A kind as a class of its own: user code may name kinds."""
    return "".join(char for char in kind if char.isascii() and (char.isalnum() or char in "-_"))
