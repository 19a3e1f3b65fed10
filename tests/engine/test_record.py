"""The record of a run: reading, explaining, printing."""

from __future__ import annotations

from typing import Any

import pytest

import flowgraph as fg

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
