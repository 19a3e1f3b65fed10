"""`fg.draw`: a graph or a run as text in one of several formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from ..record import Run
from ..spec import GraphSpec, spec_of
from .build import picture_of_graph, picture_of_run
from .dot import dot_of
from .engine import lay_out
from .layout import read_layout
from .mermaid import mermaid_of
from .opening import Expand
from .picture import Picture
from .png import png_of
from .svg import svg_of

Format: TypeAlias = Literal["svg", "png", "dot", "mermaid"]
Engine: TypeAlias = str | Path | None

_SUFFIXES: Final = {".svg": "svg", ".png": "png", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid"}


class Drawing(str):
    """The text of a drawing; kind: its format. In a notebook an SVG shows itself."""

    __slots__ = ("kind",)
    kind: str

    def _repr_svg_(self) -> str | None:
        return str(self) if self.kind == "svg" else None


def draw(
    graph_or_run: Any,
    path: str | Path | None = None,
    format: Format | None = None,
    expand: Expand = None,
    *,
    engine: Engine = None,
) -> Drawing:
    """Draw a graph, or what happened in a run. Gives back the text, and writes it to `path` when there is one.

    graph_or_run: a Graph, a GraphSpec, a Run (finished or not), or what has one as `.record`. path: a file to
    write, in UTF-8. format: "svg", "png", "dot" (Graphviz) or "mermaid"; default: by the ending of `path` (.svg,
    .png, .dot, .gv, .mmd), else "svg". A PNG is for a `path` only, and needs the extra `png`; what is given back then
    is the SVG that it was made from.
    expand: which nodes are drawn with what runs inside them. None: those that are small; True: all of them, model and
    tool calls included; False: none; or the paths of those to open beside the small ones ("team", "reviews[3]"). A
    picture never has many more than 2,000 nodes; of a larger graph it shows groups of neighbours.
    engine: the program that lays an SVG out (default: see `engine.find`).

    A drawing holds names, titles, times, costs, the short reasons why nodes did not succeed, and the open questions to
    people; never inputs, outputs or messages. The same graph or record gives the same text.

    Raises DrawError when an SVG cannot be laid out, GraphError when the graph cannot be compiled, TypeError for
    something that is neither, ValueError for a format that there is not.
    """
    chosen = format_of(path, format)
    picture = _picture(graph_or_run, expand)
    drawing = Drawing(_FORMATS[chosen](picture, engine))
    drawing.kind = "svg" if chosen == "png" else chosen
    if chosen == "png":
        if path is None:
            raise ValueError("a PNG is no text: give a path for it")
        Path(path).write_bytes(png_of(drawing))
    elif path is not None:
        Path(path).write_text(drawing, encoding="utf-8", newline="\n")
    return drawing


def _picture(thing: Any, expand: Expand) -> Picture:
    if isinstance(expand, str):
        expand = (expand,)
    if not isinstance(thing, Run):
        thing = record if isinstance(record := getattr(thing, "record", None), Run) else thing
    if isinstance(thing, Run):
        return picture_of_run(thing, expand)
    spec = thing if isinstance(thing, GraphSpec) else spec_of(thing)
    if spec is None:
        raise TypeError(f"fg.draw wants a Graph or a Run, not {type(thing).__name__}")
    return picture_of_graph(spec, expand)


def format_of(path: str | Path | None, format: str | None = None) -> str:
    """The format of a drawing: the one given, else by the ending of its path. Raises ValueError."""
    if format is None:
        if path is None:
            return "svg"
        ending = Path(path).suffix.lower()
        if ending not in _SUFFIXES:
            raise ValueError(f"no format is known by the ending {ending!r}: use {', '.join(_SUFFIXES)}, or format=")
        return _SUFFIXES[ending]
    if format not in _FORMATS:
        raise ValueError(f"there is no format {format!r}: use {', '.join(map(repr, _FORMATS))}")
    return format


def _svg(picture: Picture, engine: Engine) -> str:
    return svg_of(picture, read_layout(lay_out(dot_of(picture, blank=True), engine), picture))


_FORMATS: Final[dict[str, Callable[[Picture, Engine], str]]] = {
    "svg": _svg,
    "png": _svg,
    "dot": lambda picture, _: dot_of(picture),
    "mermaid": lambda picture, _: mermaid_of(picture),
}
