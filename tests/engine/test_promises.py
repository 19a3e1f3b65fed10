"""The promises of the first page, one test each: A to D."""

from __future__ import annotations

import anyio
import pytest

import flowgraph as fg

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("branch", ["left", "right"])
async def test_a_either_or_then_rejoin_the_join_runs_once_with_what_arrived(branch: str) -> None:
    joins = []
    graph = fg.Graph("a")
    graph.input("way", str)
    graph.add("router", lambda way: way)
    graph.add("left", lambda router: "from the left")
    graph.add("right", lambda router: "from the right")
    graph.choose("router", {"left": "left", "right": "right"})

    @graph.node
    async def join(left: fg.Maybe[str], right: fg.Maybe[str]) -> str | None:
        joins.append((left, right))
        return left or right

    @graph.node
    async def after(join: str) -> str:
        return join.upper()

    run = await fg.arun(graph, {"way": branch})
    assert joins == [("from the left", None) if branch == "left" else (None, "from the right")]
    assert run["after"] == f"FROM THE {branch.upper()}"
    other = "right" if branch == "left" else "left"
    assert run.outcomes[other].status is fg.Status.SKIPPED
    assert run.status is fg.Status.SUCCEEDED


async def test_b_uneven_branches_the_join_runs_once_after_both() -> None:
    joins = []
    graph = fg.Graph("b")
    graph.add("start", lambda: 0)
    graph.add("short", lambda start: start + 1)
    graph.add("long1", lambda start: start + 10)
    graph.add("long2", lambda long1: long1 + 10)
    graph.add("long3", lambda long2: long2 + 10)

    @graph.node
    async def join(short: int, long3: int) -> int:
        joins.append((short, long3))
        return short + long3

    assert (await fg.arun(graph))["join"] == 31
    assert joins == [(1, 30)]


async def test_c_one_of_three_fails_the_others_are_kept_and_nothing_runs_on() -> None:
    at_work = 0
    graph = fg.Graph("c")
    graph.add("start", lambda: 0)

    async def works(start: int, name: str) -> str:
        nonlocal at_work
        at_work += 1
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        at_work -= 1
        return name

    async def fails(start: int) -> str:
        raise ValueError("one of three")

    graph.add("one", works, values={"name": "one"})
    graph.add("two", fails)
    graph.add("three", works, values={"name": "three"})
    graph.add("join", lambda one, two, three: "never")
    with pytest.raises(fg.RunFailed) as caught:
        await fg.arun(graph)
    assert at_work == 0
    run = caught.value.run
    assert (run["one"], run["three"]) == ("one", "three")
    assert list(caught.value.errors) == ["two"]
    assert run.outcomes["join"].status is fg.Status.UPSTREAM_FAILED
    assert "one of three" in run.explain("join")


async def test_d_no_lock_step_a_slow_node_never_delays_a_chain_that_does_not_depend_on_it() -> None:
    release = anyio.Event()
    order = []
    graph = fg.Graph("d")

    @graph.node
    async def slow() -> None:
        await release.wait()  # opened by the end of the chain: in lock-step this would hang
        order.append("slow")

    async def link(value: int = 0) -> int:
        await anyio.lowlevel.checkpoint()
        return value + 1

    graph.add("first", link)
    graph.add("second", link, bind={"value": "first"})
    graph.add("third", link, bind={"value": "second"})

    @graph.node
    async def last(third: int) -> None:
        order.append("chain")
        release.set()

    with anyio.fail_after(30):
        await fg.arun(graph)
    assert order == ["chain", "slow"]
