"""Graphs built in the run: how many of their nodes are at work, what their caller sees of them, how they are drawn."""

from __future__ import annotations

import contextlib
from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph.stores import MemoryStore
from tests.engine.stopping import Kept, loaded, stop_everywhere

pytestmark = pytest.mark.anyio


class Counted:
    """Nodes that note when they begin, and how many of them are at work at a time."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.now = self.most = 0

    def node(self, name: str, seconds: float = 0.01, fails: bool = False) -> Any:
        async def body() -> str:
            self.begun.append(name)
            self.now += 1
            self.most = max(self.most, self.now)
            await anyio.sleep(seconds)
            self.now -= 1
            if fails:
                raise ValueError(name)
            return name

        return body


def chain(counted: Counted, most: int | None) -> fg.Graph:
    graph = fg.Graph("g", max_concurrency=most)
    graph.add("a", counted.node("a"))
    graph.add("b", counted.node("b"), after="a")
    graph.add("c", counted.node("c"))
    graph.add("d", counted.node("d", fails=True), after="b")
    graph.add("e", counted.node("e"), after="d")
    graph.add("f", counted.node("f"))
    return graph


@pytest.mark.parametrize(("most", "begun"), [(1, "abcdf"), (2, "ac")])
async def test_so_many_nodes_are_at_work_and_the_one_added_first_begins(most: int, begun: str) -> None:
    counted = Counted()
    run = await fg.arun(chain(counted, most), raise_on_failure=False)
    assert "".join(counted.begun).startswith(begun)
    assert (counted.most, run.outcomes["e"].status) == (most, fg.Status.UPSTREAM_FAILED)
    assert sorted(counted.begun) == ["a", "b", "c", "d", "f"]


def test_a_limit_of_none_is_refused_where_it_is_given() -> None:
    with pytest.raises(ValueError, match="max_concurrency must be at least 1, not 0"):
        fg.Graph("g", max_concurrency=0)


async def test_replacing_nodes_keeps_the_limits_of_the_graph() -> None:
    limits = fg.Limits(nodes=9)
    graph = fg.Graph("g", max_concurrency=3, limits=limits)
    graph.add("a", lambda: 1)
    copy = fg.replace(graph, {"a": 2})
    assert (copy.max_concurrency, copy.limits) == (3, limits)


def calling() -> fg.Graph:
    async def caller(ctx: fg.Context) -> list[str]:
        with contextlib.suppress(fg.SubgraphFailed):
            await ctx.run_graph(chain(Counted(), 1), {})
        return [f"{name}: {outcome.status}" for name, outcome in ctx.outcomes.items()]

    outer = fg.Graph("outer")
    outer.add("caller", caller)
    return outer


async def test_a_node_sees_how_the_nodes_of_a_graph_that_it_ran_have_ended() -> None:
    run = await fg.arun(calling())
    words = ["succeeded", "succeeded", "succeeded", "failed", "upstream_failed", "succeeded"]
    assert run["caller"] == [f"{name}: {word}" for name, word in zip("abcdef", words, strict=True)]


async def test_such_a_graph_resumes_wherever_it_is_broken_off() -> None:
    await stop_everywhere(Kept(calling))


async def test_it_is_drawn_with_its_edges_also_from_a_store() -> None:
    store = MemoryStore()
    run = await fg.arun(calling(), store=store, run_id="kept")
    picture = fg.draw(run, format="mermaid")
    assert run.nodes["caller"].edges == (("a", "b"), ("b", "d"), ("d", "e"))
    assert str(fg.draw(loaded(store), format="mermaid")) == str(picture)
    assert str(picture).count("-->") >= 3


def test_an_error_that_is_raised_from_what_it_caused_fails_its_node_and_no_more() -> None:
    async def caller(ctx: fg.Context) -> None:
        try:
            await ctx.run_graph(chain(Counted(), 1), {})
        except fg.SubgraphFailed as failed:
            raise failed.errors["caller/d"] from failed

    outer = fg.Graph("outer")
    outer.add("caller", caller)
    run = fg.run(outer, raise_on_failure=False)
    assert str(run.outcomes["caller"].reason) == "it raised ValueError: d"
