"""Pictures of runs: statuses, reasons, the critical path, and what is nested or too much to draw."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import pytest

import flowgraph as fg
from flowgraph import events as ev
from flowgraph.node_run import NodeRun
from flowgraph.outcome import Reason, Status, Usage
from flowgraph.record import GLYPHS, Run
from flowgraph.spec import EdgeSpec, GraphSpec, NodeSpec
from tests.engine.drawings import SVG, Svg, classes, is_dashed, stroke_width, tip, words

MARKER = "marker-7f3a"


class Scene:
    """A run made by hand: `scene.node("draft", Status.SUCCEEDED, seconds=2)`."""

    def __init__(self, spec: GraphSpec) -> None:
        self.run = Run(spec)
        self.run.apply(ev.RunStarted(0.0, "", 0, "r1", spec.name, {"secret": MARKER}))

    def node(
        self,
        path: str,
        status: Status = Status.SUCCEEDED,
        *,
        at: float = 0.0,
        seconds: float = 1.0,
        reason: Reason | None = None,
        kind: str = "function",
        below: str = "",
        usage: Usage | None = None,
    ) -> NodeRun:
        run = self.run
        parent = run.nodes[below] if below else run.root
        found = run.add(parent, path, path.rpartition("/")[2], kind, "")
        if status not in (Status.SKIPPED, Status.UPSTREAM_FAILED, Status.PENDING):
            run.apply(ev.NodeStarted(at, path, len(run.events), 1))
        if status.final:
            finished = ev.NodeFinished(
                at + seconds, path, len(run.events), status, MARKER, reason, ValueError(MARKER), usage
            )
            run.apply(finished)
        else:
            found.status = status
        return found

    def end(self, status: Status = Status.SUCCEEDED, at: float = 10.0) -> Run:
        self.run.apply(ev.RunFinished(at, "", len(self.run.events), status))
        return self.run


def spec(*names: str, edges: tuple[EdgeSpec, ...] = (), kinds: dict[str, str] | None = None) -> GraphSpec:
    nodes = tuple(NodeSpec(name, (kinds or {}).get(name, "function")) for name in names)
    return GraphSpec("g", "", nodes, edges or tuple(EdgeSpec(a, b) for a, b in pairwise(names)))


def claims(risk: str) -> fg.Graph:
    graph = fg.Graph("claims")
    graph.input("text", str)
    graph.add("risk", lambda text: risk)
    graph.choose("risk", {"low": "quick", "high": "legal"})
    graph.add("quick", lambda text: text)
    graph.add("legal", lambda text: text)

    @graph.node
    def page(quick: fg.Maybe[str], legal: fg.Maybe[str]) -> str:
        return quick or legal or ""

    return graph


# -- statuses


def test_every_status_has_its_glyph_its_colours_and_its_key() -> None:
    names = [status.value for status in Status]
    scene = Scene(spec(*names))
    for status in Status:
        scene.node(status.value, status)
    drawing = Svg(fg.draw(scene.run))
    colours = set()
    for status in Status:
        group = drawing.at(status.value)
        assert words(group)[0].startswith(f"{GLYPHS[status]} ")
        assert str(status) in classes(group)
        colours.add(next(group.iter(f"{SVG}path")).get("fill"))
        assert str(status).replace("_", " ") in drawing.text.split("\n")
    assert len(colours) == len(Status)


def test_the_heading_sums_the_run_up() -> None:
    scene = Scene(spec("only"))
    scene.node("only", usage=Usage(1200, 34, model_calls=2, tool_calls=1, cost=0.0123))
    drawing = Svg(fg.draw(scene.end(at=2.5)))
    assert "succeeded · 2.50 s · 1,234 tokens · $0.0123 · 2 model calls · 1 tool call" in drawing.text
    assert words(drawing.at("only")) == ["✓ only", "2 model calls, 1 tool call · 1.00 s", "1,234 tokens · $0.0123"]


def test_a_run_at_work_and_a_run_that_never_started_are_drawn() -> None:
    scene = Scene(spec("a", "b"))
    assert "running" in Svg(fg.draw(scene.run)).text
    assert "pending" in Svg(fg.draw(Run(spec("a", "b")))).text


def test_partial_usage_says_so() -> None:
    scene = Scene(spec("only"))
    scene.node("only", usage=Usage(10, cost=0.5, partial=True))
    assert "≥ 10 tokens · ≥ $0.5000" in Svg(fg.draw(scene.end())).text


# -- choices, skips and failures


@pytest.mark.parametrize(("label", "taken", "left"), [("low", "quick", "legal"), ("high", "legal", "quick")])
def test_a_choice_shows_what_it_took(label: str, taken: str, left: str) -> None:
    drawing = Svg(fg.draw(fg.run(claims(label), {"text": "x"})))
    assert f"chose {label}" in words(drawing.at("risk"))
    assert "chosen" in classes(drawing.edge("risk", taken))
    assert "chosen" not in classes(drawing.edge("risk", left))
    labels = {element.text: element for element in drawing.root.iter(f"{SVG}text")}
    other = {"low": "high", "high": "low"}[label]
    assert labels[label].get("font-weight") == "700"
    assert labels[other].get("font-weight") is None


def test_what_was_skipped_is_dashed_and_says_why() -> None:
    drawing = Svg(fg.draw(fg.run(claims("low"), {"text": "x"})))
    legal = drawing.at("legal")
    assert words(legal) == ["○ legal", "'risk' did not choose it: low"]
    assert "'risk' did not choose it: low" in tip(legal)
    assert is_dashed(legal)
    for edge in (drawing.edge("risk", "legal"), drawing.edge("text", "legal"), drawing.edge("legal", "page")):
        assert "faded" in classes(edge)
        assert is_dashed(edge)
    assert not is_dashed(drawing.edge("quick", "page"))


def test_a_default_case_is_not_taken_by_a_label_that_goes_straight_on() -> None:
    graph = fg.Graph("g")
    graph.add("kind", lambda: "known")
    graph.choose("kind", {"known": []}, default="other")
    graph.add("other", lambda: 1)
    graph.add("end", lambda: 2, after=["kind", "other"])
    assert "chosen" not in classes(Svg(fg.draw(fg.run(graph))).edge("kind", "other"))


def test_failures_and_what_they_cost() -> None:
    scene = Scene(spec("fetch", "parse", "store"))
    scene.node("fetch", Status.TIMED_OUT, reason=Reason("timeout", detail="30 s"))
    scene.node("parse", Status.UPSTREAM_FAILED, reason=Reason("parent_failed", "fetch", "timed out"))
    scene.node("store", Status.UPSTREAM_FAILED, reason=Reason("parent_failed", "parse", "could not run"))
    drawing = Svg(fg.draw(scene.end(Status.FAILED)))
    assert words(drawing.at("fetch"))[-1] == "it ran past its time limit: 30 s"
    assert words(drawing.at("parse")) == ["⊘ parse", "'fetch' timed out"]
    assert "failed" in classes(drawing.edge("parse", "store"))


def test_retries_are_counted() -> None:
    scene = Scene(spec("only"))
    node = scene.node("only")
    node.attempt = 3
    assert words(Svg(fg.draw(scene.end())).at("only")) == ["✓ only", "1.00 s · 3 attempts"]


@pytest.mark.parametrize("format", ["svg", "dot", "mermaid"])
def test_inputs_values_and_messages_are_never_drawn(format: Literal["svg", "dot", "mermaid"]) -> None:
    graph = fg.Graph("secrets")
    graph.input("key", str)
    graph.add("use", lambda key: {"token": key})
    graph.add("more", lambda use: use["token"], when="key == 'other'")

    @graph.node
    async def kept(ctx: fg.Context[Any], key: str) -> str:
        ctx.keep(messages=[key])
        return key

    run = fg.run(graph, {"key": MARKER}, deps={"key": MARKER})
    text = fg.draw(run, format=format, expand=True)
    assert MARKER not in text
    assert "its condition was false" in text


# -- the critical path


def test_the_critical_path_is_bold() -> None:
    edges = (EdgeSpec("a", "slow"), EdgeSpec("a", "quick"), EdgeSpec("slow", "end"), EdgeSpec("quick", "end"))
    scene = Scene(spec("a", "slow", "quick", "end", edges=edges))
    for name, seconds in (("a", 1), ("slow", 5), ("quick", 1), ("end", 1)):
        scene.node(name, seconds=seconds)
    drawing = Svg(fg.draw(scene.end()))
    bold = [path for path in ("a", "slow", "quick", "end") if stroke_width(drawing.at(path)) > 2]
    assert bold == ["a", "slow", "end"]
    assert stroke_width(drawing.edge("slow", "end")) > stroke_width(drawing.edge("quick", "end"))
    assert "critical path, 7.00 s" in drawing.text


# -- children


def mapped(count: int, failures: tuple[int, ...]) -> Run:
    scene = Scene(spec("items", kinds={"items": "map"}))
    scene.node("items", kind="map")
    for number in range(count):
        bad = number in failures
        status = Status.FAILED if bad else Status.SUCCEEDED
        reason = Reason("error", detail=f"ValueError: item {number}") if bad else None
        scene.node(f"items[{number}]", status, reason=reason, below="items")
    return scene.end()


def test_few_items_are_all_drawn() -> None:
    drawing = Svg(fg.draw(mapped(12, ())))
    assert drawing.paths == [*(f"items[{number}]" for number in range(12)), "items"]
    assert words(drawing.at("items[3]")) == ["✓ [3]", "1.00 s"]
    assert "map · 12 items · 1.00 s" in words(drawing.at("items"))


def test_of_many_items_the_first_and_the_failures_are_drawn() -> None:
    drawing = Svg(fg.draw(mapped(100, (50, 97))))
    shown = [path for path in drawing.paths if path.startswith("items[") and "…" not in path]
    assert shown == [*(f"items[{number}]" for number in range(8)), "items[50]", "items[97]"]
    assert "… 90 more" in drawing.text
    assert "90 succeeded" in drawing.text
    assert "it raised ValueError:\nitem 97" in drawing.text.replace(": ", ":\n")


def test_of_many_failures_some_are_drawn_and_all_are_counted() -> None:
    drawing = Svg(fg.draw(mapped(1_000, tuple(range(0, 1_000, 2)))))
    assert len(drawing.nodes) <= 40
    assert "failed" in words(drawing.nodes[-1])[1]


def test_items_that_are_asked_for_are_drawn() -> None:
    run = mapped(100, ())
    assert len(Svg(fg.draw(run, expand=["items"])).nodes) == 100
    assert "items[70]" in Svg(fg.draw(run, expand=["items[70]"])).paths
    closed = Svg(fg.draw(run, expand=False))
    assert words(closed.at("items")) == ["✓ items", "map · 100 items: 100 succeeded · 1.00 s"]


def test_more_than_can_be_drawn_is_not_drawn_even_when_asked_for() -> None:
    assert len(Svg(fg.draw(mapped(5_000, (7,)), expand=True)).nodes) < 50


def test_rounds_follow_each_other() -> None:
    scene = Scene(spec("polish", kinds={"polish": "loop"}))
    scene.node("polish", kind="loop")
    for number in range(4):
        scene.node(f"polish#{number}", below="polish")
    drawing = Svg(fg.draw(scene.end()))
    assert [classes(edge) for edge in drawing.edges] == [{"edge", "next"}] * 3
    assert drawing.edge("polish#0", "polish#1") is not None
    assert "loop · 4 rounds · 1.00 s" in words(drawing.at("polish"))


def agent_run() -> Run:
    scene = Scene(spec("lead", kinds={"lead": "agent"}))
    scene.node("lead", kind="agent")
    for number in range(3):
        scene.node(f"lead/turn{number}", kind="model", below="lead", usage=Usage(10, model_calls=1))
    for number in range(2):
        scene.node(f"lead/search{number}", kind="tool", below="lead")
    return scene.end()


def test_an_agents_calls_are_told_in_a_line() -> None:
    closed = Svg(fg.draw(agent_run()))
    assert closed.clusters == []
    assert words(closed.at("lead"))[1] == "agent · 3 model calls, 2 tool calls"
    opened = Svg(fg.draw(agent_run(), expand=["lead"]))
    assert len(opened.nodes) == 5


def test_sub_agents_are_clusters_beside_their_lead() -> None:
    run = agent_run()
    tool = run.nodes["lead/search0"]
    run.add(tool, "lead/search0/researcher", "researcher", "agent", "")
    drawing = Svg(fg.draw(run))
    assert [cluster.get("data-path") for cluster in drawing.clusters] == ["lead", "lead/search0"]
    assert "lead/search0/researcher" in drawing.paths


def test_runs_of_graphs_in_graphs_keep_their_edges() -> None:
    inner = fg.Graph("inner")
    inner.input("x", int)
    inner.add("double", lambda x: 2 * x)
    inner.add("half", lambda double: double // 2)
    graph = fg.Graph("outer")
    graph.input("numbers", list[int])
    graph.add("one", inner, values={"x": 1})
    graph.map("all", inner, each={"x": "numbers"})
    drawing = Svg(fg.draw(fg.run(graph, {"numbers": [1, 2]})))
    assert drawing.edge("one/double", "one/half") is not None
    assert drawing.edge("all[1]/double", "all[1]/half") is not None
    assert drawing.edge("numbers", "all") is not None


def test_a_fallback_is_drawn_inside_its_node() -> None:
    graph = fg.Graph("g")

    @graph.node(fallback=lambda error: "plan b")
    def fetch() -> str:
        raise OSError("down")

    assert "fetch/fallback" in Svg(fg.draw(fg.run(graph))).paths


def test_deep_and_long_records_draw_without_recursion() -> None:
    scene = Scene(spec("top"))
    scene.node("top")
    path = "top"
    for _ in range(1_500):
        below, path = path, f"{path}/x"
        scene.node(path, below=below)
    drawing = Svg(fg.draw(scene.end()))
    assert 1 < len(drawing.clusters) <= 160


def test_what_has_a_record_is_drawn_by_it() -> None:
    class Live:
        record = agent_run()

    assert fg.draw(Live()) == fg.draw(agent_run())


@pytest.mark.parametrize("format", ["svg", "dot", "mermaid"])
def test_the_same_record_gives_the_same_text(format: Literal["svg", "dot", "mermaid"]) -> None:
    assert fg.draw(mapped(30, (20,)), format=format) == fg.draw(mapped(30, (20,)), format=format)


def test_a_run_shows_itself_in_a_notebook() -> None:
    assert str(agent_run()._repr_svg_()).startswith("<svg")
