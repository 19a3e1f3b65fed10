"""Slots, order, size: limits that hold and never lock up, and graphs of ten thousand nodes."""

from __future__ import annotations

import sys
from typing import Any

import anyio
import pytest

import flowgraph as fg
from tests.engine.cutting import look_at_services

pytestmark = pytest.mark.anyio


class Watch:
    """Counts how many leaves are at work."""

    def __init__(self) -> None:
        self.now = self.most = self.total = 0

    async def leaf(self) -> int:
        self.now += 1
        self.total += 1
        self.most = max(self.most, self.now)
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        self.now -= 1
        return 1


def family(kind: str, watch: Watch, children: int) -> Any:
    """A node with children: a calling node, a graph, a map, or all of these nested."""
    inner = fg.Graph("inner")
    for number in range(children):
        inner.add(f"leaf{number}", watch.leaf)
    inner.output(**{f"leaf{number}": f"leaf{number}" for number in range(children)})

    async def gathers(ctx: fg.Context) -> int:
        return len(await ctx.gather(*(ctx.call(watch.leaf) for _ in range(children))))

    async def one_by_one(ctx: fg.Context) -> int:
        return sum([await ctx.call(watch.leaf) for _ in range(children)])

    async def nested(ctx: fg.Context) -> int:
        await ctx.gather(ctx.call(gathers), ctx.call(inner), ctx.call(one_by_one))
        return 1

    return {"graph": inner, "gathers": gathers, "one_by_one": one_by_one, "nested": nested}[kind]


@pytest.mark.parametrize("kind", ["graph", "gathers", "one_by_one", "nested"])
@pytest.mark.parametrize(("limit", "parents", "children"), [(1, 1, 1), (1, 3, 2), (3, 5, 2), (2, 2, 10)])
async def test_c53_parents_lend_their_slot_and_leaves_keep_the_limit(
    kind: str, limit: int, parents: int, children: int
) -> None:
    watch = Watch()
    graph = fg.Graph("g")
    for number in range(parents):
        graph.add(f"parent{number}", family(kind, watch, children))
    graph.output(**{f"parent{number}": f"parent{number}" for number in range(parents)})
    with anyio.fail_after(30):
        run = await fg.arun(graph, max_concurrency=limit)
    assert run.status is fg.Status.SUCCEEDED
    assert watch.most <= limit
    assert watch.total == parents * children * (3 if kind == "nested" else 1)


async def test_c53_a_parent_works_under_a_slot_again_when_its_child_has_ended() -> None:
    watch = Watch()

    async def parent(ctx: fg.Context) -> int:
        await watch.leaf()
        await ctx.call(watch.leaf)
        await watch.leaf()
        return 1

    graph = fg.Graph("g")
    for number in range(6):
        graph.add(f"p{number}", parent)
        graph.add(f"l{number}", watch.leaf)
    await fg.arun(graph, max_concurrency=2)
    assert watch.most <= 2


@pytest.mark.parametrize(("limit", "groups"), [(1, {}), (2, {}), (3, {"few": 1}), (1, {"few": 1}), (1, {"few": 2})])
async def test_c53_tasks_of_one_node_that_come_back_and_call_again_do_not_lock_each_other_out(
    limit: int, groups: dict[str, int]
) -> None:
    """One task of the parent waits for the slot that its child has left; another calls a child that needs it."""
    ready = 0

    async def sleeper(seconds: float) -> None:
        await anyio.sleep(seconds)

    async def parent(ctx: fg.Context) -> str:
        async def calls(times: int, every: float) -> None:
            nonlocal ready
            for _ in range(times):
                await anyio.sleep(every)
                await ctx.call(sleeper, {"seconds": 0.002})
                ready += 1

        async with anyio.create_task_group() as tasks:
            for number in range(4):
                tasks.start_soon(calls, 5, 0.001 * number)
        return "done"

    graph, group = fg.Graph("g"), "few" if groups else None
    graph.add("parent", parent, policy=fg.Policy(priority=10, group=group))
    for number in range(10):
        graph.add(f"other{number}", sleeper, values={"seconds": 0.004}, policy=fg.Policy(group=group))
    with anyio.fail_after(30):
        async with fg.start(graph, max_concurrency=limit, groups=groups) as live:
            run = await live.result()
            look_at_services(live)
    assert run["parent"] == "done"
    assert ready == 20


