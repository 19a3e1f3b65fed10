"""Pictures of graphs: kinds, notes, edges, clusters, sizes, and titles that try to be markup."""

from __future__ import annotations

import re
import shutil
import time
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest

import flowgraph as fg
from flowgraph.render.build import picture_of_graph
from flowgraph.spec import EdgeSpec, GraphSpec, NodeSpec
from tests.engine.drawings import Svg, classes, is_dashed, read_dot, tip, words

DEBIAN_DOT = shutil.which("dot")
HOSTILE = [
    'say "hi"',
    "back\\slash\\",
    "\\N \\G \\l \\",
    "two\nlines",
    "<b>bold</b>",
    "</title><script>alert(1)</script>",
    "a & b &amp; c &#65;",
    "]]> <!-- --> <![CDATA[",
    "n0:x",
    "日本語",
    "Ωμέγα ещё раз",
    "\u202egnp.exe",
    "bell\x07 null\x00 \ud800",
    "emoji 🙂",
    "```mermaid` %%{init}%%",
    "{{x}} [y] (z) |w|",
]


def plain_graph() -> fg.Graph:
    graph = fg.Graph("claims", title="Claims & checks")
    graph.input("text", str)

    @graph.node(retry=fg.Retry(attempts=3), timeout=30)
    def risk(text: str) -> Literal["low", "high"]:
        return "low"

    graph.choose(risk, {"low": [], "high": "legal"})

    @graph.node(title="Legal check")
    def legal(text: str) -> str:
        return text

    @graph.node(when="len(text) > 10", after=risk)
    def page(text: str, legal: fg.Maybe[str]) -> str:
        return text

    return graph


def spec_with(titles: list[str]) -> GraphSpec:
    nodes = tuple(NodeSpec(f"x{i}", "function", title) for i, title in enumerate(titles))
    edges = tuple(EdgeSpec(f"x{i}", f"x{i + 1}", "choice", title) for i, title in enumerate(titles[:-1]))
    return GraphSpec("g", titles[0], nodes, edges, {f"x{i}": title for i, title in enumerate(titles)})


def nested(count: int) -> fg.Graph:
    inner = fg.Graph("inner")
    inner.input("x", int)
    before = "x"
    for number in range(count):
        inner.add(f"part{number}", lambda value: value, bind={"value": before})
        before = f"part{number}"
    graph = fg.Graph("outer")
    graph.input("x", int)
    graph.add("first", lambda x: x)
    graph.add("team", inner, bind={"x": "first"})
    graph.add("last", lambda team: team)
    return graph


def test_a_graph_as_svg() -> None:
    drawing = Svg(fg.draw(plain_graph()))
    assert drawing.root.findtext("{http://www.w3.org/2000/svg}title") == "Claims & checks"
    assert "3 nodes · 1 input" in drawing.text
    assert words(drawing.at("risk")) == ["risk", "3 attempts · 30 s"]
    assert words(drawing.at("legal")) == ["Legal check"]
    assert words(drawing.at("page")) == ["page", "when len(text) > 10"]
    assert tip(drawing.at("legal")).splitlines()[0] == "legal"
    assert classes(drawing.at("text")) == {"node", "input"}
    assert "high" in drawing.text
    assert {"edge", "order"} == classes(drawing.edge("risk", "page"))
    assert is_dashed(drawing.edge("risk", "page"))
    assert not is_dashed(drawing.edge("text", "risk"))


def test_an_optional_edge_has_a_hollow_head() -> None:
    drawing = Svg(fg.draw(plain_graph()))
    *_, head = drawing.edge("legal", "page").iter("{http://www.w3.org/2000/svg}path")
    *_, solid = drawing.edge("text", "legal").iter("{http://www.w3.org/2000/svg}path")
    assert head.get("fill") != head.get("stroke")
    assert solid.get("fill") == solid.get("stroke")


def test_the_legend_explains_only_what_is_drawn() -> None:
    text = Svg(fg.draw(plain_graph())).text
    assert {"a choice", "used if there", "order only"} <= set(text.split("\n"))
    assert "order only" not in Svg(fg.draw(nested(2))).text


def test_parallel_edges_are_drawn_as_one() -> None:
    graph = fg.Graph("g")
    graph.add("kind", lambda: "x")
    graph.choose("kind", {"x": "use"})
    graph.add("use", lambda kind: kind)
    (edge,) = Svg(fg.draw(graph)).edges
    assert classes(edge) == {"edge", "data"}


@pytest.mark.parametrize("format", ["svg", "dot", "mermaid"])
def test_the_same_graph_gives_the_same_text(format: Literal["svg", "dot", "mermaid"]) -> None:
    assert fg.draw(plain_graph(), format=format) == fg.draw(plain_graph(), format=format)


# -- nesting


