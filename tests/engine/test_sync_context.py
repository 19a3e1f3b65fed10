"""Contexts of sync nodes, and children in the background."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph.events import NodeStarted

pytestmark = pytest.mark.anyio


async def double(x: int) -> int:
    return 2 * x


def graph_of(function: Any) -> fg.Graph:
    graph = fg.Graph("g")
    graph.add("node", function)
    return graph


async def test_a_sync_node_calls_children_and_waits_for_them() -> None:
    def node(ctx: fg.SyncContext) -> list[int]:
        first = ctx.call(double, {"x": 1})
        return [first, *ctx.gather(ctx.branch(double, {"x": 2}), ctx.branch(double, {"x": 3}))]

    run = await fg.arun(graph_of(node))
    assert run.output == [2, 4, 6]
    assert [child.path for child in run.nodes["node"].children] == ["node/double", "node/double~2", "node/double~3"]


async def test_errors_of_children_are_raised_on_the_thread() -> None:
    async def fails() -> None:
        raise LookupError("nothing there")

    def node(ctx: fg.SyncContext) -> str:
        try:
            ctx.call(fails)
        except LookupError as error:
            return str(error)
        return ""

    assert (await fg.arun(graph_of(node))).output == "nothing there"


async def test_an_outcome_is_given_when_it_is_asked_for() -> None:
    async def skips() -> None:
        raise fg.Skip("not today")

    def node(ctx: fg.SyncContext) -> str:
        return str(ctx.call(skips, outcome=True).status)

    assert (await fg.arun(graph_of(node))).output == "skipped"


async def test_an_abandoned_thread_can_call_nothing_any_more() -> None:
    asked, ended = threading.Event(), threading.Event()
    seen: list[str] = []

    async def forever() -> None:
        await anyio.sleep_forever()

    def node(ctx: fg.SyncContext) -> None:
        for _ in range(2):
            try:
                ctx.call(forever)
            except RuntimeError as error:
                seen.append(str(error))
        ended.set()

    graph = graph_of(node)
    async with fg.start(graph) as live:
        async for event in live:
            if event.path == "node/forever":
                asked.set()
                live.cancel()
    assert asked.is_set()
    await anyio.to_thread.run_sync(ended.wait, 10)
    assert len(seen) == 2
    assert "has ended" in seen[0]


async def test_children_hold_the_only_slot_while_the_thread_waits() -> None:
    def node(ctx: fg.SyncContext) -> int:
        return int(ctx.call(double, {"x": 4}))

    with anyio.fail_after(10):
        assert (await fg.arun(graph_of(node), max_concurrency=1)).output == 8


def test_a_sync_context_is_refused_where_it_would_block_the_loop() -> None:
    async def node(ctx: fg.SyncContext) -> None: ...

    with pytest.raises(TypeError, match=r"take a fg\.Context"):
        graph_of(node)


async def test_facts_and_telling_are_the_same_in_both() -> None:
    def node(ctx: fg.SyncContext[str]) -> str:
        ctx.charge(tokens=5, cost=0.5)
        ctx.keep(seen=True)
        return f"{ctx.path} {ctx.attempt} {ctx.deps}"

    run = await fg.arun(graph_of(node), deps="d")
    assert run.output == "node 1 d"
    assert (run.usage.tokens, run.usage.cost, run.nodes["node"].detail) == (5, 0.5, {"seen": True})


# background


async def test_a_child_goes_on_beside_what_follows() -> None:
    ready = anyio.Event()

    async def waits() -> str:
        await ready.wait()
        return "there"

    async def node(ctx: fg.Context) -> list[Any]:
        async with ctx.background() as scope:
            started = scope.start(ctx.call(waits))
            here = await ctx.call(double, {"x": 1})
            assert not started.done
            ready.set()
            return [here, await started]

    assert (await fg.arun(graph_of(node))).output == [2, "there"]


async def test_leaving_the_block_waits_for_all_and_raises_what_nobody_heard() -> None:
    async def fails() -> None:
        raise LookupError("lost")

    async def node(ctx: fg.Context) -> None:
        async with ctx.background() as scope:
            scope.start(ctx.call(double, {"x": 1}))
            scope.start(ctx.call(fails))

    run = await fg.arun(graph_of(node), raise_on_failure=False)
    assert str(run.nodes["node"].reason) == "it raised LookupError: lost"
    assert run["node/double"] == 2


async def test_an_exception_in_the_block_cancels_the_children() -> None:
    async def forever() -> None:
        await anyio.sleep_forever()

    async def node(ctx: fg.Context) -> None:
        async with ctx.background() as scope:
            scope.start(ctx.call(forever))
            await anyio.lowlevel.checkpoint()
            raise ValueError("enough")

    with anyio.fail_after(10):
        run = await fg.arun(graph_of(node), raise_on_failure=False)
    assert str(run.nodes["node"].reason) == "it raised ValueError: enough"
    assert str(run.nodes["node/forever"].status) == "cancelled"


async def test_one_child_can_be_cancelled() -> None:
    async def forever() -> None:
        await anyio.sleep_forever()

    async def node(ctx: fg.Context) -> str:
        async with ctx.background() as scope:
            started = scope.start(ctx.call(forever))
            await ctx.call(double, {"x": 1})
            started.cancel()
            try:
                await started
            except fg.NodeCancelled as error:
                return str(error)
        return ""

    with anyio.fail_after(10):
        run = await fg.arun(graph_of(node))
    assert run.output == "'node/forever' was cancelled by its parent"


async def test_cancelling_the_run_ends_the_background() -> None:
    ended = []

    async def forever() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(True)

    async def node(ctx: fg.Context) -> None:
        async with ctx.background() as scope:
            scope.start(ctx.call(forever))

    with anyio.fail_after(10):
        async with fg.start(graph_of(node)) as live:
            async for event in live:
                if event.path == "node/forever" and isinstance(event, NodeStarted):
                    await anyio.lowlevel.checkpoint()
                    live.cancel()
    assert ended
