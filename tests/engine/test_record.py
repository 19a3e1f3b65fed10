"""The record of a run: reading, explaining, printing."""

from __future__ import annotations

from typing import Any

import pytest

import flowgraph as fg
from flowgraph import events as ev
from tests.engine.cutting import facts, look_at_record, refolded
from tests.engine.small_graphs import CASES

pytestmark = pytest.mark.anyio


async def give(value: Any = 1) -> Any:
    return value


def mixed() -> fg.Graph:
    graph = fg.Graph("mixed")
    graph.input("topic", str)
    graph.add("risk", lambda topic: "low")
    graph.add("legal", lambda risk: "checked")
    graph.choose("risk", {"low": [], "high": "legal"})
    graph.add("bad", lambda topic: 1 / 0)
    graph.add("below", lambda bad: bad)
    graph.add("deeper", lambda below: below)
    graph.add("off", give, when="topic == 'never'")
    graph.add("reader", lambda off: off)
    return graph


async def test_outputs_by_name_handle_part_and_path_and_inputs_by_name() -> None:
    graph = fg.Graph("g")
    topic = graph.input("topic", str)

    @graph.node
    async def draft(ctx: fg.Context, topic: str) -> dict[str, str]:
        await ctx.call(give, {"value": "child"})
        return {"title": topic}

    run = await fg.arun(graph, {"topic": "bees"})
    assert run["draft"] == run[draft] == {"title": "bees"}
    assert run[draft["title"]] == "bees"
    assert run["draft/give"] == "child"
    assert run["topic"] == run[topic] == "bees"
    assert "draft" in run
    assert draft in run
    assert "nothing" not in run
    assert run.inputs == {"topic": "bees"}


@pytest.mark.parametrize("name", CASES)
async def test_a_record_folded_from_the_events_alone_is_the_live_one(name: str) -> None:
    graph, options = CASES[name]()
    run = await fg.arun(graph, raise_on_failure=False, **options)
    assert facts(refolded(run)) == facts(run)


def inner(name: str, *, fails: int = 0) -> fg.Graph:
    """A graph of which the first so many calls fail."""
    failures = [OSError("no")] * fails

    async def leaf(ctx: fg.Context, value: int) -> int:
        await ctx.call(give, {"value": value}, name="called")
        if failures:
            raise failures.pop()
        return value

    graph = fg.Graph(name)
    graph.input("value", int)
    graph.add("first", leaf, title="The <first>")
    graph.add("second", give, bind={"value": "first"}, when="value != 2")
    graph.add("last", leaf, bind={"value": "first"}, after="second")
    graph.output("last")
    return graph


async def test_graphs_in_graphs_maps_loops_calls_retries_and_fallbacks_are_in_the_events_too() -> None:
    async def rounds(ctx: fg.Context, value: int) -> list[int]:
        again = [await ctx.call(inner("round"), {"value": value}, round=number) for number in range(2)]
        return again + await ctx.gather(*(ctx.call(inner("side"), {"value": value}) for _ in range(2)))

    outer = fg.Graph("outer")
    outer.input("value", int)
    outer.add("deep", inner("deep"))
    outer.map("each", inner("each"), each={"value": "values"})
    outer.add("values", lambda value: [value, 2, 3])
    outer.add("rounds", rounds)
    outer.add("tried", inner("tried", fails=1), retry=fg.Retry(attempts=2), bind={"value": "value"})
    outer.add("mended", lambda value: 1 / 0, fallback=inner("mended"))
    outer.add("broken", inner("broken", fails=9), bind={"value": "value"}, fallback=inner("spare"))
    outer.output("deep")
    graph = fg.Graph("whole")
    graph.input("value", int)
    graph.add("outer", outer)
    graph.add("again", outer, bind={"value": "outer"})
    run = await fg.arun(graph, {"value": 1}, raise_on_failure=False, max_concurrency=2)
    assert {"outer/each[1]/second", "outer/rounds#1/first/called", "again/mended/fallback/last"} <= run.nodes.keys()
    assert facts(refolded(run)) == facts(run)
    begun = [event for event in run.events if isinstance(event, ev.RunStarted | ev.GraphStarted)]
    spawned = sum(isinstance(event, ev.Spawned) for event in run.events)
    assert sum(len(event.nodes) for event in begun) + spawned > len(run.nodes)  # the first attempt's are there, too


async def test_a_run_that_is_cancelled_before_its_first_step_has_cancelled_all_of_its_nodes() -> None:
    graph = fg.Graph("g")
    graph.add("one", give)
    graph.add("deep", inner("deep"), bind={"value": "one"})
    async with fg.start(graph) as live:
        live.cancel()
    assert live.record.status is fg.Status.CANCELLED
    assert {outcome.status for outcome in live.record.outcomes.values()} == {fg.Status.CANCELLED}
    look_at_record(live.record)


