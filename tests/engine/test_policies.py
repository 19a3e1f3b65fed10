"""What a run may be told: stop on a failure, time limits of nodes and runs, groups and priorities, replacements."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import anyio
import pytest

import flowgraph as fg

pytestmark = pytest.mark.anyio


async def one() -> int:
    return 1


async def boom() -> int:
    raise ValueError("boom")


def statuses(run: fg.Run) -> dict[str, str]:
    return {name: str(outcome.status) for name, outcome in run.outcomes.items()}


# on_failure


async def test_stop_cancels_what_runs_and_what_had_not_started_ends_cancelled() -> None:
    graph, cleaned = fg.Graph("g"), []

    async def slow() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            cleaned.append(True)

    async def later(slow: None) -> None: ...

    graph.add("done", one)
    graph.add("slow", slow)
    graph.add("later", later)
    graph.add("bad", boom, after="done")
    with anyio.fail_after(10):
        run = await fg.arun(graph, on_failure="stop", raise_on_failure=False)
    assert statuses(run) == {"done": "succeeded", "slow": "cancelled", "later": "cancelled", "bad": "failed"}
    assert list(run.errors) == ["bad"], "the cancelled ones are no failures of their own"
    assert "'bad' failed, and the run stops" in str(run.outcomes["later"].reason)
    assert run["done"] == 1


async def test_stop_does_not_stop_for_a_failure_that_somebody_handles() -> None:
    graph = fg.Graph("g")
    graph.add("bad", boom)
    graph.add("calm", boom, fallback=0)

    @graph.node
    async def reader(bad: fg.Outcome[int]) -> str:
        return str(bad.status)

    run = await fg.arun(graph, on_failure="stop")
    assert run["reader"] == "failed"


async def test_stop_waits_for_a_quorum_that_may_still_handle_it() -> None:
    graph = fg.Graph("g")
    graph.add("bad", boom)
    graph.add("good", one, after="bad", join=fg.Join.DONE)

    @graph.node(join=fg.Join.ANY)
    async def first(bad: fg.Maybe[int], good: fg.Maybe[int]) -> int | None:
        return bad or good

    assert (await fg.arun(graph, on_failure="stop"))["first"] == 1


async def test_stop_holds_inside_graphs_and_for_choices_without_a_case() -> None:
    inner = fg.Graph("inner")

    @inner.node
    async def label() -> str:
        return "elsewhere"

    inner.add("taken", one)
    inner.add("forever", anyio.sleep_forever)
    inner.choose(label, {"here": "taken"})
    inner.output("taken")
    graph = fg.Graph("g")
    graph.add("inner", inner)
    with anyio.fail_after(10):
        run = await fg.arun(graph, on_failure="stop", raise_on_failure=False)
    assert str(run.nodes["inner/forever"].status) == "cancelled"
    assert isinstance(run.outcomes["inner"].error, fg.SubgraphFailed)


def test_an_unknown_policy_is_refused() -> None:
    graph = fg.Graph("g")
    graph.add("one", one)
    with pytest.raises(ValueError, match="'isolate' or 'stop'"):
        fg.run(graph, on_failure="ignore")  # type: ignore[arg-type]


# groups, priorities


class Gauge:
    """Counts how many are at work at a time."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.order: list[str] = []

    def node(self, name: str) -> Any:
        async def work() -> None:
            self.order.append(name)
            self.now += 1
            self.most = max(self.most, self.now)
            for _ in range(3):
                await anyio.lowlevel.checkpoint()
            self.now -= 1

        return work


async def test_a_group_limits_its_nodes_and_no_others() -> None:
    graph, api, others = fg.Graph("g"), Gauge(), Gauge()
    for number in range(6):
        graph.add(f"api{number}", api.node("api"), policy=fg.Policy(group="api"))
        graph.add(f"other{number}", others.node("other"))
    await fg.arun(graph, groups={"api": 2})
    assert (api.most, others.most) == (2, 6)


async def test_children_and_items_share_the_group_of_their_node() -> None:
    graph, gauge = fg.Graph("g"), Gauge()
    work = gauge.node("item")

    async def item(x: int) -> None:
        await work()

    graph.map("items", item, each={"x": "numbers"}, policy=fg.Policy(group="api"))
    graph.input("numbers", list[int])

    @graph.node(policy=fg.Policy(group="api"))
    async def parent(ctx: fg.Context) -> None:
        await ctx.gather(*[ctx.call(item, {"x": x}) for x in range(4)])

    with anyio.fail_after(10):
        await fg.arun(graph, {"numbers": [1, 2, 3]}, groups={"api": 1}, max_concurrency=2)
    assert gauge.most == 1


async def test_the_longest_remaining_path_comes_first_and_priorities_come_before_it() -> None:
    graph, gauge = fg.Graph("g"), Gauge()
    graph.add("gate", gauge.node("gate"))
    graph.add("short", gauge.node("short"), after="gate")
    graph.add("long", gauge.node("long"), after="gate")
    graph.add("urgent", gauge.node("urgent"), after="gate", policy=fg.Policy(priority=1))
    graph.add("tail", gauge.node("tail"), after="long")
    graph.add("end", gauge.node("end"), after=["tail", "short", "urgent"])
    await fg.arun(graph, max_concurrency=1)
    waited = [name for name in gauge.order if name in ("short", "long")]
    assert waited[0] == "long" or gauge.order.index("short") == 1, "only a node that found a free slot comes before it"
    assert gauge.order.index("urgent") <= 2
    assert gauge.most == 1


