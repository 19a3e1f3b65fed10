"""Contexts, as type checkers see them: what a node's children give, and what the run was given."""

from dataclasses import dataclass
from typing import Any, assert_type

import flowgraph as fg


@dataclass
class Deps:
    """What the nodes of this file are given."""

    url: str


graph = fg.Graph("contexts")


async def child(value: int) -> str:
    return str(value)


@graph.node
async def parent(ctx: fg.Context[Deps]) -> str:
    assert_type(ctx.deps, Deps)
    assert_type(ctx.deps.url, str)
    assert_type(ctx.attempt, int)
    _ = ctx.deps.wrong  # type: ignore[attr-defined]

    assert_type(await ctx.call(child, {"value": 1}), Any)
    assert_type(await ctx.call(child, {"value": 1}, outcome=True), fg.Outcome[Any])
    ctx.call(child, {"value": 1}, unknown=1)  # type: ignore[call-overload]
    ctx.call(child, {"value": 1}, retry=3)  # type: ignore[call-overload]

    assert_type(await ctx.gather(ctx.call(child), ctx.call(child), max_concurrency=2), list[Any])
    assert_type(await ctx.gather(ctx.call(child, outcome=True), ctx.call(child, outcome=True)), list[fg.Outcome[Any]])
    assert_type(await ctx.in_thread(len, "abc"), int)
    await ctx.in_thread(len, 3)  # type: ignore[arg-type]
    await ctx.gather(child(1))  # type: ignore[arg-type]

    async with ctx.background() as scope:
        started = scope.start(ctx.call(child, outcome=True))
        assert_type(await started, fg.Outcome[Any])
        assert_type(started.done, bool)
    return ctx.deps.url


@graph.node
async def plain(ctx: fg.Context) -> str:
    assert_type(ctx.deps, Any)
    return ctx.run_id


@graph.node
def blocking(ctx: fg.SyncContext[Deps]) -> str:
    assert_type(ctx.deps, Deps)
    assert_type(ctx.call(child, {"value": 1}), Any)
    assert_type(ctx.gather(ctx.branch(child), ctx.branch(child)), list[Any])
    return ctx.path


@graph.node
async def started() -> float:
    return 1.0


run = fg.run(graph, deps=Deps("https://example.org"))
assert_type(run[parent], str)
assert_type(run[blocking], str)
assert_type(run[started], float)