async def test_an_unknown_node_says_which_there_are_and_one_without_output_says_why() -> None:
    run = await fg.arun(mixed(), {"topic": "x"}, raise_on_failure=False)
    with pytest.raises(KeyError, match="'risk', 'legal'"):
        run["drfat"]
    for name, why in (("legal", "did not choose"), ("bad", "ZeroDivisionError"), ("below", "'bad' failed")):
        with pytest.raises(fg.NoOutput, match=why):
            run[name]


async def test_outcomes_are_those_of_the_graphs_nodes_in_the_order_of_adding() -> None:
    run = await fg.arun(mixed(), {"topic": "x"}, raise_on_failure=False)
    assert {name: outcome.status.value for name, outcome in run.outcomes.items()} == {
        "risk": "succeeded",
        "legal": "skipped",
        "bad": "failed",
        "below": "upstream_failed",
        "deeper": "upstream_failed",
        "off": "skipped",
        "reader": "skipped",
    }
    for name, outcome in run.outcomes.items():
        assert (outcome.reason is None) == outcome.ok, name
    assert run.unhandled == ("bad",)


async def test_explain_tells_the_chain_of_causes_in_words() -> None:
    run = await fg.arun(mixed(), {"topic": "x"}, raise_on_failure=False)
    lines = run.explain("deeper").splitlines()
    assert [line.strip().split("'")[1] for line in lines] == ["deeper", "below", "bad"]
    assert "ZeroDivisionError" in lines[-1]
    assert "'risk' did not choose it: low" in run.explain("legal")
    assert "it chose low" in run.explain("legal")
    assert "topic=str 'x'" in run.explain("reader")
    assert run.explain("risk").startswith("'risk' succeeded")
    with pytest.raises(KeyError):
        run.explain("nothing")


async def test_explain_of_a_node_inside_a_graph_stays_inside() -> None:
    inner = fg.Graph("inner")
    inner.add("bad", lambda: 1 / 0)
    inner.add("below", lambda bad: bad)
    graph = fg.Graph("g")
    graph.add("bad", give)
    graph.add("inner", inner)
    run = await fg.arun(graph, raise_on_failure=False)
    assert "'inner/bad'" in run.explain("inner/below")


async def test_printing_gives_a_short_tree_with_a_sign_for_each_status() -> None:
    run = await fg.arun(mixed(), {"topic": "x"}, raise_on_failure=False)
    lines = str(run).splitlines()
    assert lines[0].startswith("✗ mixed  failed")
    assert [line.split()[0] for line in lines[1:]] == ["✓", "○", "✗", "⊘", "⊘", "○", "○"]
    assert "'risk' did not choose it: low" in lines[2]
    assert repr(run) == f"<Run {run.id} of mixed: failed>"


async def test_times_are_of_the_run_and_within_it() -> None:
    run = await fg.arun(mixed(), {"topic": "x"}, raise_on_failure=False)
    root = run.root
    assert root.started is not None
    assert root.ended is not None
    for node in run.nodes.values():
        if node.started is not None and node.ended is not None:
            assert root.started <= node.started <= node.ended <= root.ended
    assert run.nodes["below"].duration is None
    assert run.duration == root.ended - root.started


async def test_a_choice_that_failed_is_among_the_errors_of_the_record_too() -> None:
    graph = fg.Graph("g")
    graph.add("chooser", give, values={"value": "odd"})
    graph.add("a", give)
    graph.choose("chooser", {"even": "a"})
    run = await fg.arun(graph, raise_on_failure=False)
    assert [type(error) for error in run.errors.values()] == [fg.ChoiceError]
    assert run.outcomes["chooser"].ok


async def test_a_long_chain_of_causes_is_told_by_its_ends() -> None:
    graph = fg.Graph("g")
    graph.add("n0", lambda: 1 / 0)
    for number in range(1, 500):
        graph.add(f"n{number}", give, bind={"value": f"n{number - 1}"})
    run = await fg.arun(graph, raise_on_failure=False)
    lines = run.explain("n499").splitlines()
    assert len(lines) <= 20
    assert lines[0].startswith("'n499'")
    assert "ZeroDivisionError" in lines[-1]
    assert "more nodes" in lines[-2]


async def test_an_outcome_unwraps_to_its_output_its_error_or_the_reason() -> None:
    run = await fg.arun(mixed(), {"topic": "x"}, raise_on_failure=False)
    assert run.outcomes["risk"].unwrap() == "low"
    with pytest.raises(ZeroDivisionError):
        run.outcomes["bad"].unwrap()
    with pytest.raises(fg.NoOutput, match="did not choose"):
        run.outcomes["legal"].unwrap()


async def test_usage_adds_up() -> None:
    total = fg.Usage(input_tokens=1, cost=0.5) + fg.Usage(output_tokens=2, cost=None, partial=True)
    assert total == fg.Usage(input_tokens=1, output_tokens=2, cost=0.5, partial=True)
    assert total.tokens == 3
    assert not fg.Usage()
    assert fg.Usage(cost=0.0)