def test_small_nested_graphs_are_clusters_with_their_edges() -> None:
    drawing = Svg(fg.draw(nested(3)))
    assert [cluster.get("data-path") for cluster in drawing.clusters] == ["team"]
    assert drawing.edge("team/part0", "team/part1") is not None
    assert drawing.edge("first", "team") is not None
    assert drawing.edge("team", "last") is not None
    assert "team/x" not in drawing.paths  # the inputs of the inner graph are what the outer edges bring


@pytest.mark.parametrize("engine", [None, DEBIAN_DOT])
def test_what_is_in_a_cluster_is_drawn_inside_it(engine: str | None) -> None:
    if engine is None and DEBIAN_DOT is None:
        pytest.skip("no other Graphviz on the PATH")
    drawing = Svg(fg.draw(nested(3), engine=engine))
    left, top, right, bottom = box(drawing, "team")
    for name in ("team/part0", "team/part1", "team/part2"):
        x, y, a, b = box(drawing, name)
        assert left < x < a < right
        assert top < y < b < bottom
    assert box(drawing, "first")[3] < top
    assert bottom < box(drawing, "last")[1]


def box(drawing: Svg, path: str) -> tuple[float, float, float, float]:
    steps = next(drawing.at(path).iter("{http://www.w3.org/2000/svg}path")).get("d") or ""
    xs, ys = [], []
    for letter, numbers in re.findall(r"([MHV])([-\d. ]+)", steps):
        values = [float(number) for number in numbers.split()]
        xs += values[:1] if letter in "MH" else []
        ys += values[-1:] if letter in "MV" else []
    return min(xs), min(ys), max(xs), max(ys)


def test_large_nested_graphs_stay_closed_until_asked_for() -> None:
    graph = nested(40)
    closed = Svg(fg.draw(graph))
    assert closed.clusters == []
    assert words(closed.at("team")) == ["team", "graph · 40 nodes"]
    for expand in (True, ["team"], "team", ["team/part3"]):
        assert len(Svg(fg.draw(graph, expand=expand)).nodes) == 43
    assert Svg(fg.draw(nested(3), expand=False)).clusters == []


def test_deeper_paths_open_what_they_are_in() -> None:
    outer = fg.Graph("outer")
    outer.add("big", nested(40), bind={}, values={"x": 1})
    paths = Svg(fg.draw(outer, expand=["big/team"])).paths
    assert "big/team/part39" in paths


# -- names and titles


@pytest.mark.parametrize("engine", [None, DEBIAN_DOT])
def test_hostile_titles_are_text_and_nothing_else(engine: str | None) -> None:
    if engine is None and DEBIAN_DOT is None:
        pytest.skip("no other Graphviz on the PATH")
    text = fg.draw(spec_with(HOSTILE), engine=engine)
    drawing = Svg(text)
    assert {element.tag.rpartition("}")[2] for element in drawing.root.iter()} <= {
        *("svg", "title", "desc", "style", "g", "path", "text")
    }
    assert words(drawing.at("x4"))[0] == "<b>bold</b>"
    assert words(drawing.at("x6"))[0] == "a & b &amp; c &#65;"
    assert words(drawing.at("x2"))[0] == "\\N \\G \\l \\"
    assert words(drawing.at("x3"))[:2] == ["two", "lines"]
    assert words(drawing.at("x9"))[0] == "日本語"
    assert "\u202e" not in text
    assert "href" not in text


def test_no_title_ever_reaches_the_layout_engine() -> None:
    from flowgraph.render.dot import dot_of

    source = dot_of(picture_of_graph(spec_with(["marker-title"] * 3)), blank=True)
    assert "marker" not in source


def test_c46_colons_in_names_make_no_ports() -> None:
    names = ["a:b", "x::y", ":n", "img:3.7@sha256:ab"]
    spec = GraphSpec("g", "", tuple(NodeSpec(n, "function") for n in names), _chain(names))
    nodes, edges = read_dot(fg.draw(spec, format="dot"))
    assert list(nodes.values()) == names
    assert edges == list(zip(nodes, list(nodes)[1:], strict=False))
    mermaid = fg.draw(spec, format="mermaid")
    assert len(set(re.findall(r"^ +(n\d+)\(", mermaid, re.MULTILINE))) == len(names)
    assert re.findall(r"^ +(n\d+) --> (n\d+)$", mermaid, re.MULTILINE) == edges
    svg = Svg(fg.draw(spec))
    assert [group.get("data-path") for group in svg.nodes] == names


RESERVED = [
    *("node", "edge", "graph", "digraph", "subgraph", "strict", "end", "default", "style", "", " "),
    *("a b", "a_b", "node_1", "node_2", "A", "a"),
]


