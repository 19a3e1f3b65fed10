"""The grace period: nodes that go on after they were told to end are named, and waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph import events as ev

pytestmark = pytest.mark.anyio

GRACE = 0.02


class Stubborn:
    """A node that ends when it is allowed to, and not before."""

    def __init__(self) -> None:
        self.release = anyio.Event()
        self.begun = anyio.Event()

    async def __call__(self) -> str:
        self.begun.set()
        with anyio.CancelScope(shield=True):
            await self.release.wait()
        return "late"


async def parent(ctx: fg.Context, child: Any) -> Any:
    return await ctx.call(child, name="child")


async def polite() -> None:
    await anyio.sleep_forever()


def inner(stubborn: Stubborn) -> fg.Graph:
    graph = fg.Graph("inner")
    graph.add("deep", stubborn)
    return graph


@pytest.mark.parametrize(
    ("build", "late"),
    [
        (lambda graph, node: graph.add("node", node), "node"),
        (lambda graph, node: graph.add("node", node, timeout=0.01), "node"),
        (lambda graph, node: graph.add("node", inner(node), timeout=0.01), "node/deep"),
        (lambda graph, node: graph.add("node", parent, values={"child": node}), "node/child"),
    ],
    ids=["alone", "limited", "in a graph", "called"],
)
async def test_what_goes_on_is_named_and_waited_for(
    build: Callable[[fg.Graph, Any], object], late: str, caplog: pytest.LogCaptureFixture
) -> None:
    stubborn, graph = Stubborn(), fg.Graph("g")
    build(graph, stubborn)
    graph.add("polite", polite)
    with anyio.fail_after(30):
        async with fg.start(graph, grace=GRACE) as live:
            await stubborn.begun.wait()
            if graph.entries["node"].policy.limit is None:
                live.cancel()
            event = await told(live)
            assert not live.record.status.final, "it is waited for"
            live.cancel()
            stubborn.release.set()
            with pytest.raises(fg.RunCancelled):
                await live.result()
    assert event.path == late
    assert f"'{late}' goes on {GRACE:g} s after it was told to end" in caplog.text
    assert "polite" not in caplog.text
    assert f"there still went on: {late}" in str(live.record.root.reason)


async def told(live: fg.LiveRun) -> ev.Logged:
    async for event in live:
        if isinstance(event, ev.Logged):
            return event
    raise AssertionError("nothing was said")


@pytest.mark.parametrize("how", ["stop", "run_timeout", "scope"])
async def test_however_the_run_was_told(how: str, caplog: pytest.LogCaptureFixture) -> None:
    stubborn, graph = Stubborn(), fg.Graph("g")

    async def bad() -> None:
        await stubborn.begun.wait()
        if how == "scope":
            scope.cancel()
        if how == "stop":
            raise ValueError("bad")

    graph.add("stubborn", stubborn)
    graph.add("bad", bad)
    limits = fg.Limits(run_timeout=0.01) if how == "run_timeout" else None
    with anyio.fail_after(30), anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(release_when, stubborn, lambda: "goes on" in caplog.text)
            stop = "stop" if how == "stop" else "isolate"
            await fg.arun(graph, grace=GRACE, on_failure=stop, limits=limits, raise_on_failure=False)  # type: ignore[arg-type]
    assert "'stubborn' goes on" in caplog.text


async def release_when(stubborn: Stubborn, said: Callable[[], bool]) -> None:
    with anyio.CancelScope(shield=True):
        while not said():
            await anyio.sleep(0.001)
        stubborn.release.set()


async def test_who_ends_in_time_is_not_named(caplog: pytest.LogCaptureFixture) -> None:
    async def tidy() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.001)

    graph = fg.Graph("g")
    graph.add("tidy", tidy, timeout=0.001)
    graph.add("also", tidy)
    async with fg.start(graph, grace=60) as live:
        await anyio.sleep(0.01)
        live.cancel()
    assert caplog.text == ""
    assert str(live.record.root.reason) == "it was cancelled: from outside"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_node_that_catches_every_cancellation_is_named(caplog: pytest.LogCaptureFixture) -> None:
    async def deaf() -> None:
        while "goes on" not in caplog.text:
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                continue

    graph = fg.Graph("g")
    graph.add("deaf", deaf)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(fg.arun(graph, grace=timedelta(seconds=GRACE)), 0.01)
    assert "'deaf' goes on" in caplog.text


async def test_a_grace_that_makes_no_sense_is_refused() -> None:
    graph = fg.Graph("g")
    graph.add("polite", polite)
    with pytest.raises(ValueError, match="grace must be at least 0 seconds"):
        await fg.arun(graph, grace=-1)
