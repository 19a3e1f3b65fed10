"""Parts of drawn graphs: each adds nodes that make a whole number of another one, and says what comes out.

Every node notes its call before it does anything. `k` is a small number, drawn for each part.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import anyio

import flowgraph as fg
from flowgraph_nodes import LoopFlow

PRIME: Final = 99_991
PAUSES: Final = 7
"""Nodes pause for 0 to 6 milliseconds, by their paths; in hurried runs not at all, so that most of it is writing."""

PARTS: Final[dict[str, Part]] = {}
AGAIN: Final = fg.Retry(attempts=3, delay=0.03)


class Part(NamedTuple):
    """add(graph, name, source, k); gives(name, value, k): what comes out for a value."""

    add: Callable[[fg.Graph, str, str, int], None]
    gives: Callable[[str, int, int], int]


def part(gives: Callable[[str, int, int], int]) -> Callable[[Callable[..., None]], None]:
    def keep(add: Callable[..., None]) -> None:
        PARTS[add.__name__] = Part(add, gives)

    return keep


def mixed(value: int, k: int) -> int:
    return (value * 31 + k) % PRIME


def answer_to(path: str) -> int:
    """What a person says, by the path of the gate."""
    return zlib.crc32(path.encode()) % 100


async def called(ctx: Any) -> None:
    """What every node begins with."""
    ctx.deps.calls.note(ctx)
    await anyio.sleep(0 if ctx.deps.hurried else zlib.crc32(ctx.path.encode()) % PAUSES / 1000)


async def mix(value: int, k: int, ctx: fg.Context) -> int:
    await called(ctx)
    return mixed(value, k)


async def total(values: list[int], ctx: fg.Context) -> int:
    await called(ctx)
    return sum(values) % PRIME


@part(lambda name, value, k: mixed(value, k))
def plain(graph: fg.Graph, name: str, source: str, k: int) -> None:
    graph.add(name, mix, bind={"value": source}, values={"k": k})


@part(lambda name, value, k: mixed(value, k))
def blocking(graph: fg.Graph, name: str, source: str, k: int) -> None:
    def sync(value: int, ctx: fg.SyncContext) -> int:
        ctx.deps.calls.note(ctx)
        return int(ctx.call(mix, {"value": value, "k": k}))

    graph.add(name, sync, bind={"value": source})


@part(lambda name, value, k: mixed(mixed(value, 1), 1 + k % 3))
def flaky(graph: fg.Graph, name: str, source: str, k: int) -> None:
    async def fails_at_first(value: int, ctx: fg.Context) -> int:
        await called(ctx)
        found = await ctx.call(mix, {"value": value, "k": 1})
        if ctx.attempt < 1 + k % 3:
            raise ConnectionError(f"attempt {ctx.attempt}")
        return mixed(found, ctx.attempt)

    graph.add(name, fails_at_first, bind={"value": source}, retry=AGAIN)


@part(lambda name, value, k: sum(mixed(item, k) for item in items_of(value, k)) % PRIME)
def mapped(graph: fg.Graph, name: str, source: str, k: int) -> None:
    graph.add(f"{name}_items", items, bind={"value": source}, values={"k": k})
    graph.map(f"{name}_each", mix, each={"value": f"{name}_items"}, values={"k": k}, max_concurrency=1 + k % 3)
    graph.add(name, total, bind={"values": f"{name}_each"})


async def items(value: int, k: int, ctx: fg.Context) -> list[int]:
    await called(ctx)
    return items_of(value, k)


def items_of(value: int, k: int) -> list[int]:
    return [(value + number) % PRIME for number in range(2 + k % 4)]


@part(lambda name, value, k: _grown(value % 10, k))
def looped(graph: fg.Graph, name: str, source: str, k: int) -> None:
    async def grow(value: int, ctx: fg.Context) -> int:
        await called(ctx)
        return int(await ctx.call(one_more, {"value": value}))

    async def one_more(value: int, ctx: fg.Context) -> int:
        await called(ctx)
        return value + 3 + k % 5

    async def small(value: int, ctx: fg.Context) -> int:
        await called(ctx)
        return value % 10

    graph.add(f"{name}_small", small, bind={"value": source})
    graph.add(name, LoopFlow(grow, until="output >= 20"), bind={"value": f"{name}_small"})


def _grown(value: int, k: int) -> int:
    while True:
        value += 3 + k % 5
        if value >= 20:
            return value


@part(lambda name, value, k: (mixed(mixed(value, k), 1) + mixed(mixed(value, k), 2)) % PRIME)
def nested(graph: fg.Graph, name: str, source: str, k: int) -> None:
    inner = fg.Graph("inner")
    inner.input("value", int)
    inner.add("first", mix, values={"k": k})
    inner.add("left", mix, bind={"value": "first"}, values={"k": 1})
    inner.add("right", mix, bind={"value": "first"}, values={"k": 2})
    inner.add("both", total, bind={"values": ["left", "right"]})
    graph.add(name, inner, bind={"value": source})


@part(lambda name, value, k: _grown_tree(value, 1 + k % 2))
def tree(graph: fg.Graph, name: str, source: str, k: int) -> None:
    async def grow(value: int, depth: int, ctx: fg.Context) -> int:
        await called(ctx)
        if not depth:
            return mixed(value, 7)
        first = await ctx.call(mix, {"value": value, "k": depth})
        branches = [ctx.call(grow, {"value": first + n, "depth": depth - 1}) for n in range(2)]
        async with ctx.background() as scope:
            beside = scope.start(ctx.call(mix, {"value": value, "k": 0}, name="beside"))
            found = await ctx.gather(*branches)
        return (sum(found) + await beside) % PRIME

    graph.add(name, grow, bind={"value": source}, values={"depth": 1 + k % 2})


def _grown_tree(value: int, depth: int) -> int:
    if not depth:
        return mixed(value, 7)
    first = mixed(value, depth)
    return (sum(_grown_tree(first + n, depth - 1) for n in range(2)) + mixed(value, 0)) % PRIME


@part(lambda name, value, k: mixed(value, answer_to(f"{name}_gate") + answer_to(f"{name}/ask")))
def asked(graph: fg.Graph, name: str, source: str, k: int) -> None:
    async def asks(value: int, said: int, ctx: fg.Context) -> int:
        await called(ctx)
        await ctx.call(mix, {"value": value, "k": k})
        return mixed(value, said + await ctx.ask("And how much more?", int))

    graph.add(f"{name}_gate", fg.Gate(f"How much for {{{source}}}?", int))
    graph.add(name, asks, bind={"value": source, "said": f"{name}_gate"})


@part(lambda name, value, k: (mixed(value, k + 1) + 1) % PRIME)
def tolerated(graph: fg.Graph, name: str, source: str, k: int) -> None:
    """A failure that its reader takes, and a node whose fallback stands in."""

    async def bad(value: int, ctx: fg.Context) -> int:
        await called(ctx)
        await ctx.call(mix, {"value": value, "k": k})
        raise ValueError(f"no luck with {value}")

    async def instead(value: int, ctx: fg.Context) -> int:
        await called(ctx)
        return mixed(value, k + 1)

    async def reader(failed: fg.Outcome[int], stood_in: int, ctx: fg.Context) -> int:
        await called(ctx)
        return (stood_in + isinstance(failed.error, ValueError)) % PRIME

    graph.add(f"{name}_bad", bad, bind={"value": source})
    graph.add(f"{name}_instead", bad, bind={"value": source}, fallback=instead, retry=AGAIN)
    graph.add(name, reader, bind={"failed": f"{name}_bad", "stood_in": f"{name}_instead"})


@part(lambda name, value, k: _length_and_sum(_long_text(value, k)))
def long(graph: fg.Graph, name: str, source: str, k: int) -> None:
    """A text that is stored outside of the events, a sleep, and a choice."""

    async def text(value: int, ctx: fg.Context) -> str:
        await called(ctx)
        await ctx.sleep(0.004)
        return _long_text(value, k)

    async def look(text: str, ctx: fg.Context) -> int:
        await called(ctx)
        return _length_and_sum(text)

    async def label(value: int, ctx: fg.Context) -> str:
        await called(ctx)
        return "odd" if value % 2 else "even"

    async def either(odd: fg.Maybe[int], even: fg.Maybe[int], ctx: fg.Context) -> int:
        await called(ctx)
        return odd if even is None and odd is not None else even or 0

    graph.add(f"{name}_text", text, bind={"value": source})
    graph.add(f"{name}_label", label, bind={"value": source})
    graph.add(f"{name}_odd", look, bind={"text": f"{name}_text"})
    graph.add(f"{name}_even", look, bind={"text": f"{name}_text"})
    graph.choose(f"{name}_label", {"odd": f"{name}_odd", "even": f"{name}_even"})
    graph.add(name, either, bind={"odd": f"{name}_odd", "even": f"{name}_even"})


def _long_text(value: int, k: int) -> str:
    return f'{value} naïve 漢字 \\ " {k}\n' * (100 + 40 * k)


def _length_and_sum(text: str) -> int:
    return (len(text) + int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)) % PRIME
