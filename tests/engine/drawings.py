"""Reading drawings: SVG by ElementTree, DOT by a layout engine."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

from flowgraph.record import GLYPHS
from flowgraph.render.engine import lay_out

SVG = "{http://www.w3.org/2000/svg}"


class Svg:
    """An SVG, parsed: its nodes, clusters and edges as elements."""

    def __init__(self, text: str) -> None:
        self.root = ET.fromstring(text)
        groups = list(self.root.iter(f"{SVG}g"))
        self.nodes = [group for group in groups if _classes(group)[:1] == ["node"]]
        self.clusters = [group for group in groups if _classes(group)[:1] == ["cluster"]]
        self.edges = [group for group in groups if _classes(group)[:1] == ["edge"]]

    def at(self, path: str) -> ET.Element:
        """The node or cluster drawn for a path."""
        (found,) = [group for group in (*self.nodes, *self.clusters) if group.get("data-path") == path]
        return found

    def edge(self, source: str, target: str) -> ET.Element:
        """The edge between the nodes or clusters of two paths."""
        ends = (self.at(source).get("id"), self.at(target).get("id"))
        (found,) = [edge for edge in self.edges if (edge.get("data-from"), edge.get("data-to")) == ends]
        return found

    @property
    def paths(self) -> list[str]:
        """The paths of all that is drawn."""
        return [group.get("data-path") or "" for group in (*self.nodes, *self.clusters)]

    @property
    def text(self) -> str:
        """All that can be read, tooltips included."""
        return "\n".join(self.root.itertext())


def words(group: ET.Element) -> list[str]:
    """The lines of text of a node, without its tooltip; a glyph and the words behind it are one."""
    lines = ["".join(line.itertext()) for line in group.iter(f"{SVG}text")]
    return [f"{lines[0]} {lines[1]}", *lines[2:]] if lines and lines[0] in GLYPHS.values() else lines


def tip(group: ET.Element) -> str:
    """The tooltip."""
    return group.findtext(f"{SVG}title") or ""


def classes(group: ET.Element) -> set[str]:
    """The classes of a group."""
    return set(_classes(group))


def is_dashed(group: ET.Element) -> bool:
    """Whether its first path is dashed."""
    return next(group.iter(f"{SVG}path")).get("stroke-dasharray") is not None


def stroke_width(group: ET.Element) -> float:
    """The width of its first path."""
    return float(next(group.iter(f"{SVG}path")).get("stroke-width") or 1)


def read_dot(text: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Labels by id and edges of a DOT text, as Graphviz understands it."""
    data: dict[str, Any] = json.loads(lay_out(text))
    things = {thing["_gvid"]: thing for thing in data.get("objects", ())}
    nodes = {thing["name"]: thing.get("label", "") for thing in things.values() if "pos" in thing}
    edges = [(things[edge["tail"]]["name"], things[edge["head"]]["name"]) for edge in data.get("edges", ())]
    return nodes, edges


def _classes(group: ET.Element) -> list[str]:
    return (group.get("class") or "").split()
