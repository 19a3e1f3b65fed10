"""Graphs as nodes: inputs, outputs, failures, skips, nesting."""

from __future__ import annotations

from typing import Any

import pytest

import flowgraph as fg

pytestmark = pytest.mark.anyio


def inner(name: str = "inner") -> fg.Graph:
    graph = fg.Graph(name)
    graph.input("number", int)
    graph.input("by", int, default=2)
    graph.add("scaled", lambda number, by: number * by, bind={"by": "by"})
    return graph


async def test_a_graphs_inputs_are_its_parameters_and_its_nodes_are_children() -> None:
    graph = fg.Graph("g")
    graph.input("number", int)
    graph.add("a", inner())
    graph.add("b", inner(), bind={"number": "a"}, values={"by": 10})
    run = await fg.arun(graph, {"number": 1})
    assert (run["a"], run["b"]) == (2, 20)
    assert run["a/scaled"] == 2
    assert list(run.outcomes) == ["a", "b"]
    assert [node.path for node in run.root.walk()] == ["", "a", "a/scaled", "b", "b/scaled"]


@pytest.mark.parametrize("value", [0, "", None, False, [], {}])
async def test_c03_falsy_outputs_pass_through_graphs(value: Any) -> None:
    small = fg.Graph("small")
    small.input("x")
    small.add("echo", lambda x: x)
    graph = fg.Graph("g")
    graph.input("x")
    graph.add("a", small)
    graph.add("b", small, bind={"x": "a"})
    assert (await fg.arun(graph, {"x": value})).output == value


async def test_a_failure_inside_fails_the_graph_node_with_paths_and_keeps_the_rest() -> None:
    small = fg.Graph("small")
    small.add("good", lambda: 1)
    small.add("bad", lambda: 1 / 0)
    small.add("join", lambda good, bad: 2)
    graph = fg.Graph("g")
    graph.add("small", small)
    graph.add("reader", lambda small: small)
    with pytest.raises(fg.RunFailed) as caught:
        await fg.arun(graph)
    error = caught.value.errors["small"]
    assert isinstance(error, fg.SubgraphFailed)
    assert list(error.errors) == ["small/bad"]
    assert isinstance(error.__cause__, ZeroDivisionError)
    run = caught.value.run
    assert run["small/good"] == 1
    assert run.outcomes["reader"].status is fg.Status.UPSTREAM_FAILED


async def test_a_failure_that_is_handled_inside_is_none_outside() -> None:
    small = fg.Graph("small")
    small.add("bad", lambda: 1 / 0)

    @small.node
    def cope(bad: fg.Outcome[int]) -> str:
        return f"coped with {bad.status}"

    graph = fg.Graph("g")
    graph.add("small", small)
    assert (await fg.arun(graph)).output == "coped with failed"


async def test_a_graph_whose_output_was_skipped_is_skipped_with_the_reason() -> None:
    small = fg.Graph("small")
    small.input("go", bool)
    small.add("work", lambda: 1, when="go")
    graph = fg.Graph("g")
    graph.input("go", bool)
    graph.add("small", small)

    @graph.node(needs=())
    def reader(small: fg.Maybe[int]) -> Any:
        return small

    run = await fg.arun(graph, {"go": False})
    assert run.outcomes["small"].status is fg.Status.SKIPPED
    assert "'work'" in str(run.outcomes["small"].reason)
    assert run["reader"] is None
    assert (await fg.arun(graph, {"go": True}))["reader"] == 1


async def test_a_graph_whose_output_failed_is_no_skipped_one_even_if_the_failure_is_handled() -> None:
    small = fg.Graph("small")
    small.add("bad", lambda: 1 / 0)

    @small.node
    def clean(bad: fg.Outcome[int]) -> None:
        pass

    small.output("bad")
    graph = fg.Graph("g")
    graph.add("small", small)
    run = await fg.arun(graph, raise_on_failure=False)
    assert run.outcomes["small"].status is fg.Status.FAILED
    assert isinstance(run.errors["small"], fg.NoOutput)


async def test_several_outputs_are_a_dict_of_those_that_are_there() -> None:
    small = fg.Graph("small")
    small.add("a", lambda: 1)
    small.add("b", lambda: 2, when="False")
    small.output("a", "b")
    graph = fg.Graph("g")
    part = graph.add("small", small)
    graph.add("reader", lambda x: x, bind={"x": part["a"]})
    run = await fg.arun(graph)
    assert (run["small"], run["reader"]) == ({"a": 1}, 1)


async def test_an_input_may_be_the_output() -> None:
    small = fg.Graph("small")
    small.input("x", int)
    small.add("beside", lambda x: x + 1)
    small.output("x")
    graph = fg.Graph("g")
    graph.input("x", int)
    graph.add("small", small)
    assert (await fg.arun(graph, {"x": 0}))["small"] == 0


async def test_a_retry_of_a_graph_runs_all_of_it_again() -> None:
    calls = {"first": 0, "second": 0}
    small = fg.Graph("small")

    @small.node
    async def first() -> int:
        calls["first"] += 1
        return calls["first"]

    @small.node
    async def second(first: int) -> int:
        calls["second"] += 1
        if calls["second"] == 1:
            raise OSError("once")
        return first

    graph = fg.Graph("g")
    graph.add("small", small, retry=fg.Retry(attempts=2))
    run = await fg.arun(graph)
    assert run.output == 2
    assert calls == {"first": 2, "second": 2}
    assert len(run.nodes["small"].earlier) == 1
    assert run.nodes["small/second"].status is fg.Status.SUCCEEDED


async def test_one_graph_object_in_many_places_at_once() -> None:
    shared = inner()
    graph = fg.Graph("g")
    graph.input("number", int)
    before = "number"
    for index in range(5):
        graph.add(f"n{index}", shared, bind={"number": before})
        before = f"n{index}"
    graph.add("again", shared)
    graph.output("n4")
    assert (await fg.arun(graph, {"number": 1})).output == 32


@pytest.mark.parametrize("limit", [None, 1])
async def test_graphs_nest_deeply(limit: int | None) -> None:
    graph = inner("level0")
    for level in range(1, 25):
        outer = fg.Graph(f"level{level}")
        outer.input("number", int)
        outer.add("deeper", graph)
        graph = outer
    run = await fg.arun(graph, {"number": 21}, max_concurrency=limit)
    assert run.output == 42
    assert "deeper/" * 24 + "scaled" in run


async def test_a_graph_that_holds_itself_is_refused() -> None:
    graph = fg.Graph("g")
    graph.add("self", graph)
    with pytest.raises(fg.GraphError):
        await fg.arun(graph)


async def test_all_problems_of_graphs_inside_are_found_before_anything_runs() -> None:
    calls = []
    small = fg.Graph("small")
    small.add("bad", lambda unknown: unknown)
    graph = fg.Graph("g")
    graph.add("first", lambda: calls.append(1))
    graph.add("small", small, after="first")
    graph.input("items", list[int])
    graph.map("many", small, each={"item": "items"})
    with pytest.raises(fg.GraphError) as caught:
        await fg.arun(graph, {"items": [1]})
    assert "unknown" in str(caught.value)
    assert calls == []


async def test_a_graph_is_called_by_a_node() -> None:
    async def node(ctx: fg.Context) -> list[int]:
        return await ctx.gather(*(ctx.call(inner(), {"number": number}) for number in (1, 2)))

    graph = fg.Graph("g")
    graph.add("node", node)
    run = await fg.arun(graph)
    assert run.output == [2, 4]
    assert run["node/inner~2/scaled"] == 4
