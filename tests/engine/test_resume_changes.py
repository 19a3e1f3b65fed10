"""Graphs that have changed between a run's start and its resume; and generations, which never mix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import flowgraph as fg
from flowgraph.stores import MemoryStore
from tests.engine.stopping import RUN, called, loaded


def one(value: Any = 1) -> Any:
    return value


def two(value: Any = 2) -> Any:
    return value


def plain(graph: fg.Graph) -> None:
    graph.input("topic", str, default="tea")
    graph.add("a", one)
    graph.add("b", one, bind={"value": "a"})
    graph.add("c", one, after="b")
    graph.add("failing", failing, after="a")


def failing() -> None:
    raise OSError("no")


def graph_of(*fills: Callable[[fg.Graph], object]) -> fg.Graph:
    graph = fg.Graph("g")
    for fill in fills:
        fill(graph)
    return graph


def with_inner(name: str, version: str = "") -> Callable[[fg.Graph], None]:
    def fill(graph: fg.Graph) -> None:
        inner = fg.Graph("inner")
        inner.add(name, one, version=version or None)
        graph.add("team", inner)

    return fill


def instead(name: str, node: Any, **options: Any) -> Callable[[fg.Graph], None]:
    def fill(graph: fg.Graph) -> None:
        entries = dict(graph.entries)
        graph.entries.clear()
        for other, entry in entries.items():
            if other == name:
                graph.add(name, node, **options)
            else:
                graph.entries[other] = entry

    return fill


CHANGES: dict[str, tuple[list[Any], list[Any], list[str], list[str]]] = {
    "a node more": ([], [lambda g: g.add("d", one)], ["node 'd' is new"], ["d"]),
    "a node less": ([lambda g: g.add("d", one)], [], ["node 'd' is gone"], []),
    "an input more": ([], [lambda g: g.input("more", int, default=1)], ["input 'more' is new"], []),
    "other data": (
        [],
        [instead("b", one, bind={"value": "topic"})],
        ["the data edge 'a' → 'b' (optional) is gone", "the data edge 'topic' → 'b' (optional) is new"],
        ["b"],
    ),
    "another order": (
        [],
        [instead("c", one, after="a")],
        ["the order edge 'b' → 'c' is gone", "the order edge 'a' → 'c' is new"],
        ["c"],
    ),
    "a condition": (
        [],
        [instead("c", one, after="b", when="a == 1")],
        ["the condition of 'c' was none, is a == 1"],
        ["c"],
    ),
    "a version": (
        [],
        [instead("b", two, bind={"value": "a"}, version="2")],
        ["'b' was version none, is version 2"],
        ["b"],
    ),
    "a graph for a function": ([], [instead("a", graph_of(lambda g: g.add("x", one)))], ["'a' was of kind"], ["a"]),
    "inside of a graph": (
        [with_inner("x")],
        [with_inner("y")],
        ["node 'team/x' is gone", "node 'team/y' is new"],
        ["team", "team/y"],
    ),
    "a version inside of a graph": (
        [with_inner("x")],
        [with_inner("x", "2")],
        ["'team/x' was version none, is version 2"],
        ["team", "team/x"],
    ),
    "a choice": (
        [lambda g: g.add("t", one)],
        [lambda g: g.add("t", one), lambda g: g.choose("a", {1: "t"}, default=fg.END)],
        ["'a' → 't'"],
        ["t"],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_graph_is_refused_with_the_differences_and_forced(name: str) -> None:
    before, now, differences, again = CHANGES[name]
    store = MemoryStore()
    fg.run(graph_of(plain, *before), store=store, run_id=RUN, raise_on_failure=False)
    length = len(store.read(RUN).rows)
    with pytest.raises(fg.GraphChanged) as changed:
        fg.resume(graph_of(plain, *now), RUN, store=store)
    for difference in differences:
        assert any(difference in found for found in changed.value.differences), changed.value.differences
    assert len(store.read(RUN).rows) == length and store.read(RUN).head.owner == ""
    run = fg.resume(graph_of(plain, *now), RUN, store=store, force=True, raise_on_failure=False)
    others = set(called(run)) - {"failing"}
    assert set(again) <= others <= {*again, *(p for p in others if p.startswith(tuple(f"{n}/" for n in again)))}
    assert all(outcome.status.final for outcome in run.outcomes.values())
    twin = loaded(store)
    assert str(twin) == str(run)
    assert list(twin.outcomes) == list(run.outcomes)
    once_more = fg.resume(graph_of(plain, *now), RUN, store=store, raise_on_failure=False)
    assert called(once_more) == ["failing"], "it is the run's graph now"


def test_titles_retries_and_limits_are_no_changes() -> None:
    def other(graph: fg.Graph) -> None:
        graph.input("topic", str, default="tea")
        graph.add("a", two, title="Another")
        graph.add("b", one, bind={"value": "a"}, retry=fg.Retry(attempts=2), timeout=60)
        graph.add("c", one, after="b", fallback=3)
        graph.add("failing", lambda: 1, after="a")

    store = MemoryStore()
    fg.run(graph_of(plain), store=store, run_id=RUN, raise_on_failure=False)
    run = fg.resume(graph_of(other), RUN, store=store)
    assert called(run) == ["failing"]


# -- generations


class Source:
    """A node that fails once, and a source that gives something else each time."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def count(self, name: str) -> int:
        self.calls[name] += 1
        return self.calls[name]


