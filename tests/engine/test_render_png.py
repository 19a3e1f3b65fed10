"""PNG pictures."""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path

import pytest

import flowgraph as fg


def graph() -> fg.Graph:
    graph = fg.Graph("g", title="A <b> & a 図")
    graph.add("one", lambda: 1)
    graph.add("two", lambda one: one)
    return graph


def test_a_png_is_the_svg_in_pixels_twice_as_many(tmp_path: Path) -> None:
    svg = fg.draw(graph(), tmp_path / "plan.png")
    data = (tmp_path / "plan.png").read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    assert data.startswith(b"\x89PNG\r\n")
    ours = re.search(r'width="([\d.]+)" height="([\d.]+)"', svg)
    assert ours is not None
    assert (svg.kind, width, height) == (
        "svg",
        pytest.approx(2 * float(ours[1]), abs=2),
        pytest.approx(2 * float(ours[2]), abs=2),
    )


def test_a_png_without_a_path_is_refused() -> None:
    with pytest.raises(ValueError, match="give a path"):
        fg.draw(graph(), format="png")


def test_without_the_extra_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(fg.DrawError, match=r"flowgraph-agents\[png\]"):
        fg.draw(graph(), tmp_path / "plan.png")
    assert not (tmp_path / "plan.png").exists()
