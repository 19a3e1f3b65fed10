"""Sync nodes on worker threads: side by side, abandoned, limited."""

from __future__ import annotations

import contextvars
import threading
import time
from typing import Any

import anyio
import pytest

import flowgraph as fg

pytestmark = pytest.mark.anyio


async def test_c52_sync_nodes_run_side_by_side_and_the_loop_goes_on() -> None:
    barrier = threading.Barrier(3, timeout=30)
    ticks = 0
    graph = fg.Graph("g")
    for name in "abc":

        def node(name: str) -> tuple[str, int]:
            barrier.wait()  # passes only when all three are at work
            before = ticks
            while ticks < before + 3:  # ends only when the loop goes on meanwhile
                time.sleep(0.001)
            return name, threading.get_ident()

        graph.add(name, node, values={"name": name})

    async def heartbeat() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await anyio.sleep(0.001)

    async with anyio.create_task_group() as group:
        group.start_soon(heartbeat)
        run = await fg.arun(graph)
        group.cancel_scope.cancel()
    assert [name for name, _ in run.output.values()] == ["a", "b", "c"]
    assert len({thread for _, thread in run.output.values()}) == 3


async def test_c52_inline_keeps_a_function_on_the_loops_thread() -> None:
    graph = fg.Graph("g")

    @graph.node(inline=True)
    def here() -> int:
        return threading.get_ident()

    @graph.node
    def elsewhere() -> int:
        return threading.get_ident()

    run = await fg.arun(graph)
    assert run["here"] == threading.get_ident() != run["elsewhere"]


async def test_c15_a_sync_node_past_its_limit_is_abandoned_and_starves_nobody() -> None:
    release, left = threading.Event(), threading.Event()

    def blocking() -> str:
        release.wait(60)
        left.set()
        return "late"

    graph = fg.Graph("g")
    graph.add("blocking", blocking, timeout=0.05)
    graph.add("next", lambda: "next", after="blocking", join=fg.Join.DONE)
    with anyio.fail_after(30):  # far less than the node would take
        run = await fg.arun(graph, threads=1, raise_on_failure=False)
    assert run.outcomes["blocking"].status is fg.Status.TIMED_OUT
    assert run["next"] == "next"
    events = len(run.events)
    release.set()
    while not left.is_set():
        await anyio.sleep(0.001)
    await anyio.sleep(0.01)
    assert run.outcomes["blocking"].status is fg.Status.TIMED_OUT
    assert len(run.events) == events


def sixty() -> fg.Graph:
    gate = threading.Event()
    graph = fg.Graph("g")
    for number in range(60):

        def node(number: int) -> int:
            if number == 49:
                gate.set()
            elif not gate.wait(60):
                raise TimeoutError("nobody opened")
            return number

        graph.add(f"n{number}", node, values={"number": number}, timeout=20 if number else None)
    return graph


async def test_c54_sixty_nodes_that_wait_for_the_fiftieth_finish() -> None:
    with anyio.fail_after(50):
        run = await fg.arun(sixty())
    assert len(run.output) == 60


def waits_for_another(limit: float) -> fg.Graph:
    entered, gate = threading.Event(), threading.Event()
    graph = fg.Graph("g")

    @graph.node(timeout=limit)
    def waits() -> str:
        entered.set()
        gate.wait(60)
        return "opened"

    async def waiting() -> bool:
        while not entered.is_set():
            await anyio.sleep(0.001)
        return True

    @graph.node(when=waiting)
    def opens() -> str:
        gate.set()
        return "open"

    return graph


async def test_c54_with_too_few_threads_a_time_limit_ends_what_would_hang() -> None:
    with anyio.fail_after(40):
        run = await fg.arun(waits_for_another(0.2), threads=1, raise_on_failure=False)
    assert run.outcomes["waits"].status is fg.Status.TIMED_OUT
    assert run["opens"] == "open"
    with anyio.fail_after(40):
        run = await fg.arun(waits_for_another(30), threads=2)
    assert run.output == {"waits": "opened", "opens": "open"}


async def test_the_number_of_threads_is_never_passed() -> None:
    lock, now, most = threading.Lock(), 0, 0

    def node(number: int) -> int:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.005)
        with lock:
            now -= 1
        return number

    graph = fg.Graph("g")
    graph.input("numbers", list[int])
    graph.map("each", node, each={"number": "numbers"})
    run = await fg.arun(graph, {"numbers": list(range(12))}, threads=3)
    assert run.output == list(range(12))
    assert most <= 3


async def test_threads_see_the_callers_contextvars() -> None:
    var = contextvars.ContextVar("var", default="unset")
    graph = fg.Graph("g")
    graph.add("node", lambda: var.get())
    var.set("mine")
    assert (await fg.arun(graph)).output == "mine"


async def test_an_error_in_a_thread_is_the_nodes_error_with_its_traceback() -> None:
    def node() -> Any:
        raise LookupError("in the thread")

    graph = fg.Graph("g")
    graph.add("node", node)
    run = await fg.arun(graph, raise_on_failure=False)
    error = run.errors["node"]
    assert isinstance(error, LookupError)
    frames = []
    traceback = error.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame.f_code.co_name)
        traceback = traceback.tb_next
    assert "node" in frames


async def test_stop_iteration_from_a_node_is_an_error_like_any_other() -> None:
    def sync_node() -> Any:
        return next(iter(()))

    async def async_node() -> Any:
        return next(iter(()))

    graph = fg.Graph("g")
    graph.add("sync_node", sync_node)
    graph.add("async_node", async_node)
    run = await fg.arun(graph, raise_on_failure=False)
    assert {outcome.status for outcome in run.outcomes.values()} == {fg.Status.FAILED}