@pytest.mark.parametrize("shape", ["chain", "nested", "map", "choice", "condition", "call", "order"])
@pytest.mark.parametrize("same", [False, True])
def test_c20_results_of_two_generations_never_mix(shape: str, same: bool) -> None:
    world, graph = Source(), fg.Graph("g")

    def source() -> int:
        return 1 if same else world.count("a")

    def reader(value: int) -> int:
        world.count("reader")
        return value * 10

    def last(value: Any, other: int) -> Any:
        if world.count("last") == 1:
            raise OSError("no")
        return value

    async def caller(ctx: fg.Context, value: int) -> int:
        return int(await ctx.call(reader, {"value": value}))

    inner = fg.Graph("inner")
    inner.input("value", int)
    inner.add("reader", reader)
    graph.add("a", source, version="1")
    graph.add("other", lambda: world.count("other"))
    bind: dict[str, Any] = {"value": "a"}
    if shape == "map":
        graph.add("items", lambda a: [a, 5])
        graph.map("b", reader, each={"value": "items"})
    elif shape in ("choice", "order"):
        graph.add("b", reader, **({"values": {"value": 3}, "after": "a"} if shape == "order" else {"bind": bind}))
        if shape == "choice":
            graph.choose("a", {1: "b", 2: "b"})
    elif shape == "condition":
        graph.add("b", reader, values={"value": 4}, when="a < 2")
    else:
        graph.add("b", {"chain": reader, "nested": inner, "call": caller}[shape], bind=bind)
    graph.add("last", last, bind={"value": "b", "other": "other"})
    if shape == "condition":
        graph.entries["last"] = graph.entries["last"]
    store = MemoryStore()
    fg.run(graph, store=store, run_id=RUN, raise_on_failure=False)
    before = Counter(world.calls)
    graph.entries["a"] = graph.entries["a"].__class__(**{**vars_of(graph.entries["a"]), "version": "2"})
    graph.revision += 1
    run = fg.resume(graph, RUN, store=store, force=True, raise_on_failure=False)
    calls = world.calls - before
    assert calls["other"] == 0
    value = run["a"]
    assert value == (1 if same else 2)
    expected = {"map": [value * 10, 50], "order": 30, "condition": 40}.get(shape, value * 10)
    if shape == "condition" and not same:
        assert run.outcomes["b"].status is run.outcomes["last"].status is fg.Status.SKIPPED
        return
    assert run.output == expected
    untouched = same or shape == "order"
    again = 2 if shape == "map" else 1  # what runs afresh has no children that count
    assert calls["reader"] == (0 if untouched else again), "a parent that gives the same value changes nothing"


def test_a_node_that_runs_afresh_has_all_its_attempts_and_no_more() -> None:
    graph = fg.Graph("g")
    tries: list[int] = []

    async def reader(ctx: fg.Context, a: int) -> int:
        tries.append(ctx.attempt)
        if a == 2:
            raise OSError("no")
        return a

    values = [1]
    graph.add("a", lambda: values[-1], version="1")
    graph.add("reader", reader, retry=fg.Retry(attempts=3))
    graph.add("last", failing)
    store = MemoryStore()
    fg.run(graph, store=store, run_id=RUN, raise_on_failure=False)
    values.append(2)
    graph.entries["a"] = graph.entries["a"].__class__(**{**vars_of(graph.entries["a"]), "version": "2"})
    graph.revision += 1
    run = fg.resume(graph, RUN, store=store, force=True, raise_on_failure=False)
    assert tries == [1, 1, 2, 3] and run.outcomes["reader"].status is fg.Status.FAILED


def vars_of(entry: Any) -> dict[str, Any]:
    from dataclasses import fields

    return {f.name: getattr(entry, f.name) for f in fields(entry) if f.init}
