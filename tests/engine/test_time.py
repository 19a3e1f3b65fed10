"""Time limits, on a clock that jumps: what they stop, what they count, and what they leave behind."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import anyio
import pytest

import flowgraph as fg

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend(jumping_clock: Any) -> Any:
    return jumping_clock


async def sleeper(seconds: float) -> str:
    await anyio.sleep(seconds)
    return f"slept {seconds}"


@pytest.mark.parametrize("limit", [10, 10.0, timedelta(seconds=10)])
async def test_a_node_past_its_limit_is_timed_out_and_one_within_it_is_not(limit: Any) -> None:
    graph = fg.Graph("g")
    graph.add("slow", sleeper, values={"seconds": 11}, timeout=limit)
    graph.add("quick", sleeper, values={"seconds": 9}, timeout=limit)
    graph.add("reader", lambda slow: slow)
    run = await fg.arun(graph, raise_on_failure=False)
    assert run.outcomes["slow"].status is fg.Status.TIMED_OUT
    assert run["quick"] == "slept 9"
    assert run.outcomes["reader"].status is fg.Status.UPSTREAM_FAILED
    error = run.errors["slow"]
    assert isinstance(error, fg.NodeTimeout)
    assert isinstance(error, TimeoutError)
    assert "'slow'" in str(error)
    assert "10 s" in str(error)
    assert run.duration == pytest.approx(10)


async def test_a_day_passes_in_no_time() -> None:
    graph = fg.Graph("g")
    graph.add("day", sleeper, values={"seconds": 86_400})
    assert (await fg.arun(graph)).duration == pytest.approx(86_400)


@pytest.mark.parametrize("how", ["returns", "raises"])
async def test_what_a_node_does_after_its_limit_no_longer_counts(how: str) -> None:
    async def stubborn() -> str:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            if how == "raises":
                raise ValueError("late") from None
        return "late"

    graph = fg.Graph("g")
    graph.add("stubborn", stubborn, timeout=1)
    run = await fg.arun(graph, raise_on_failure=False)
    assert run.outcomes["stubborn"].status is fg.Status.TIMED_OUT
    if how == "raises":
        assert str(run.errors["stubborn"].__cause__) == "late"


async def test_a_timeout_that_the_node_raises_itself_is_a_failure() -> None:
    async def node() -> None:
        with anyio.fail_after(1):
            await anyio.sleep(2)

    async def theirs() -> None:
        raise fg.NodeTimeout("somebody else's")

    graph = fg.Graph("g")
    graph.add("node", node, timeout=10)
    graph.add("theirs", theirs, timeout=10)
    run = await fg.arun(graph, raise_on_failure=False)
    assert [outcome.status for outcome in run.outcomes.values()] == [fg.Status.FAILED, fg.Status.FAILED]


async def test_a_limit_on_a_graph_ends_all_of_its_nodes_after_their_clean_up() -> None:
    ended = []
    inner = fg.Graph("inner")

    @inner.node
    async def first() -> str:
        return "first"

    @inner.node
    async def forever(first: str) -> str:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("forever")
        return "never"

    @inner.node
    async def after(forever: str) -> str:
        ended.append("after")
        return "never"

    graph = fg.Graph("g")
    graph.add("inner", inner, timeout=5)
    graph.add("beside", sleeper, values={"seconds": 7})
    run = await fg.arun(graph, raise_on_failure=False)
    assert run.outcomes["inner"].status is fg.Status.TIMED_OUT
    assert run["inner/first"] == "first"
    assert run.nodes["inner/forever"].status is fg.Status.CANCELLED
    assert run.nodes["inner/after"].status is fg.Status.CANCELLED
    assert run["beside"] == "slept 7"
    assert ended == ["forever"]


async def test_the_limit_of_a_map_is_for_each_item_and_starts_when_the_item_does() -> None:
    graph = fg.Graph("g")
    graph.input("seconds", list[float])
    graph.map("naps", sleeper, each={"seconds": "seconds"}, timeout=10, max_concurrency=1, on_item_failure="keep")
    run = await fg.arun(graph, {"seconds": [9, 11, 9]})
    assert [outcome.status.value for outcome in run["naps"]] == ["succeeded", "timed_out", "succeeded"]
    assert run.duration == pytest.approx(28)


async def test_waiting_for_a_slot_does_not_count() -> None:
    graph = fg.Graph("g")
    for name in "abc":
        graph.add(name, sleeper, values={"seconds": 9}, timeout=10)
    run = await fg.arun(graph, max_concurrency=1)
    assert run.status is fg.Status.SUCCEEDED
    assert run.duration == pytest.approx(27)


async def test_a_limit_ends_a_node_whose_slot_is_lent_without_waiting_for_another() -> None:
    at_work = anyio.Event()

    async def parent(ctx: fg.Context) -> str:
        at_work.set()
        await anyio.sleep(1)
        return await ctx.call(sleeper, {"seconds": 1}, name="child")

    async def parent_works() -> bool:
        await at_work.wait()
        return True

    graph = fg.Graph("g")
    graph.add("parent", parent, timeout=10)
    graph.add("hog", sleeper, values={"seconds": 500}, when=parent_works)
    run = await fg.arun(graph, max_concurrency=1, raise_on_failure=False)
    assert run.outcomes["parent"].status is fg.Status.TIMED_OUT
    assert run.nodes["parent"].duration == pytest.approx(10)
    assert run.nodes["parent/child"].status is fg.Status.CANCELLED
    assert run["hog"] == "slept 500"


async def test_a_limit_of_a_child() -> None:
    async def parent(ctx: fg.Context) -> str:
        outcome = await ctx.call(sleeper, {"seconds": 9}, timeout=3, outcome=True)
        return str(outcome.status)

    graph = fg.Graph("g")
    graph.add("parent", parent)
    run = await fg.arun(graph)
    assert run.output == "timed_out"
    assert run.duration == pytest.approx(3)


async def test_d_a_slow_node_never_delays_a_chain_that_does_not_depend_on_it() -> None:
    graph = fg.Graph("g")
    graph.add("slow", sleeper, values={"seconds": 100})
    before = None
    for number in range(5):
        name = f"chain{number}"
        graph.add(name, sleeper, values={"seconds": 1}, after=before or ())
        before = name
    run = await fg.arun(graph)
    started = run.nodes["slow"].started
    assert started is not None
    ended = run.nodes["chain4"].ended
    assert ended is not None
    assert ended - started == pytest.approx(5)
    assert run.duration == pytest.approx(100)


@pytest.mark.parametrize("bad", [-1, timedelta(seconds=-1), float("nan")])
async def test_a_limit_that_makes_no_sense_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="timeout"):
        fg.Graph("g").add("node", sleeper, timeout=bad)


@pytest.mark.parametrize(("after", "status"), [(8, fg.Status.SUCCEEDED), (10, fg.Status.TIMED_OUT)])
@pytest.mark.parametrize("policy", [{"timeout": 10}, {"total_timeout": 10}])
async def test_waiting_to_have_a_lent_slot_back_counts_to_no_limit(
    policy: dict[str, int], after: float, status: fg.Status, caplog: pytest.LogCaptureFixture
) -> None:
    async def parent(ctx: fg.Context) -> str:
        await ctx.call(sleeper, {"seconds": 1})  # then another has the slot, for 20 seconds
        await anyio.sleep(after)
        return "done"

    graph = fg.Graph("g")
    graph.add("parent", parent, policy=fg.Policy(group="one", **policy))
    graph.add("delay", sleeper, values={"seconds": 0.5})
    graph.add("other", sleeper, values={"seconds": 20}, after="delay", policy=fg.Policy(group="one"))
    run = await fg.arun(graph, groups={"one": 1}, raise_on_failure=False)
    assert run.outcomes["parent"].status is status
    assert run.nodes["parent"].duration == pytest.approx(21 + min(after, 9))
    assert caplog.records == []  # nor does its grace period begin before it is told to end


async def test_what_a_retry_has_left_of_the_total_limit_is_without_the_waits_for_a_slot() -> None:
    async def parent(ctx: fg.Context) -> str:
        if ctx.attempt == 1:
            await ctx.call(sleeper, {"seconds": 1})
            raise OSError("once")
        await anyio.sleep(8)
        return "done"

    graph = fg.Graph("g")
    policy = fg.Policy(group="one", total_timeout=10, retry=fg.Retry(attempts=2, delay=0.5, jitter=0))
    graph.add("parent", parent, policy=policy)
    graph.add("delay", sleeper, values={"seconds": 0.5})
    graph.add("other", sleeper, values={"seconds": 20}, after="delay", policy=fg.Policy(group="one"))
    run = await fg.arun(graph, groups={"one": 1})
    assert run["parent"] == "done"
    assert run.outcomes["parent"].attempts == 2
