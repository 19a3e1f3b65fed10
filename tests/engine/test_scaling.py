"""How the engine grows, as ratios of one sitting: no absolute seconds, the fastest of several tries.

The limits are generous, for they guard against work that grows with the square of a graph, and against an engine that
costs several times what it should. What it does cost is measured by `python -m tests.benchmarks`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator

import anyio
import pytest

import flowgraph as fg
from tests.benchmarks.flowgraph_adapter import build, graph_of
from tests.benchmarks.workloads import Dag, bare, chain, depth, fan, grid, work

SHAPES = {"chain": chain, "fan": fan}
TRIES = 5


@pytest.fixture
def no_garbage() -> Iterator[None]:
    """The collector looks at all that thousands of other tests have left, whenever it likes: not while we measure."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def seconds(call: Callable[[], object]) -> float:
    """Of the processor's time, which other processes do not use up."""
    begun = time.process_time()
    call()
    return time.process_time() - begun


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize("shape", SHAPES)
def test_ten_times_the_nodes_take_about_ten_times_the_time(shape: str) -> None:
    """To build, to check (the first time that a graph is looked at) and to run."""
    few, many = SHAPES[shape](1_000), SHAPES[shape](10_000)
    small = large = dict.fromkeys(("build", "check", "run"), float("inf"))
    for _ in range(TRIES):
        small, large = fastest(small, stages(few)), fastest(large, stages(many))
        ratios = {stage: large[stage] / small[stage] for stage in small}
        if max(ratios.values()) <= 14:
            return
    pytest.fail(f"ten times the nodes take {ratios} times as long")


def stages(dag: Dag) -> dict[str, float]:
    """How long a new graph takes to be built, checked and run."""
    graphs: list[fg.Graph] = []
    return {
        "build": seconds(lambda: graphs.append(graph_of(dag, work))),
        "check": seconds(lambda: fg.check(graphs[0])),
        "run": seconds(lambda: anyio.run(fg.arun, graphs[0])),
    }


def fastest(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    return {stage: min(one[stage], other[stage]) for stage in one}


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize("dag", [chain(1000), fan(1000), grid(20, 50, 3)], ids=["chain", "fan", "grid"])
def test_a_node_costs_little_beside_a_task(dag: Dag) -> None:
    ours, floor = build(dag, work), bare(dag)
    assert ours() == floor() == depth(dag)
    pairs = [(seconds(ours), seconds(floor)) for _ in range(TRIES)]
    assert min(took for took, _ in pairs) <= 4 * min(least for _, least in pairs)


@pytest.mark.anyio
async def test_branches_that_never_wait_share_tasks_and_those_that_wait_do_so_at_once() -> None:
    """Were they handed out one by one, a thousand branches that wait would not all be waiting together."""
    waiting, most = 0, 0

    async def branch() -> None:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        await gate.wait()
        waiting -= 1

    async def opener() -> None:
        while waiting < 1000:
            await anyio.lowlevel.checkpoint()
        gate.set()

    gate = anyio.Event()
    graph = fg.Graph("waiting")
    graph.add("opener", opener)
    for index in range(1000):
        graph.add(f"branch{index}", branch)
    with anyio.fail_after(60):
        await fg.arun(graph)
    assert most == 1000


@pytest.mark.anyio
async def test_branches_begin_in_the_order_in_which_they_were_added() -> None:
    begun: list[int] = []

    async def branch(number: int, waits: bool) -> None:
        begun.append(number)
        if waits:
            await anyio.lowlevel.checkpoint()

    graph = fg.Graph("order")
    for number in range(200):
        graph.add(f"branch{number}", branch, values={"number": number, "waits": number % 3 == 0})
    await fg.arun(graph)
    assert begun == list(range(200))


@pytest.mark.anyio
async def test_a_long_chain_beside_a_crowd_starves_neither() -> None:
    order: list[str] = []

    async def link(name: str, value: int = 0) -> int:
        order.append(name)
        return value + 1

    graph = fg.Graph("beside")
    before = graph.add("c0", link, values={"name": "c0"})
    for index in range(1, 300):
        before = graph.add(f"c{index}", link, values={"name": f"c{index}"}, bind={"value": before})
    for index in range(1000):
        graph.add(f"b{index}", link, values={"name": f"b{index}"})
    await fg.arun(graph)
    assert order.index("b0") < order.index("c40")
    assert order.index("c16") < order.index("b999")
    assert sorted(order) == sorted(graph.entries)