@pytest.mark.parametrize("groups", [{"api": 0}, {"api": True}, {"api": 1.5}])
def test_a_group_needs_a_limit_of_at_least_one(groups: Any) -> None:
    graph = fg.Graph("g")
    graph.add("one", one)
    with pytest.raises(ValueError, match="group 'api'"):
        fg.run(graph, groups=groups)


# time


async def test_a_run_that_goes_past_its_time_fails_and_keeps_what_it_has() -> None:
    graph = fg.Graph("g")
    graph.add("quick", one)
    graph.add("forever", anyio.sleep_forever, after="quick")
    with pytest.raises(fg.RunFailed) as failed:
        await fg.arun(graph, limits=fg.Limits(run_timeout=timedelta(milliseconds=50)))
    run = failed.value.run
    assert isinstance(failed.value.__cause__, fg.LimitExceeded)
    assert statuses(run) == {"quick": "succeeded", "forever": "cancelled"}
    assert "time was up" in str(run.outcomes["forever"].reason)
    assert run["quick"] == 1


class TestWithAJumpingClock:
    @pytest.fixture
    def anyio_backend(self) -> Any:
        import trio.testing

        return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}

    async def test_all_attempts_and_waits_share_the_total_limit(self) -> None:
        graph, starts = fg.Graph("g"), []

        @graph.node(policy=fg.Policy(retry=fg.Retry(attempts=10, delay=5, factor=1), total_timeout=17))
        async def node() -> None:
            starts.append(anyio.current_time())
            await anyio.sleep(2)
            raise ConnectionError("no")

        run = await fg.arun(graph, raise_on_failure=False)
        assert [start - starts[0] for start in starts] == pytest.approx([0, 7, 14])
        assert str(run.outcomes["node"].status) == "failed"
        assert "no time is left" in run.outcomes["node"].error.__notes__[0]  # type: ignore[union-attr]

    async def test_an_attempt_is_cut_where_the_total_ends(self) -> None:
        graph = fg.Graph("g")

        @graph.node(policy=fg.Policy(retry=fg.Retry(attempts=2), total_timeout=3, timeout=2))
        async def node(ctx: fg.Context) -> None:
            await anyio.sleep(10)

        started = anyio.current_time()
        run = await fg.arun(graph, raise_on_failure=False)
        assert anyio.current_time() - started == pytest.approx(3)
        assert str(run.outcomes["node"].status) == "timed_out"

    async def test_waiting_for_a_slot_counts_to_no_limit(self) -> None:
        graph = fg.Graph("g")

        async def hour() -> None:
            await anyio.sleep(3600)

        graph.add("first", hour)
        graph.add("second", hour, policy=fg.Policy(timeout=4000, total_timeout=4000))
        run = await fg.arun(graph, max_concurrency=1)
        assert statuses(run) == {"first": "succeeded", "second": "succeeded"}

    async def test_the_graphs_policy_is_the_default_field_by_field(self) -> None:
        graph = fg.Graph("g", policy=fg.Policy(timeout=1, retry=fg.Retry(attempts=2)))

        async def nap() -> None:
            await anyio.sleep(2)

        graph.add("cut", nap)
        graph.add("own", nap, timeout=5)
        run = await fg.arun(graph, raise_on_failure=False)
        assert statuses(run) == {"cut": "timed_out", "own": "succeeded"}
        assert run.outcomes["cut"].attempts == 2


# replace


def pipeline() -> fg.Graph:
    graph = fg.Graph("g")
    graph.input("text", str)

    @graph.node
    def facts(text: str) -> str:
        raise AssertionError("too costly for a test")

    @graph.node
    def page(facts: str, text: str) -> str:
        return f"{text}: {facts}"

    return graph


async def test_nodes_are_swapped_for_one_run() -> None:
    graph = pipeline()
    run = await fg.arun(graph, {"text": "tea"}, replace={"facts": lambda text: text.upper()})
    assert run.output == "tea: TEA"
    assert (await fg.arun(graph, {"text": "tea"}, replace={"facts": "leaves"})).output == "tea: leaves"
    with pytest.raises(fg.RunFailed):
        await fg.arun(graph, {"text": "tea"})


async def test_a_replacement_waits_and_is_skipped_as_the_original() -> None:
    graph, order = fg.Graph("g"), []

    @graph.node
    async def first() -> None:
        order.append("first")
        raise fg.Skip("no")

    graph.add("second", lambda first: first)
    run = await fg.arun(graph, replace={"second": lambda: order.append("second")})
    assert (order, str(run.outcomes["second"].status)) == (["first"], "skipped")


async def test_nodes_of_inner_graphs_are_replaced_by_path() -> None:
    outer = fg.Graph("outer")
    outer.input("text", str)
    outer.add("inner", pipeline())
    copy = fg.replace(outer, {"inner/facts": "leaves"})
    assert (await fg.arun(copy, {"text": "tea"})).output == "tea: leaves"
    assert outer.entries["inner"].node is not copy.entries["inner"].node


def test_wrong_replacements_are_refused() -> None:
    graph = pipeline()
    with pytest.raises(fg.GraphError, match="did you mean 'facts'"):
        fg.replace(graph, {"fact": 1})
    with pytest.raises(fg.GraphError, match="it is no graph"):
        fg.replace(graph, {"facts/deeper": 1})
    with pytest.raises(fg.GraphError, match="needs 'colour'"):
        fg.run(graph, {"text": "tea"}, replace={"facts": lambda colour: colour})
