"""Graphs with one of everything that a journal has to keep, for tests that break runs off."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

import anyio

import flowgraph as fg
from flowgraph_nodes import LoopFlow
from tests.engine.small_graphs import fail, give

BUILDS: dict[str, Case] = {}


class Case(NamedTuple):
    build: Callable[[], fg.Graph]
    inputs: dict[str, Any]
    answers: dict[str, Any]
    options: dict[str, Any]


def kept_graph(
    inputs: dict[str, Any] | None = None, answers: dict[str, Any] | None = None, **options: Any
) -> Callable[[Callable[[fg.Graph], None]], None]:
    """A graph under the name of the function that fills it, and how it is run."""

    def add(fill: Callable[[fg.Graph], None]) -> None:
        def build() -> fg.Graph:
            graph = fg.Graph(fill.__name__)
            fill(graph)
            return graph

        BUILDS[fill.__name__] = Case(build, inputs or {}, answers or {}, options)

    return add


async def double(value: int) -> int:
    await anyio.lowlevel.checkpoint()
    return value * 2


async def odd_fails(value: int) -> int:
    await anyio.lowlevel.checkpoint()
    if value % 2:
        raise ValueError(f"{value} is odd")
    return value


async def odd_skips(value: int) -> int:
    await anyio.lowlevel.checkpoint()
    if value % 2:
        raise fg.Skip(f"{value} is odd")
    return value


async def charging(ctx: fg.Context, value: int = 1) -> int:
    ctx.charge(tokens=value, cost=value / 8)
    ctx.keep(seen=value)
    await anyio.lowlevel.checkpoint()
    return value


def inner_graph(name: str = "inner") -> fg.Graph:
    inner = fg.Graph(name)
    inner.input("value", int)
    inner.add("twice", double)
    inner.add("again", double, bind={"value": "twice"})
    return inner


# -- maps, graphs, loops


@kept_graph({"numbers": [1, 2, 3]})
def maps(graph: fg.Graph) -> None:
    graph.input("numbers", list[int])
    graph.map("all", double, each={"value": "numbers"}, max_concurrency=2)
    graph.map("kept", odd_fails, each={"value": "numbers"}, on_item_failure="keep")
    graph.map("dropped", odd_fails, each={"value": "numbers"}, on_item_failure="drop")
    graph.map("left_out", odd_skips, each={"value": "numbers"})
    graph.map("failing", odd_fails, each={"value": "numbers"})
    graph.add("reader", count, bind={"found": "kept", "others": "dropped"})


async def count(found: list[fg.Outcome[int]], others: list[int]) -> list[Any]:
    return [[str(outcome.status), type(outcome.error).__name__] for outcome in found] + [others]


@kept_graph({"numbers": [1, 2]})
def maps_of_graphs(graph: fg.Graph) -> None:
    graph.input("numbers", list[int])
    graph.map("teams", inner_graph(), each={"value": "numbers"})
    inner = fg.Graph("with_map")
    inner.input("values", list[int])
    inner.map("each", inner_graph(), each={"value": "values"})
    graph.add("nested", inner, bind={"values": "numbers"})


@kept_graph({"value": 3})
def graphs_in_graphs(graph: fg.Graph) -> None:
    outer = fg.Graph("outer")
    outer.input("value", int)
    outer.add("inner", inner_graph())
    outer.add("bad", fail)
    outer.add("tolerant", tolerant, bind={"bad": "bad"})
    outer.output("inner")
    graph.input("value", int)
    graph.add("outer", outer)
    graph.add("unlucky", unlucky_graph())
    graph.add("after", double, bind={"value": "outer"})
    graph.add("never", double, bind={"value": "unlucky"})


def unlucky_graph() -> fg.Graph:
    inner = fg.Graph("unlucky")
    inner.add("fine", give)
    inner.add("bad", fail, after="fine")
    inner.add("below", give, bind={"value": "bad"})
    return inner


async def tolerant(bad: fg.Outcome[Any]) -> str:
    return str(bad.status)


@kept_graph({"value": 1})
def loops(graph: fg.Graph) -> None:
    graph.input("value", int)
    graph.add("grow", LoopFlow(double, until="output > 6"))
    graph.add("best", LoopFlow(inner_graph("body"), until="output > 99", max_iterations=3, on_exhausted="last"))
    graph.add("broken_off", LoopFlow(until_four))
    graph.add("exhausted", LoopFlow(double, until="output > 99", max_iterations=2, name="few"))
    graph.add("after", double, bind={"value": "grow"})


async def until_four(value: int) -> int:
    await anyio.lowlevel.checkpoint()
    if value >= 4:
        raise fg.Break(value)
    return value + 1


# -- calls


@kept_graph()
def trees(graph: fg.Graph) -> None:
    async def grow(ctx: fg.Context, depth: int) -> int:
        if not depth:
            return await ctx.call(charging, {"value": 2})
        first = await ctx.call(grow, {"depth": depth - 1})
        second, third = await ctx.gather(ctx.call(charging), ctx.call(grow, {"depth": depth - 1}, name="other"))
        ctx.charge(tokens=100)
        return first + second + third

    graph.add("tree", grow, values={"depth": 2})


@kept_graph()
def gathers(graph: fg.Graph) -> None:
    async def handled(ctx: fg.Context) -> list[str]:
        calls = [ctx.call(odd_fails, {"value": value}, outcome=True) for value in range(4)]
        found = [str(outcome.status) for outcome in await ctx.gather(*calls, max_concurrency=2)]
        try:
            await ctx.call(odd_fails, {"value": 7})
        except ValueError as error:
            found.append(str(error))
        return [*found, str(await ctx.call(charging))]

    async def unhandled(ctx: fg.Context) -> list[int]:
        await ctx.call(charging)
        return await ctx.gather(*[ctx.call(odd_fails, {"value": value}) for value in range(4)])

    async def wrapped(ctx: fg.Context) -> int:
        try:
            return await ctx.call(odd_fails, {"value": 1})
        except ValueError as error:
            raise LookupError("in other words") from error

    graph.add("handled", handled)
    graph.add("unhandled", unhandled)
    graph.add("wrapped", wrapped)


@kept_graph(threads=1)
def blocking(graph: fg.Graph) -> None:
    def parent(ctx: fg.SyncContext) -> list[Any]:
        first = ctx.call(charging)
        return [first, *ctx.gather(ctx.branch(double, {"value": 2}), ctx.branch(charging))]

    graph.add("parent", parent)
    graph.add("after", double, bind={"value": "number"})
    graph.add("number", lambda: 1)


@kept_graph()
def backgrounds(graph: fg.Graph) -> None:
    async def parent(ctx: fg.Context) -> list[int]:
        async with ctx.background() as scope:
            first, second = scope.start(ctx.call(charging)), scope.start(ctx.call(napping))
            value = await ctx.call(double, {"value": await first})
            return [value, await second]

    graph.add("parent", parent)


async def napping(ctx: fg.Context) -> int:
    await ctx.sleep(timedelta(hours=1))
    return await ctx.call(charging)


# -- retries, fallbacks, time


@kept_graph()
def tries(graph: fg.Graph) -> None:
    async def third_time(ctx: fg.Context) -> int:
        value = await ctx.call(charging, {"value": ctx.attempt})
        if ctx.attempt < 3:
            await ctx.call(odd_fails, {"value": 1})
        return value

    async def caller(ctx: fg.Context) -> int:
        return await ctx.call(third_time, retry=fg.Retry(attempts=3, delay=60))

    graph.add("third", third_time, retry=fg.Retry(attempts=3, delay=3600))
    graph.add("caller", caller)
    graph.add("never", third_time, retry=fg.Retry(attempts=2, delay=60))
    graph.add("limited", third_time, retry=fg.Retry(attempts=9, delay=60), policy=fg.Policy(total_timeout=90))


@kept_graph()
def fallbacks(graph: fg.Graph) -> None:
    async def instead(ctx: fg.Context, error: Exception) -> str:
        return f"{type(error).__name__} {error} {await ctx.call(charging)}"

    async def bad_fallback() -> None:
        raise LookupError("nor this")

    async def with_children(ctx: fg.Context) -> int:
        await ctx.call(charging)
        return await ctx.call(odd_fails, {"value": 1})

    again = fg.Retry(attempts=2, delay=60)
    graph.add("by_value", fail, fallback="instead")
    graph.add("by_node", with_children, fallback=instead, retry=again)
    graph.add("in_vain", with_children, fallback=bad_fallback, retry=again)
    graph.add("reader", give, bind={"value": "by_node"})


@kept_graph()
def sleeps(graph: fg.Graph) -> None:
    async def parent(ctx: fg.Context) -> int:
        await ctx.sleep(3600)
        value = await ctx.call(charging)
        await ctx.gather(ctx.sleep(60), ctx.sleep(120))
        return value

    graph.add("parent", parent, timeout=30)
    graph.add("beside", napping)


# -- choices and joins


@kept_graph()
def choices(graph: fg.Graph) -> None:
    graph.add("label", lambda: "left")
    graph.add("left", double, values={"value": 1})
    graph.add("right", double, values={"value": 2})
    graph.add("join", joined, bind={"one": "left", "other": "right"})
    graph.choose("label", {"left": "left", "right": "right"})
    graph.add("unlucky", lambda: "neither")
    graph.add("target", give)
    graph.choose("unlucky", {"left": "target"})
    graph.add("asked", give, bind={"value": "join"}, when=lambda join: join == [2, None])
    graph.add("not_asked", give, bind={"value": "join"}, when="len(join) > 2")
    graph.add("broken", give, when=raising)
    graph.add("skipping", odd_skips, values={"value": 1})
    graph.add("below", double, bind={"value": "skipping"})


async def joined(one: fg.Maybe[int], other: fg.Maybe[int]) -> list[int | None]:
    return [one, other]


def raising(join: Any) -> bool:
    raise LookupError("no idea")


@kept_graph(max_concurrency=1)
def quorums(graph: fg.Graph) -> None:
    parents = {"a": "a", "b": "b", "c": "c"}
    graph.add("a", give)
    graph.add("b", fail)
    graph.add("c", napping, after="a")
    graph.add("two", three, bind=parents, join=fg.Join.at_least(2))
    graph.add("all_of_them", three, bind=parents, join=fg.Join.DONE)
    graph.add("too_many", three, bind=parents, join=fg.Join.at_least(3))


async def three(a: fg.Maybe[Any], b: fg.Outcome[Any], c: fg.Maybe[Any]) -> str:
    return f"{a} {b.status} {c}"


# -- gates


@kept_graph(
    {"value": 5},
    {"gate": True, "asker/ask": "tea", "asker/ask~2": 3, "team/twice": 8, "many[0]/sure": "a", "late": "me"},
)
def gates(graph: fg.Graph) -> None:
    async def asker(ctx: fg.Context) -> list[Any]:
        before = await ctx.call(charging)
        drink = await ctx.ask("What to drink?")
        return [before, drink, await ctx.ask("How many?", int), await ctx.call(charging)]

    async def item(ctx: fg.Context, value: int) -> str:
        if value % 2:
            return "odd"
        return await ctx.ask("Sure?", key="sure")

    team = fg.Graph("team")
    team.add("twice", fg.Gate("Twice of {number}?", int), bind={"number": "one"})
    team.add("one", lambda: 4)
    team.add("after", double, bind={"value": "twice"})
    graph.input("value", int)
    graph.add("gate", fg.Gate("Go on with {value}?", bool))
    graph.add("after", give, bind={"value": "gate"}, when="gate")
    graph.add("asker", asker)
    graph.add("team", team)
    graph.add("numbers", lambda: [0, 1])
    graph.map("many", item, each={"value": "numbers"})
    graph.add("late", fg.Gate("Anyone?", timeout=timedelta(days=1), default="nobody"), after="later")
    graph.add("later", napping)


@kept_graph(None, {"parent/left": "l", "parent/right": "r", "loop#0/ask": "no", "loop#1/ask": "yes"})
def gates_inside(graph: fg.Graph) -> None:
    async def parent(ctx: fg.Context) -> list[Any]:
        async with ctx.background() as scope:
            beside = scope.start(ctx.call(napping))
            found = await ctx.gather(ctx.ask("left?", key="left"), ctx.ask("right?", key="right"))
            return [*found, await beside]

    async def body(ctx: fg.Context, value: int) -> str:
        return str(await ctx.ask(f"Enough after {value}?"))

    graph.add("parent", parent)
    graph.add("loop", LoopFlow(body, until="output == 'yes'", carry={}, name="loop"), values={"value": 1})


# -- how runs end


@kept_graph(on_failure="stop")
def stopped(graph: fg.Graph) -> None:
    graph.add("a", charging, values={"value": 1})
    graph.add("bad", fail, after="a")
    graph.add("never", give, after="bad")
    graph.add("slow", napping)


@kept_graph(limits=fg.Limits(run_timeout=60))
def out_of_time(graph: fg.Graph) -> None:
    graph.add("a", charging, values={"value": 1})
    graph.add("forever", anyio.sleep_forever, after="a")
    graph.add("after", give, bind={"value": "forever"})
