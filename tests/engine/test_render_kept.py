"""Pictures and texts of kept runs: those of a loaded run are those of the live one; paused, resumed, forked runs."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import anyio
import pytest
from rich.console import Console

import flowgraph as fg
from flowgraph import events as ev
from flowgraph.cli.live import Watch
from flowgraph.cli.tree import tree_of
from flowgraph.outcome import Status
from flowgraph.record import Run
from flowgraph.render.marks import wanted
from flowgraph.spec import EdgeSpec, GraphSpec, NodeSpec
from flowgraph.stores import MemoryStore
from flowgraph.testing import jumping_clock
from tests.engine.drawings import SVG, Svg, stroke_width, tip, words
from tests.engine.kept_graphs import BUILDS


def tree_text(run: Run) -> str:
    console = Console(file=StringIO(), width=300)
    console.print(tree_of(run, whole=True))
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def article() -> fg.Graph:
    """Two gates, one of them in the items of a map, and a sleep."""
    check = fg.Graph("check")
    check.input("part", str)
    check.add("ok", fg.Gate("Is '{part}' <good> & done?", bool, timeout=timedelta(hours=3)))
    graph = fg.Graph("article")
    graph.add("parts", lambda: ["one", "two"])
    graph.map("checks", check, each={"part": "parts"})

    @graph.node
    async def ask(ctx: fg.Context) -> str:
        await ctx.sleep(0.01)
        return str(await ctx.ask("For whom?", key="whom"))

    @graph.node
    def page(checks: list[bool], ask: str) -> str:
        return f"for {ask}"

    return graph


# -- loaded and live


@pytest.mark.parametrize("name", sorted(BUILDS))
def test_a_loaded_run_reads_as_the_live_one(name: str) -> None:
    case, store = BUILDS[name], MemoryStore()

    async def main() -> Run:
        return await fg.arun(case.build(), case.inputs, store=store, raise_on_failure=False, **case.options)

    backend, options = jumping_clock()
    live = anyio.run(main, backend=backend, backend_options=options)
    loaded = fg.load_run(live.id, store=store)
    assert str(loaded) == str(live)
    assert tree_text(loaded).split("left")[0] == tree_text(live).split("left")[0]
    assert [loaded.explain(path) for path in live.nodes] == [live.explain(path) for path in live.nodes]
    for format_ in ("dot", "mermaid"):
        for expand in (None, True):
            assert fg.draw(loaded, format=format_, expand=expand) == fg.draw(live, format=format_, expand=expand)


def test_a_loaded_run_is_drawn_as_the_live_one() -> None:
    store = MemoryStore()
    live = fg.run(article(), store=store)
    assert fg.draw(fg.load_run(live.id, store=store)) == fg.draw(live)


# -- waiting


def test_open_gates_stand_out_with_question_and_what_they_want() -> None:
    store = MemoryStore()
    run = fg.run(article(), store=store, run_id="r1")
    picture = Svg(fg.draw(run))
    assert "paused · 3 answers missing" in picture.text
    ok, whom, sleep = (picture.at(path) for path in ("checks[0]/ok", "ask/whom", "ask/sleep"))
    assert words(ok)[:4] == ["… ok", "gate · waiting", "Is 'one' <good> & done?", "wants true or false"]
    assert words(ok)[4].startswith("by 2") and words(ok)[4].endswith(" UTC, else it fails")
    assert words(whom) == ["… whom", "gate · waiting", "For whom?", "wants a text"]
    assert stroke_width(ok) > stroke_width(sleep)
    assert "Is 'one' <good> & done?" in tip(ok)
    fg.answer("r1", "ask/whom", "cats", store=store)
    picture = Svg(fg.draw(fg.load_run("r1", store=store)))
    assert "2 answers missing" in picture.text
    assert words(picture.at("ask/whom")) == ["… whom", "gate · waiting", "answered"]


def test_a_closed_map_says_how_many_answers_are_missing() -> None:
    run = fg.run(article(), store=MemoryStore())
    assert any("2 answers missing" in line for line in words(Svg(fg.draw(run, expand=False)).at("checks")))


def test_of_many_items_those_that_wait_for_people_are_drawn() -> None:
    async def item(number: int, ctx: fg.Context) -> int:
        return int(await ctx.ask("Which?", int, key="which")) if number == 27 else number

    graph = fg.Graph("many")
    graph.add("numbers", lambda: list(range(30)))
    graph.map("items", item, each={"number": "numbers"})
    picture = Svg(fg.draw(fg.run(graph, store=MemoryStore())))
    assert "items[27]/which" in picture.paths
    assert "items[26]" not in picture.paths


def test_a_sleeping_node_says_until_when() -> None:
    run = Run(GraphSpec("g", "", (NodeSpec("nap", "sleep"),)))
    run.apply(ev.RunStarted(0.0, "", 0, "r1", "g", {}, (("nap", "sleep", ""),)))
    run.apply(ev.NodeStarted(0.0, "nap", 1, 1))
    run.apply(ev.NodeWaiting(0.0, "nap", 2, 86400.0))
    assert words(Svg(fg.draw(run)).at("nap")) == ["… nap", "sleep · waiting", "until 1970-01-02 00:00 UTC"]


def test_a_gate_and_a_sleep_have_shapes_of_their_own() -> None:
    nodes = tuple(NodeSpec(kind, kind) for kind in ("gate", "sleep", "function"))
    dot = fg.draw(GraphSpec("g", "", nodes, (EdgeSpec("gate", "sleep"),)), format="dot")
    assert "octagon" in dot
    assert "parallelogram" in dot


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "boolean"}, "true or false"),
        ({"enum": ["a", 1], "type": "string"}, 'one of "a", 1'),
        ({"type": "integer", "title": "Age"}, "a whole number"),
        ({"type": "integer", "minimum": 3}, 'JSON that fits {"type": "integer", "minimum": 3}'),
    ],
)
def test_what_a_gate_wants_in_words(schema: dict[str, Any], says: str) -> None:
    assert wanted(schema) == says


# -- resumed


def test_a_resumed_run_says_what_was_restored() -> None:
    store = MemoryStore()
    fg.run(article(), store=store, run_id="r1")
    answers = {"checks[0]/ok": True, "checks[1]/ok": False, "ask/whom": "cats"}
    run = fg.resume(article(), "r1", store=store, answers=answers)
    picture = Svg(fg.draw(run))
    assert " · resumed" in picture.text
    assert "restored" in words(picture.at("parts"))[1]
    assert not any("restored" in line for line in words(picture.at("page")))
    assert "↩ parts  restored" in tree_text(run)
    assert "✓ page  succeeded" in tree_text(run)


def test_a_forked_run_names_the_one_it_continues() -> None:
    store = MemoryStore()
    graph = fg.Graph("g")
    graph.add("a", lambda: 1)
    graph.add("b", lambda a: a)
    fg.run(graph, store=store, run_id="old")
    run = fg.fork(graph, "old", at="b", store=store)
    text = Svg(fg.draw(run)).text
    assert "forked from old" in text
    assert "resumed" not in text


def test_cached_and_diverged_node_runs_are_noted() -> None:
    run = Run(GraphSpec("g", "", (NodeSpec("a", "function"), NodeSpec("b", "function"))))
    run.apply(ev.RunStarted(0.0, "", 0, "r1", "g", {}, (("a", "function", ""), ("b", "function", ""))))
    run.apply(ev.Decided(0.0, "a", 1, "cached", "made 5 min ago"))
    run.apply(ev.Decided(0.0, "b", 2, "diverged", "'b/x' was a tool, and a model is called now"))
    picture = Svg(fg.draw(run))
    assert words(picture.at("a"))[1] == "cached: made 5 min ago"
    assert " ".join(words(picture.at("b"))[1:]) == "diverged: 'b/x' was a tool, and a model is called now"
    assert "diverged" in tip(picture.at("b"))


# -- live


def test_a_live_tree_shows_what_waits_and_what_is_tried_again() -> None:
    run = Run(GraphSpec("g"))
    run.apply(ev.RunStarted(0.0, "", 0, "r1", "g", {}, (("ask", "gate", ""), ("flaky", "function", ""))))
    run.apply(ev.NodeStarted(0.0, "ask", 1, 1))
    run.apply(ev.GateOpened(0.0, "ask", 2, "Really?\nSure?", {"type": "boolean"}, 1e12))
    run.apply(ev.NodeStarted(0.0, "flaky", 3, 1))
    run.apply(ev.NodeRetrying(1e12, "flaky", 4, 1, 5.0, fg.Reason("error", detail="ValueError: no"), ValueError("no")))
    text = tree_text(run)
    assert "… ask  waiting, " in text
    assert " left  Really? Sure?" in text
    assert "↻ flaky  retrying, again in " in text
    assert "it raised ValueError: no" in text


def test_off_a_terminal_a_resumed_run_tells_only_what_is_new() -> None:
    store = MemoryStore()
    fg.run(article(), store=store, run_id="r1")
    run = fg.resume(article(), "r1", store=store, answers={"ask/whom": "cats"})
    console = Console(file=StringIO(), width=200)
    with Watch(run, console) as watch:
        for event in run.events:
            watch.see(event)
    rows = str(console.file.getvalue()).splitlines()  # type: ignore[attr-defined]
    assert rows[0].startswith("↩ ") and "restored from the journal" in rows[0]
    assert [row.split("  ")[0] for row in rows[1:]] == ["✓ ask/whom", "✓ ask"]
    assert run.status is Status.PAUSED


def test_items_that_nothing_joins_are_drawn_from_the_top_in_a_picture_that_goes_to_the_right() -> None:
    inner = fg.Graph("inner")
    inner.input("x", int)
    inner.add("one", lambda x: x)
    inner.add("two", lambda one: one)
    graph = fg.Graph("wide")
    graph.add("numbers", lambda: [1, 2, 3])
    graph.map("items", inner, each={"x": "numbers"})
    for number in range(8):
        graph.add(f"n{number}", lambda numbers: 1, title=f"node {number} with a long title")
    picture = Svg(fg.draw(fg.run(graph)))
    first, second, third = (top(picture, f"items[{number}]") for number in range(3))
    assert first < second < third


def top(picture: Svg, path: str) -> float:
    """Where a card begins, from above."""
    outline = next(picture.at(path).iter(f"{SVG}path")).get("d") or ""
    return float(outline[1:].split("H")[0].split()[1])
