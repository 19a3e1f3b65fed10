"""Running: inputs, options, how a run ends, and watching one."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
from contextlib import nullcontext
from typing import Any

import anyio
import pytest
import trio
from pydantic import BaseModel

import flowgraph as fg

pytestmark = pytest.mark.anyio


class Query(BaseModel):
    text: str


async def give(value: Any) -> Any:
    return value


def echo(**types: Any) -> fg.Graph:
    graph = fg.Graph("g")
    for name, type_ in types.items():
        graph.input(name, type_)
        graph.add(f"{name}_out", give, bind={"value": name})
    return graph


# -- inputs


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (int, 3, 3),
        (int, "3", 3),
        (float, 3, 3.0),
        (str, "", ""),
        (bool, False, False),
        (list[int], ["1", 2], [1, 2]),
        (Query, {"text": "x"}, Query(text="x")),
        (Any, None, None),
        (int | None, None, None),
    ],
)
async def test_inputs_are_validated_and_converted(type_: Any, value: Any, expected: Any) -> None:
    assert (await fg.arun(echo(x=type_), {"x": value})).output == expected


async def test_all_that_is_wrong_with_the_inputs_is_told_at_once_and_nothing_starts() -> None:
    calls = []
    graph = echo(a=int, b=Query)
    graph.input("c", str)
    graph.add("count", lambda: calls.append(1))
    with pytest.raises(fg.InputError) as caught:
        await fg.arun(graph, {"a": "three", "b": {"txt": 1}, "d": 1})
    for part in ("input 'a'", "input 'b'", "'c' (str) is missing", "no input 'd'"):
        assert part in str(caught.value)
    assert calls == []


@pytest.mark.parametrize("thing", [None, "g", lambda: 1, 3])
async def test_only_graphs_run(thing: Any) -> None:
    with pytest.raises(TypeError, match="Graph"):
        await fg.arun(thing)


# -- options


async def test_deps_run_id_and_clock_reach_the_nodes() -> None:
    graph = fg.Graph("g")

    @graph.node
    async def node(ctx: fg.Context[dict[str, int]]) -> tuple[Any, ...]:
        return ctx.deps["x"], ctx.run_id, ctx.idempotency_key, ctx.now > 1e9

    assert (await fg.arun(graph, deps={"x": 1}, run_id="my-run")).output == (1, "my-run", "my-run:node", True)
    first, second = await fg.arun(graph, deps={"x": 1}), await fg.arun(graph, deps={"x": 1})
    assert first.id != second.id


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "2"])
async def test_c48_a_limit_that_makes_no_sense_is_refused_and_never_read_as_unset(bad: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        await fg.arun(echo(x=int), {"x": 1}, max_concurrency=bad)
    with pytest.raises((ValueError, TypeError)):
        await fg.arun(echo(x=int), {"x": 1}, threads=bad)


async def test_an_option_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError):
        await fg.arun(echo(x=int), {"x": 1}, max_concurency=3)  # type: ignore[call-arg]


# -- how it ends


async def test_a_failed_run_raises_with_everything_that_was_produced() -> None:
    graph = fg.Graph("g")
    graph.add("good", give, values={"value": 1})
    graph.add("bad", lambda good: 1 / 0)
    graph.add("worse", lambda good: {}["x"])
    with pytest.raises(fg.RunFailed) as caught:
        await fg.arun(graph)
    error = caught.value
    assert list(error.errors) == ["bad", "worse"]
    assert error.__cause__ is error.errors["bad"]
    assert error.run["good"] == 1
    assert "bad: ZeroDivisionError" in str(error)
    assert "worse: KeyError" in str(error)
    run = await fg.arun(graph, raise_on_failure=False)
    assert run.status is fg.Status.FAILED
    assert [type(error) for error in run.errors.values()] == [ZeroDivisionError, KeyError]


async def test_two_runs_of_one_graph_at_once_do_not_meet() -> None:
    graph = fg.Graph("g")
    graph.input("x", int)

    @graph.node
    async def a(x: int) -> int:
        await anyio.lowlevel.checkpoint()
        return x + 1

    @graph.node
    async def b(a: int, x: int) -> tuple[int, int]:
        return a, x

    found = []

    async def one(x: int) -> None:
        found.append((await fg.arun(graph, {"x": x}))["b"])

    async with anyio.create_task_group() as group:
        for x in range(10):
            group.start_soon(one, x)
    assert sorted(found) == [(x + 1, x) for x in range(10)]


async def test_contextvars_of_the_caller_are_seen_and_changes_do_not_leak() -> None:
    var = contextvars.ContextVar("var", default="unset")
    graph = fg.Graph("g")

    @graph.node
    async def a() -> str:
        before = var.get()
        var.set("changed by a")
        return before

    @graph.node
    async def b(a: str) -> str:
        return var.get()

    @graph.node
    def in_thread(a: str) -> str:
        before = var.get()
        var.set("changed by in_thread")
        return before

    @graph.node
    async def parent(ctx: fg.Context, in_thread: str) -> list[str]:
        async def child() -> str:
            before = var.get()
            var.set("changed by child")
            return before

        first = await ctx.call(child)
        second = await ctx.call(child)
        return [first, second, var.get()]

    var.set("the caller's")
    run = await fg.arun(graph)
    assert [run["a"], run["b"], run["in_thread"]] == ["the caller's"] * 3
    assert run["parent"] == ["the caller's"] * 3
    assert var.get() == "the caller's"


# -- fg.run


def test_run_is_for_code_that_is_not_async() -> None:
    assert fg.run(echo(x=int), {"x": 3}).output == 3


async def test_run_inside_a_running_loop_says_what_to_do() -> None:
    with pytest.raises(fg.FlowgraphError, match=r"await fg\.arun"):
        fg.run(echo(x=int), {"x": 3})


async def test_a_run_inside_a_node_is_a_run_of_its_own() -> None:
    inner = echo(x=int)

    async def awaits() -> int:
        return int((await fg.arun(inner, {"x": 1})).output)

    def blocks() -> int:
        return int(fg.run(inner, {"x": 2}).output)

    graph = fg.Graph("g")
    graph.add("awaits", awaits)
    graph.add("blocks", blocks)
    assert (await fg.arun(graph)).output == {"awaits": 1, "blocks": 2}


def test_runs_in_threads_of_ones_own_do_not_meet() -> None:
    found: dict[int, int] = {}

    def one(x: int) -> None:
        found[x] = fg.run(echo(x=int), {"x": x}).output

    threads = [threading.Thread(target=one, args=(x,)) for x in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {x: x for x in range(8)}


# -- watching


async def test_a_live_run_gives_its_result_and_its_record_so_far() -> None:
    gate = anyio.Event()
    graph = fg.Graph("g")
    graph.add("a", give, values={"value": 1})

    @graph.node
    async def b(a: int) -> int:
        await gate.wait()
        return a + 1

    async with fg.start(graph) as live:
        await anyio.wait_all_tasks_blocked()
        assert live.record["a"] == 1
        assert live.record.status is fg.Status.RUNNING
        assert live.record.outcomes["b"].status is fg.Status.RUNNING
        gate.set()
        run = await live.result()
    assert run["b"] == 2
    assert run is live.record


async def test_a_live_run_that_failed_raises_when_its_result_is_asked_for() -> None:
    graph = fg.Graph("g")
    graph.add("bad", lambda: 1 / 0)
    async with fg.start(graph) as live:
        with pytest.raises(fg.RunFailed):
            await live.result()
        run = await live.result(raise_on_failure=False)
    assert run.status is fg.Status.FAILED


async def test_what_is_wrong_is_raised_on_entering() -> None:
    with pytest.raises(fg.InputError):
        async with fg.start(echo(x=int), {}):
            raise AssertionError("not reached")
    live = fg.start(echo(x=int), {"x": 1})
    with pytest.raises(fg.FlowgraphError, match="has not started"):
        await live.result()


def test_a_live_run_may_be_made_before_there_is_a_loop() -> None:
    live = fg.start(echo(x=int), {"x": 1})

    async def main() -> Any:
        async with live:
            return (await live.result()).output

    assert anyio.run(main) == 1


@pytest.mark.parametrize("how", ["left", "raised", "cancelled"])
async def test_c26_leaving_the_block_ends_everything_in_it(how: str) -> None:
    ticks, ended = 0, []
    graph = fg.Graph("g")

    @graph.node
    async def ticking() -> None:
        nonlocal ticks
        try:
            while True:
                ticks += 1
                await anyio.lowlevel.checkpoint()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.01)
            ended.append("ticking")

    @graph.node
    async def after(ticking: None) -> None:
        ended.append("after")

    live = fg.start(graph)
    with anyio.CancelScope() as scope, pytest.raises(KeyError, match="mine") if how == "raised" else nullcontext():
        async with live:
            async for event in live:
                if event.path == "ticking":
                    break
            if how == "raised":
                raise KeyError("mine")
            if how == "cancelled":
                scope.cancel()
                await anyio.lowlevel.checkpoint()
    seen = ticks
    await anyio.wait_all_tasks_blocked()
    assert ticks == seen > 0
    assert ended == ["ticking"]
    assert live.record.status is fg.Status.CANCELLED
    assert {outcome.status for outcome in live.record.outcomes.values()} == {fg.Status.CANCELLED}


async def test_cancelling_a_live_run_makes_its_result_raise_with_the_run() -> None:
    graph = fg.Graph("g")
    graph.add("a", give, values={"value": 1})

    @graph.node
    async def forever(a: int) -> None:
        await anyio.sleep_forever()

    async with fg.start(graph) as live:
        await anyio.wait_all_tasks_blocked()
        live.cancel()
        with pytest.raises(fg.RunCancelled) as caught:
            await live.result()
        assert caught.value.run["a"] == 1
        live.cancel()
    events = [event async for event in live]
    assert type(events[-1]).__name__ == "RunFinished"


async def test_cancelling_at_once_runs_nothing_and_readers_come_to_their_end() -> None:
    calls = []
    graph = fg.Graph("g")

    @graph.node
    async def node() -> None:
        calls.append(1)

    async with fg.start(graph) as live:
        live.cancel()
        with pytest.raises(fg.RunCancelled):
            await live.result()
        assert [event async for event in live]
    assert calls == []


# -- interrupts, in interpreters of their own loops


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("kind", ["async", "sync", "child", "graph", "when"])
def test_an_interrupt_cancels_the_run_and_propagates(backend: str, interrupt: type[BaseException], kind: str) -> None:
    ended = []
    at_work = anyio.Event()

    async def leaf() -> None:
        await anyio.lowlevel.checkpoint()
        raise interrupt

    def sync_leaf() -> None:
        raise interrupt

    async def child(ctx: fg.Context) -> None:
        await ctx.call(leaf)

    inner = fg.Graph("inner")
    inner.add("leaf", leaf)
    graph = fg.Graph("g")

    @graph.node
    async def beside() -> None:
        try:
            at_work.set()
            await anyio.sleep_forever()
        finally:
            ended.append("beside")

    graph.add("ready", at_work.wait)
    options: dict[str, Any] = {"when": lambda ready: sync_leaf()} if kind == "when" else {"after": "ready"}
    graph.add("bad", {"sync": sync_leaf, "child": child, "graph": inner}.get(kind, leaf), **options)

    async def main() -> None:
        await fg.arun(graph)

    with pytest.raises(interrupt):
        anyio.run(main, backend=backend)
    assert ended == ["beside"]


def test_fg_run_from_a_script_leaves_no_thread_that_holds_the_process() -> None:
    source = """
import time
import flowgraph as fg
graph = fg.Graph("g")
graph.add("slow", lambda: time.sleep(600), timeout=0.05)
run = fg.run(graph, raise_on_failure=False)
print(run.outcomes["slow"].status.value)
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout.strip(), done.returncode, done.stderr) == ("timed_out", 0, "")


def test_the_loop_is_left_clean() -> None:
    left: list[Any] = []

    async def main() -> None:
        await fg.arun(echo(x=int), {"x": 1})
        async with fg.start(echo(x=int), {"x": 1}):
            pass
        left.extend(task for task in asyncio.all_tasks() if task is not asyncio.current_task())

    asyncio.run(main())
    assert left == []
    trio.run(fg.arun, echo(x=int), {"x": 1})
