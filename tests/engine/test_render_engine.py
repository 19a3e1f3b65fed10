"""Layout programs: which one is taken, and what is said when there is none or it fails."""

from __future__ import annotations

import stat
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import flowgraph as fg
from flowgraph.render import engine, find_engine
from flowgraph.render.layout import read_layout

SOURCE = "digraph { a -> b }"


@pytest.fixture
def graph() -> fg.Graph:
    graph = fg.Graph("g")
    graph.add("only", lambda: 1)
    return graph


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment without any layout program."""
    monkeypatch.delenv("FLOWGRAPH_DOT", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(engine.sysconfig, "get_path", lambda *_: str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))


def program(folder: Path, body: str) -> Path:
    """A program written in Python."""
    path = folder / "layout-program"
    path.write_text(f"#!{sys.executable}\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.usefixtures("bare")
def test_without_a_program_an_svg_says_how_to_get_one_and_text_works(graph: fg.Graph) -> None:
    with pytest.raises(fg.DrawError, match=r"pip install graphviz-pure.*FLOWGRAPH_DOT.*format='dot'"):
        fg.draw(graph)
    assert "only" in fg.draw(graph, format="dot")
    assert "only" in fg.draw(graph, format="mermaid")


def test_the_packaged_program_comes_before_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLOWGRAPH_DOT", raising=False)
    assert Path(find_engine()).stem == "graphviz-pure"


def test_a_named_program_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, graph: fg.Graph) -> None:
    mine = program(tmp_path, "print('{}')")
    monkeypatch.setenv("FLOWGRAPH_DOT", str(mine))
    assert find_engine() == str(mine)
    packaged = find_engine("graphviz-pure") if engine.shutil.which("graphviz-pure") else None
    assert packaged != str(mine)


def test_a_named_program_that_does_not_exist(monkeypatch: pytest.MonkeyPatch, graph: fg.Graph) -> None:
    with pytest.raises(fg.DrawError, match="engine= names the layout program 'no-such-thing'"):
        fg.draw(graph, engine="no-such-thing")
    monkeypatch.setenv("FLOWGRAPH_DOT", "no-such-thing")
    with pytest.raises(fg.DrawError, match="FLOWGRAPH_DOT names"):
        fg.draw(graph)


def test_a_failing_program(tmp_path: Path, graph: fg.Graph) -> None:
    mine = program(tmp_path, "import sys; print('out of memory', file=sys.stderr); sys.exit(3)")
    with pytest.raises(fg.DrawError, match="exit code 3: out of memory"):
        fg.draw(graph, engine=mine)


def test_a_program_that_takes_too_long(tmp_path: Path) -> None:
    mine = program(tmp_path, "import time; time.sleep(60)")
    with pytest.raises(fg.DrawError, match=r"longer than 0\.2 s.*expand=False"):
        engine.lay_out(SOURCE, mine, seconds=0.2)


@pytest.mark.parametrize("said", ["", "hello", "{}", '{"bb": "x"}', "[]"])
def test_a_program_that_writes_something_else(tmp_path: Path, graph: fg.Graph, said: str) -> None:
    mine = program(tmp_path, f"print({said!r})")
    with pytest.raises(fg.DrawError, match="no layout"):
        fg.draw(graph, engine=mine)


def test_a_layout_grows_downwards() -> None:
    layout = read_layout(engine.lay_out('digraph { a -> b [id=e0 label="n"] }'))
    assert layout.cards["a"].y < layout.cards["b"].y
    route = layout.edges["e0"]
    assert route.head is not None
    assert route.label is not None
    assert route.points[0][1] < route.points[-1][1] < route.head[1]


def test_an_empty_graph_is_an_empty_picture() -> None:
    assert ET.fromstring(fg.draw(fg.Graph("nothing"))).tag.endswith("svg")
