"""What users test their graphs with: the clock that jumps, and the drawn orders."""

from __future__ import annotations

import gc
import time
from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph import threads
from flowgraph.testing import jumping_clock, orders, run_in_order, run_jumping

DAY = 86_400.0


async def nap() -> float:
    await anyio.sleep(DAY)
    return DAY


def finished(run: fg.Run) -> list[str]:
    return [event.path for event in run.events if type(event).__name__ == "NodeFinished"]


# -- the clock


def test_days_pass_in_no_time() -> None:
    graph, tries = fg.Graph("g"), []

    @graph.node(retry=fg.Retry(attempts=3, delay=DAY, max_delay=DAY))
    async def stubborn() -> int:
        tries.append(1)
        if len(tries) < 3:
            raise OSError("not yet")
        return len(tries)

    graph.add("nap", nap, after="stubborn")
    before = time.monotonic()
    run = run_jumping(graph)
    assert run["stubborn"] == 3
    assert run.duration == pytest.approx(3 * DAY)
    assert time.monotonic() - before < 5


def test_the_clock_stands_still_while_a_thread_is_busy() -> None:
    graph = fg.Graph("g")

    @graph.node(timeout=1)
    def work() -> str:
        time.sleep(0.02)  # real work, which takes far longer than a jump
        return "done"

    graph.add("nap", nap)
    run = run_jumping(graph)
    assert run["work"] == "done"
    assert run.nodes["work"].duration == 0
    assert run.duration == pytest.approx(DAY)


def test_it_goes_on_while_the_thread_waits_for_a_child() -> None:
    graph = fg.Graph("g")

    @graph.node
    def parent(ctx: fg.SyncContext) -> float:
        first: float = ctx.call(nap)
        time.sleep(0.01)
        second: float = ctx.call(nap)
        return first + second

    assert run_jumping(graph).duration == pytest.approx(2 * DAY)


def test_it_does_not_wait_for_a_thread_that_was_abandoned() -> None:
    release = threads.threading.Event()
    graph = fg.Graph("g")

    async def limited(ctx: fg.Context) -> str:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(ctx.in_thread, release.wait)
                while not threads.watchers or len(busy) < 1:
                    await anyio.lowlevel.checkpoint()
                scope.cancel()
        await anyio.sleep(DAY)
        return "went on"

    busy: list[int] = []
    graph.add("limited", limited)
    threads.watchers.append(busy.append)
    try:
        assert run_jumping(graph).output == "went on"
    finally:
        threads.watchers.remove(busy.append)
        release.set()
    assert busy == [1, -1]


def test_errors_are_those_of_a_run_and_nothing_is_left() -> None:
    graph, before = fg.Graph("g"), threads.watchers.copy()  # those of other tests' clocks

    @graph.node
    async def bad() -> None:
        raise ValueError("bad")

    for run in (run_jumping, run_in_order):
        order = {"order": 1} if run is run_in_order else {}
        with pytest.raises(fg.RunFailed) as caught:
            run(graph, **order)
        assert isinstance(caught.value.__cause__, ValueError)
        with pytest.raises(fg.InputError):
            run(graph, {"unknown": 1}, **order)
        assert run(graph, raise_on_failure=False, **order).status is fg.Status.FAILED
    del caught
    gc.collect()
    assert [watcher for watcher in threads.watchers if watcher not in before] == []


class TestAsABackend:
    @pytest.fixture
    def anyio_backend(self) -> Any:
        return jumping_clock()

    @pytest.mark.anyio
    async def test_of_pytest(self) -> None:
        graph = fg.Graph("g")
        graph.add("nap", nap)
        graph.add("work", lambda: time.sleep(0.01), timeout=1)
        assert (await fg.arun(graph)).duration == pytest.approx(DAY)
        with pytest.raises(fg.FlowgraphError, match="outside of async code"):
            run_jumping(graph)


# -- orders


def four() -> tuple[fg.Graph, list[str]]:
    """Four nodes side by side, one of them sync and one in a graph of its own, and one that reads them all."""
    log: list[str] = []
    graph, inner = fg.Graph("g"), fg.Graph("inner")

    async def note(name: str) -> str:
        log.append(name)
        await anyio.lowlevel.checkpoint()
        return name

    def sync(name: str) -> str:
        log.append(name)
        return name

    inner.add("c", note, values={"name": "c"})
    for name in "ab":
        graph.add(name, note, values={"name": name})
    graph.add("inner", inner)
    graph.add("d", sync, values={"name": "d"})

    @graph.node
    async def all_of_them(a: str, b: str, inner: str, d: str) -> str:
        return a + b + inner + d

    return graph, log


def test_every_run_has_another_order_and_the_same_outcome() -> None:
    graph, log = four()
    found, started = [], []
    for run in orders(graph, count=20):
        assert run.output == "abcd"
        found.append(tuple(finished(run)))
        started.append(tuple(log))
        log.clear()
    assert len(set(found)) > 10
    assert len(set(started)) > 10


def test_the_same_seed_gives_the_same_order() -> None:
    graph, log = four()
    first = [finished(run) for run in orders(graph, count=5, seed=3)]
    begun = log[:4]
    assert [finished(run) for run in orders(graph, count=5, seed=3)] == first
    assert [finished(run) for run in orders(graph, count=5, seed=4)] != first
    assert log[20:24] == begun
    *_, last = orders(graph, count=5, seed=3)
    assert finished(run_in_order(graph, order=int(last.id.removeprefix("order-")))) == first[-1]


def test_an_order_by_name() -> None:
    graph, _ = four()
    assert finished(run_in_order(graph, order=["d", "inner/c", "b"])) == [
        "d",
        "inner/c",
        "inner",
        "b",
        "a",
        "all_of_them",
    ]


def test_it_finds_what_depends_on_the_order() -> None:
    graph, seen = fg.Graph("race"), dict[str, str]()

    def writer(name: str) -> Any:
        async def write() -> None:
            seen["last"] = name

        return write

    graph.add("a", writer("a"))
    graph.add("b", writer("b"))
    graph.add("last", lambda: seen["last"], after=["a", "b"])
    assert {run["last"] for run in orders(graph)} == {"a", "b"}


def test_drawing_an_order_changes_no_meaning() -> None:
    """Slots, time limits, retries, loops, choices, replacements: as in any other run."""
    graph, tries = fg.Graph("g"), []

    async def rounds(ctx: fg.Context) -> int:
        total = 0
        for number in range(3):
            total += await ctx.call(give, {"value": number}, round=number)
        return total

    async def give(value: int) -> int:
        return value

    @graph.node(retry=fg.Retry(attempts=2, delay=DAY), timeout=1)
    async def second_time() -> str:
        tries.append(1)
        if len(tries) % 2:
            raise OSError("once more")
        return "left"

    graph.add("left", rounds)
    graph.add("right", give, values={"value": 1})
    graph.choose("second_time", {"left": "left", "right": "right"})
    graph.add("swapped", give, values={"value": 1})
    graph.map("items", give, each={"value": "numbers"})
    graph.input("numbers", list[int])
    for run in orders(graph, {"numbers": [1, 2]}, count=5, max_concurrency=1, replace={"swapped": 7}):
        assert run["left"] == 3
        assert run["swapped"] == 7
        assert run["items"] == [1, 2]
        assert run.outcomes["right"].status is fg.Status.SKIPPED
        assert run.outcomes["second_time"].attempts == 2
        assert run.nodes["items"].kind == "map"