def test_c47_reserved_names_and_names_that_look_alike_stay_apart() -> None:
    spec = GraphSpec("graph", "", tuple(NodeSpec(n, "function") for n in RESERVED), _chain(RESERVED))
    nodes, edges = read_dot(fg.draw(spec, format="dot"))
    assert [label.strip() for label in nodes.values()] == [name.strip() for name in RESERVED]
    assert len(nodes) == len(RESERVED) == len(edges) + 1
    mermaid = fg.draw(spec, format="mermaid")
    found = dict(re.findall(r'^ +(n\d+)\("(.*?)"\)', mermaid, re.MULTILINE))
    assert [unmarked(label) for label in found.values()] == [name.strip() or " " for name in RESERVED]
    svg = Svg(fg.draw(spec))
    assert [words(group)[0].strip() for group in svg.nodes] == [name.strip() for name in RESERVED]


def test_mermaid_labels_hold_no_marks_of_mermaid_markdown_or_html() -> None:
    text = fg.draw(spec_with(HOSTILE), format="mermaid")
    for label in re.findall(r'"([^"]*)"', text):
        assert not set(label.replace("<br/>", "")) & set('<>"`{}[]|%*&')


def test_hostile_titles_survive_dot() -> None:
    nodes, _ = read_dot(fg.draw(spec_with(HOSTILE), format="dot"))
    labels = [label.split("\\nwhen ")[0] for label in nodes.values()]  # with DOT's escapes, as Graphviz hands them on
    assert len(labels) == len(HOSTILE)
    assert labels[0] == 'say "hi"'
    assert labels[1] == "back\\\\slash\\\\"
    assert labels[4] == "<b>bold</b>"
    assert labels[6] == "a &amp; b &amp;amp; c &amp;#65;"
    assert labels[9] == "日本語"


def test_long_titles_are_cut() -> None:
    spec = GraphSpec("g", "t" * 100_000, (NodeSpec("n", "function", "word " * 100_000),), (), {"n": "c" * 100_000})
    text = fg.draw(spec)
    assert len(text) < 15_000
    assert len(fg.draw(spec, format="dot")) < 3_000


# -- sizes


def test_a_thousand_nodes_draw_in_seconds() -> None:
    names = [f"n{i}" for i in range(1_000)]
    spec = GraphSpec("g", "", tuple(NodeSpec(n, "function") for n in names), _chain(names))
    started = time.monotonic()
    assert len(Svg(fg.draw(spec)).nodes) == 1_000
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("shape", ["chain", "fan"])
def test_very_large_graphs_are_drawn_as_groups(shape: str) -> None:
    names = [f"n{i}" for i in range(10_000)]
    fan = tuple(e for n in names[1:-1] for e in (EdgeSpec(names[0], n), EdgeSpec(n, names[-1])))
    edges = _chain(names) if shape == "chain" else fan
    started = time.monotonic()
    drawing = Svg(fg.draw(GraphSpec("g", "", tuple(NodeSpec(n, "function") for n in names), edges)))
    assert time.monotonic() - started < 10
    assert 3 <= len(drawing.nodes) <= 100
    assert "10,000 nodes" in drawing.text
    assert ("9,998 nodes" if shape == "fan" else "250 nodes") in drawing.text


def test_wide_graphs_go_to_the_right() -> None:
    wide, small = fg.Graph("wide"), fg.Graph("small")
    for graph, count in ((wide, 20), (small, 3)):
        graph.input("x", int)
        for number in range(count):
            graph.add(f"branch{number}", lambda x: x)
    assert picture_of_graph(_spec(wide)).direction == "LR"
    assert picture_of_graph(_spec(small)).direction == "TB"


# -- the verb


def test_files_and_formats(tmp_path: Path) -> None:
    graph = plain_graph()
    for name, start in (("a.svg", "<svg"), ("a.dot", "digraph"), ("a.gv", "digraph"), ("a.mmd", "flowchart")):
        text = fg.draw(graph, tmp_path / name)
        assert text.startswith(start)
        assert (tmp_path / name).read_text(encoding="utf-8") == text
    assert fg.draw(graph, str(tmp_path / "b.txt"), "dot").startswith("digraph")


def test_wrong_calls_say_what_is_right(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.svg"):
        fg.draw(plain_graph(), tmp_path / "a.pdf")
    with pytest.raises(ValueError, match="'mermaid'"):
        fg.draw(plain_graph(), format="bmp")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a Graph or a Run, not int"):
        fg.draw(3)


def test_a_drawing_shows_itself_in_a_notebook() -> None:
    assert str(fg.draw(plain_graph())._repr_svg_()).startswith("<svg")
    assert fg.draw(plain_graph(), format="dot")._repr_svg_() is None


def _chain(names: list[str]) -> tuple[EdgeSpec, ...]:
    return tuple(EdgeSpec(a, b) for a, b in pairwise(names))


def _spec(graph: fg.Graph) -> GraphSpec:
    from flowgraph.spec import spec_of

    spec = spec_of(graph)
    assert spec is not None
    return spec


def unmarked(label: str) -> str:
    return re.sub(r"#(\d+);", lambda mark: chr(int(mark[1])), label)