@pytest.mark.parametrize("limit", [1, 2])
async def test_slots_come_back_after_failures_timeouts_retries_skips_and_fallbacks(limit: int) -> None:
    async def fails(ctx: fg.Context) -> str:
        return str(await ctx.call(bad))

    async def bad() -> None:
        raise OSError("no")

    async def slow(ctx: fg.Context) -> str:
        return str(await ctx.call(forever))

    async def forever() -> None:
        await anyio.sleep_forever()

    async def skips() -> None:
        raise fg.Skip("no")

    async def copes(ctx: fg.Context) -> str:
        outcome = await ctx.call(bad, outcome=True)
        with anyio.move_on_after(0.001):
            await ctx.call(forever)
        return str(outcome.status)

    graph = fg.Graph("g")
    for round_ in range(2):
        graph.add(f"fails{round_}", fails, retry=fg.Retry(attempts=2), fallback=copes)
        graph.add(f"slow{round_}", slow, timeout=0.01, fallback="spare")
        graph.add(f"skips{round_}", skips)
        graph.add(f"copes{round_}", copes)
    watch = Watch()
    for number in range(8):
        graph.add(f"leaf{number}", watch.leaf)
    with anyio.fail_after(30):
        run = await fg.arun(graph, max_concurrency=limit)
    assert run.status is fg.Status.SUCCEEDED
    assert watch.most <= limit


async def test_without_a_limit_everything_that_can_run_runs_at_once() -> None:
    count, arrived = 200, 0
    everybody = anyio.Event()

    async def node() -> None:
        nonlocal arrived
        arrived += 1
        if arrived == count:
            everybody.set()
        await everybody.wait()

    graph = fg.Graph("g")
    for number in range(count):
        graph.add(f"n{number}", node)
    with anyio.fail_after(30):
        assert (await fg.arun(graph)).status is fg.Status.SUCCEEDED


async def test_a_chain_of_nodes_that_never_wait_lets_others_run() -> None:
    graph = fg.Graph("g")
    order: list[str] = []

    async def step(value: int = 0) -> int:
        if value == 500:
            order.append("end of the chain")
        return value + 1

    graph.add("n0", step)
    for number in range(1, 600):
        graph.add(f"n{number}", step, bind={"value": f"n{number - 1}"})

    @graph.node
    async def other() -> None:
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        order.append("other")

    await fg.arun(graph)
    assert order == ["other", "end of the chain"]


# -- size

SIZE = 10_000


async def step(value: int = 0) -> int:
    return value + 1


def chain(size: int) -> fg.Graph:
    graph = fg.Graph("chain")
    graph.add("n0", step)
    for number in range(1, size):
        graph.add(f"n{number}", step, bind={"value": f"n{number - 1}"})
    return graph


def fan(size: int) -> fg.Graph:
    graph = fg.Graph("fan")
    graph.add("start", step)
    names = [f"n{number}" for number in range(size)]
    for name in names:
        graph.add(name, step, bind={"value": "start"})
    graph.add("end", lambda values: len(values), bind={"values": names})
    return graph


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_chain_of_ten_thousand_runs_skips_fails_and_prints() -> None:
    graph = chain(SIZE)
    run = await fg.arun(graph)
    assert run.output == SIZE
    assert len(str(run).splitlines()) == SIZE + 1
    assert run.explain(f"n{SIZE - 1}")
    for first in (lambda: 1 / 0, _skips):
        broken = fg.Graph("chain")
        broken.add("n0", first)
        for number in range(1, SIZE):
            broken.add(f"n{number}", step, bind={"value": f"n{number - 1}"}, needs=(f"n{number - 1}",))
        run = await fg.arun(broken, raise_on_failure=False)
        assert len(run.explain(f"n{SIZE - 1}").splitlines()) <= 20
        assert not run.outcomes[f"n{SIZE - 1}"].ok
        assert len(str(run).splitlines()) == SIZE + 1


def _skips() -> int:
    raise fg.Skip("all of it")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_one_to_ten_thousand_to_one() -> None:
    assert sys.getrecursionlimit() < SIZE
    run = await fg.arun(fan(SIZE))
    assert run["end"] == SIZE


async def test_graphs_in_maps_in_loops_of_calls() -> None:
    item = fg.Graph("item")
    item.input("value", int)
    item.add("one", step, bind={"value": "value"})
    item.add("two", step, bind={"value": "one"})
    row = fg.Graph("row")
    row.input("values", list[int])
    row.map("items", item, each={"value": "values"})

    async def rounds(ctx: fg.Context, values: list[int]) -> list[int]:
        for number in range(5):
            values = await ctx.call(row, {"values": values}, name="row", round=number)
        return values

    graph = fg.Graph("g")
    graph.input("values", list[int])
    graph.add("rounds", rounds)
    for limit in (None, 1, 3):
        run = await fg.arun(graph, {"values": [0, 10]}, max_concurrency=limit)
        assert run.output == [10, 20]
        assert run.nodes["rounds/row#4/items[1]/two"].value == 20


async def test_calls_nest_deeply() -> None:
    async def deeper(ctx: fg.Context, depth: int) -> int:
        return depth if depth == 0 else await ctx.call(deeper, {"depth": depth - 1}, name="d") + 1

    graph = fg.Graph("g")
    graph.add("deeper", deeper, values={"depth": 30})
    assert (await fg.arun(graph)).output == 30
    assert (await fg.arun(graph, max_concurrency=1)).output == 30
