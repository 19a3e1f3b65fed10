"""Small graphs, one for each thing that nodes can do while they wait, for tests that cut runs short."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import anyio

import flowgraph as fg

SHORT = 0.002  # seconds


# -- nodes


async def give(value: Any = 1) -> Any:
    """Waits a little, and cleans up behind itself."""
    try:
        await anyio.lowlevel.checkpoint()
        return value
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.lowlevel.checkpoint()


async def wait(value: Any = 1) -> Any:
    await anyio.sleep(SHORT / 2)
    return value


async def forever() -> Any:
    await anyio.sleep_forever()


async def fail() -> Any:
    await anyio.lowlevel.checkpoint()
    raise OSError("no")


def block(value: Any = 1) -> Any:
    time.sleep(SHORT / 4)
    return value


# -- graphs


class Case(NamedTuple):
    graph: fg.Graph
    options: dict[str, Any]


CASES: dict[str, Callable[[], Case]] = {}


def case(build: Callable[[fg.Graph], dict[str, Any] | None]) -> None:
    """A graph, and the options to run it with, under the name of the function that fills it."""

    def made() -> Case:
        graph = fg.Graph(build.__name__)
        return Case(graph, build(graph) or {})

    CASES[build.__name__] = made


@case
def chain(graph: fg.Graph) -> None:
    graph.add("a", give)
    graph.add("b", wait, after="a")
    graph.add("c", give, after="b")


@case
def fan(graph: fg.Graph) -> None:
    graph.add("source", give)
    for name in "abcd":
        graph.add(name, give, bind={"value": "source"})
    graph.add("sink", give, bind={"value": list("abcd")})


@case
def choice(graph: fg.Graph) -> None:
    async def reader(taken: fg.Maybe[str], other: fg.Outcome[str]) -> str:
        return f"{taken} {other.status}"

    async def holds(label: str) -> bool:
        await anyio.lowlevel.checkpoint()
        return label == "go"

    graph.add("label", give, values={"value": "go"})
    graph.add("taken", give)
    graph.add("other", give)
    graph.choose("label", {"go": "taken", "stay": "other"})
    graph.add("checked", give, when=holds)
    graph.add("reader", reader, after="checked")


@case
def map_(graph: fg.Graph) -> None:
    graph.input("numbers", list[int], default=[1, 2, 3])
    graph.map("items", give, each={"value": "numbers"}, max_concurrency=2)
    graph.map("again", give, each={"value": "items"})


@case
def nested(graph: fg.Graph) -> None:
    innermost, inner = fg.Graph("innermost"), fg.Graph("inner")
    innermost.add("a", give)
    inner.add("innermost", innermost)
    inner.add("b", give)
    inner.output("innermost", "b")
    graph.add("inner", inner)
    graph.add("after", give, bind={"value": "inner"})


@case
def loop(graph: fg.Graph) -> None:
    async def rounds(ctx: fg.Context) -> int:
        total = 0
        for number in range(3):
            total += await ctx.call(give, {"value": number}, round=number)
        return total

    graph.add("rounds", rounds)
    graph.add("after", give, bind={"value": "rounds"})


@case
def retries(graph: fg.Graph) -> None:
    async def third_time(ctx: fg.Context) -> int:
        await ctx.call(give)
        if ctx.attempt < 3:
            await fail()
        return ctx.attempt

    graph.add("third", third_time, retry=fg.Retry(attempts=3, delay=SHORT / 4))
    graph.add("mended", fail, retry=fg.Retry(attempts=2), fallback=give)


@case
def threads(graph: fg.Graph) -> dict[str, Any]:
    def parent(ctx: fg.SyncContext) -> list[Any]:
        first = ctx.call(wait)
        return [first, *ctx.gather(ctx.branch(give), ctx.branch(block))]

    graph.add("a", block)
    graph.add("b", block)
    graph.add("parent", parent)
    graph.add("after", block, after=["a", "b"])
    return {"threads": 2}


@case
def gather(graph: fg.Graph) -> None:
    async def parent(ctx: fg.Context) -> list[Any]:
        first = await ctx.gather(*[ctx.call(give) for _ in range(3)], max_concurrency=2)
        second = await ctx.gather(ctx.call(wait), ctx.call(fail, outcome=True))
        return [*first, second[0], str(second[1].status)]

    graph.add("parent", parent)


@case
def background(graph: fg.Graph) -> None:
    async def parent(ctx: fg.Context) -> Any:
        async with ctx.background() as scope:
            first, second = scope.start(ctx.call(give)), scope.start(ctx.call(forever))
            value = await first
            second.cancel()
        await ctx.call(give)
        return value

    graph.add("parent", parent)


@case
def slots(graph: fg.Graph) -> dict[str, Any]:
    async def parent(ctx: fg.Context) -> list[Any]:
        await anyio.lowlevel.checkpoint()
        return await ctx.gather(ctx.call(give), ctx.call(parent_of_one))

    async def parent_of_one(ctx: fg.Context) -> Any:
        return await ctx.call(wait)

    graph.add("parent", parent)
    for name in "abc":
        graph.add(name, give)
    return {"max_concurrency": 1}


@case
def groups(graph: fg.Graph) -> dict[str, Any]:
    graph.input("numbers", list[int], default=[1, 2, 3])
    limited = fg.Policy(group="model")
    for name in "abc":
        graph.add(name, give, policy=limited)
    graph.map("items", wait, each={"value": "numbers"}, policy=limited)
    return {"groups": {"model": 1}, "max_concurrency": 2}


@case
def time_limits(graph: fg.Graph) -> dict[str, Any]:
    inner = fg.Graph("inner")
    inner.add("forever", forever)
    graph.add("in_time", give, timeout=60)
    graph.add("late", forever, timeout=SHORT, fallback="instead")
    graph.add("inner", inner, timeout=SHORT)
    graph.add("total", fail, retry=fg.Retry(attempts=9, delay=60), policy=fg.Policy(total_timeout=SHORT))
    graph.add("thread", block, timeout=60)
    return {"limits": fg.Limits(run_timeout=60)}


@case
def run_timeout(graph: fg.Graph) -> dict[str, Any]:
    graph.add("a", give)
    graph.add("forever", forever, after="a")
    return {"limits": fg.Limits(run_timeout=SHORT)}


@case
def stop(graph: fg.Graph) -> dict[str, Any]:
    graph.add("a", give)
    graph.add("bad", fail, after="a")
    graph.add("forever", forever)
    graph.add("thread", block)
    graph.add("never", give, after="forever")
    return {"on_failure": "stop"}
