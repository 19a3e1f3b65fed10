"""Cancellation: from outside, by the node itself, swallowed, and what is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

import anyio
import pytest

import flowgraph as fg

pytestmark = pytest.mark.anyio


async def give(value: Any) -> Any:
    return value


async def test_c14_cancelling_the_call_ends_what_a_node_started_before_it_returns() -> None:
    ticks, cleaned = 0, []
    graph = fg.Graph("g")

    async def tool() -> None:
        nonlocal ticks
        try:
            while True:
                ticks += 1
                await anyio.sleep(0.001)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.01)
            cleaned.append(ticks)

    @graph.node
    async def node(ctx: fg.Context) -> None:
        await ctx.gather(ctx.call(tool), ctx.call(tool))

    with anyio.move_on_after(0.05) as scope:
        await fg.arun(graph)
    assert scope.cancelled_caught
    assert len(cleaned) == 2
    seen = ticks
    await anyio.sleep(0.01)
    assert ticks == seen > 2


@pytest.mark.parametrize("kind", ["node", "child", "graph", "map"])
async def test_c16_a_node_that_swallows_the_cancellation_does_not_revive_the_run(kind: str) -> None:
    later = []
    stubborn_ends: list[str] = []

    async def stubborn() -> str:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            stubborn_ends.append("swallowed")
        return "a normal result"

    async def each(item: int) -> str:
        return await stubborn()

    async def after() -> None:
        later.append("after")  # ends without ever waiting for anything

    async def parent(ctx: fg.Context) -> str:
        value = await ctx.call(stubborn)
        await ctx.call(after)
        return value

    inner = fg.Graph("inner")
    inner.add("stubborn", stubborn)
    inner.add("after", after, after="stubborn")
    inner.output("stubborn")
    graph = fg.Graph("g")
    if kind == "map":
        graph.input("items", list[int], default=[1, 2])
        graph.map("node", each, each={"item": "items"})
    else:
        graph.add("node", {"node": stubborn, "child": parent, "graph": inner}[kind])
    graph.add("next", after, after="node")
    async with fg.start(graph) as live:
        await anyio.wait_all_tasks_blocked()
        live.cancel()
        with pytest.raises(fg.RunCancelled):
            await live.result()
    assert live.record.status is fg.Status.CANCELLED
    assert stubborn_ends
    assert later == []
    assert live.record.outcomes["next"].status is fg.Status.CANCELLED
    if kind == "node":
        assert live.record["node"] == "a normal result"  # kept, as what it is


async def test_everything_has_a_final_status_after_a_cancelled_run() -> None:
    graph = fg.Graph("g")
    graph.add("done", give, values={"value": 1})
    graph.add("forever", _forever, after="done")
    graph.add("after", give, values={"value": 1}, after="forever")
    graph.add("waits", give, values={"value": 1}, when=_forever)
    graph.add("retries", _fails, retry=fg.Retry(attempts=2, delay=1000, max_delay=1000))
    async with fg.start(graph) as live:
        while "NodeRetrying" not in {type(event).__name__ for event in live.record.events}:
            await anyio.sleep(0.001)
        await anyio.sleep(0.01)
    found = {name: outcome.status.value for name, outcome in live.record.outcomes.items()}
    assert found.pop("done") == "succeeded"
    assert set(found.values()) == {"cancelled"}
    finished = [event.path for event in live.record.events if type(event).__name__ == "NodeFinished"]
    assert sorted(finished) == sorted(graph.entries)
    assert [event.seq for event in live.record.events] == list(range(len(live.record.events)))


async def _forever() -> None:
    await anyio.sleep_forever()


async def _fails() -> None:
    raise OSError("no")


async def test_a_cancelled_sync_node_is_abandoned_and_its_late_value_is_never_recorded() -> None:
    entered, release, left = threading.Event(), threading.Event(), threading.Event()

    def blocking() -> str:
        entered.set()
        release.wait(30)
        left.set()
        return "late"

    graph = fg.Graph("g")
    graph.add("blocking", blocking)
    async with fg.start(graph) as live:
        while not entered.is_set():
            await anyio.sleep(0.001)
    count = len(live.record.events)
    release.set()
    while not left.is_set():
        await anyio.sleep(0.001)
    await anyio.sleep(0.01)
    assert live.record.outcomes["blocking"].status is fg.Status.CANCELLED
    assert len(live.record.events) == count


# -- by the node itself


def self_cancelling(how: str) -> Any:
    async def raises() -> None:
        raise asyncio.CancelledError

    async def awaits_a_cancelled_task() -> None:
        task = asyncio.get_running_loop().create_task(asyncio.sleep(10))
        task.cancel()
        await task

    async def cancels_its_own_task() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(10)

    def in_a_thread() -> None:
        raise asyncio.CancelledError

    return locals()[how]


def test_every_way_of_cancelling_itself_gives_a_cancelled_node_and_no_success() -> None:
    for how in ("raises", "awaits_a_cancelled_task", "cancels_its_own_task", "in_a_thread"):
        for place in ("node", "child", "when", "map", "last"):
            _one_self_cancel(self_cancelling(how), place)


def _one_self_cancel(node: Any, place: str) -> None:
    calls = []
    graph = fg.Graph("g")

    async def parent(ctx: fg.Context) -> str:
        outcome = await ctx.call(node, outcome=True)
        return str(outcome.status)

    async def beside() -> str:
        await anyio.sleep(0.005)
        calls.append("beside")
        return "beside"

    if place == "when":
        graph.add("node", give, values={"value": 1}, when=node)
    elif place == "map":
        graph.input("items", list[int], default=[1])
        graph.map("node", _ignoring(node), each={"item": "items"})
    else:
        graph.add("node", parent if place == "child" else node, retry=fg.Retry(attempts=3))
    graph.add("reader", lambda node: node)
    if place != "last":
        graph.add("beside", beside)
        graph.add("below", lambda beside: beside)
    run = fg.run(graph, raise_on_failure=False)
    if place == "child":
        assert run["reader"] == "cancelled"
        return
    assert run.status is fg.Status.FAILED
    expected = fg.Status.FAILED if place in ("when", "map") else fg.Status.CANCELLED
    assert run.outcomes["node"].status is expected, (node, place)
    assert run.outcomes["reader"].status is fg.Status.UPSTREAM_FAILED
    assert run.outcomes["node"].attempts <= 1
    if place != "last":
        assert run["below"] == "beside"
        assert calls == ["beside"]


def _ignoring(node: Any) -> Any:
    if asyncio.iscoroutinefunction(node):

        async def each(item: int) -> None:
            await node()

        return each
    return lambda item: node()


async def test_a_scope_of_the_nodes_own_is_the_nodes_own_matter() -> None:
    async def node(ctx: fg.Context) -> str:
        with anyio.move_on_after(0.01):
            await ctx.call(_forever)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await anyio.lowlevel.checkpoint()
        return await ctx.call(give, {"value": "went on"})

    graph = fg.Graph("g")
    graph.add("node", node, timeout=30)
    graph.add("next", lambda node: node)
    run = await fg.arun(graph, max_concurrency=1)
    assert run["next"] == "went on"
    assert run.nodes["node/_forever"].status is fg.Status.CANCELLED


async def test_exception_groups_of_a_node_are_its_error() -> None:
    async def bad() -> None:
        raise ValueError("inside")

    async def node() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(bad)
            group.start_soon(_forever)

    graph = fg.Graph("g")
    graph.add("node", node)
    graph.add("beside", give, values={"value": 1})
    run = await fg.arun(graph, raise_on_failure=False)
    assert isinstance(run.errors["node"], ExceptionGroup)
    assert run["beside"] == 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_wait_for_of_asyncio_cancels_a_run_like_any_other_call() -> None:
    ended = []

    async def node() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            ended.append("node")

    graph = fg.Graph("g")
    graph.add("node", node)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(fg.arun(graph), 0.01)
    task = asyncio.get_running_loop().create_task(fg.arun(graph))
    await asyncio.sleep(0.01)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()
    assert ended == ["node", "node"]
