"""The context: children and their places, gathering, facts, usage, and what is refused."""

from __future__ import annotations

import warnings
from typing import Any

import anyio
import pytest

import flowgraph as fg

pytestmark = pytest.mark.anyio


async def give(value: Any = None) -> Any:
    return value


async def fails(text: str = "no") -> None:
    raise ValueError(text)


async def run_of(node: Any, **options: Any) -> fg.Run:
    graph = fg.Graph("g")
    graph.add("node", node)
    return await fg.arun(graph, raise_on_failure=False, **options)


def paths(run: fg.Run) -> list[str]:
    return [node.path for node in run.root.walk()][1:]


# -- places


async def test_children_sit_below_their_parent_under_names_that_are_made_unique() -> None:
    async def node(ctx: fg.Context) -> None:
        await ctx.call(give)
        await ctx.call(give)
        await ctx.call(give, name="other")
        await ctx.call(give, name="round", round=0)
        await ctx.call(give, name="round", round=1)
        await ctx.call(give, name="item", item=3)
        await ctx.call(give, item=0)
        await ctx.call(give, round=7)
        await ctx.call(give, round=7)

    assert paths(await run_of(node)) == [
        "node",
        "node/give",
        "node/give~2",
        "node/other",
        "node/round#0",
        "node/round#1",
        "node/item[3]",
        "node[0]",
        "node#7",
        "node#7~2",
    ]


@pytest.mark.parametrize("name", ["a/b", "a b", "a~2", "a[0]", "a#1", "../x", "a%2F", "", "é", "名前", "a\nb", "💥"])
async def test_names_that_a_model_wrote_are_escaped_and_stay_apart(name: str) -> None:
    async def node(ctx: fg.Context) -> list[str]:
        calls = [ctx.call(give, name=text) for text in (name, "a", "b")]
        await ctx.gather(*calls)
        return [call.path for call in calls]

    run = await run_of(node)
    first, *_ = run.output
    assert first.startswith("node/")
    assert "/" not in first.removeprefix("node/")
    assert not set("#[~ \n") & set(first.removeprefix("node/"))
    assert len(set(run.output)) == 3
    assert run.nodes[first].title in (name, "")


async def test_places_are_taken_when_the_calls_are_made_whichever_starts_first() -> None:
    async def node(ctx: fg.Context) -> list[str]:
        first, second, third = (ctx.call(give, {"value": number}) for number in range(3))
        found = [await third, await first, await second]
        return [f"{found}", first.path, second.path, third.path]

    run = await run_of(node)
    assert run.output == ["[2, 0, 1]", "node/give", "node/give~2", "node/give~3"]
    assert [run[path] for path in run.output[1:]] == [0, 1, 2]


async def test_the_record_lists_gathered_calls_in_order_whichever_starts_or_ends_first() -> None:
    async def wait(turns: int) -> int:
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()
        return turns

    async def node(ctx: fg.Context) -> list[int]:
        return await ctx.gather(*(ctx.call(wait, {"turns": turns}) for turns in (5, 1, 3, 0)))

    run = await run_of(node)
    assert run.output == [5, 1, 3, 0]
    assert [child.value for child in run.nodes["node"].children] == [5, 1, 3, 0]


# -- calls


async def test_a_call_raises_the_childs_error_or_gives_the_outcome() -> None:
    async def node(ctx: fg.Context) -> list[Any]:
        with pytest.raises(ValueError, match="no"):
            await ctx.call(fails)
        outcome = await ctx.call(fails, outcome=True)
        skipped = await ctx.call(skips, outcome=True)
        with pytest.raises(fg.NoOutput, match="not today"):
            await ctx.call(skips)
        return [outcome.status.value, str(outcome.error), skipped.status.value]

    async def skips() -> None:
        raise fg.Skip("not today")

    run = await run_of(node)
    assert run.status is fg.Status.SUCCEEDED
    assert run.output == ["failed", "no", "skipped"]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [({"vlaue": 1}, "no parameter 'vlaue'"), ({}, "needs a value for 'value'"), ({"value": "x"}, "expected int")],
)
async def test_inputs_of_a_call_are_checked(inputs: dict[str, Any], message: str) -> None:
    async def child(value: int) -> int:
        return value

    async def node(ctx: fg.Context) -> Any:
        return await ctx.call(child, inputs)

    run = await run_of(node)
    assert isinstance(run.errors["node"], fg.InputError)
    assert message in str(run.errors["node"])


async def test_a_call_has_its_own_retries_and_time_limit() -> None:
    tries = 0

    async def flaky() -> int:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise OSError("once more")
        return tries

    async def node(ctx: fg.Context) -> Any:
        slow = await ctx.call(anyio_sleep, timeout=0.01, outcome=True)
        return await ctx.call(flaky, retry=fg.Retry(attempts=3)), slow.status.value

    run = await run_of(node)
    assert run.output == (3, "timed_out")
    assert run.nodes["node/flaky"].attempt == 3


async def anyio_sleep() -> None:
    await anyio.sleep(100)


async def test_the_output_of_a_call_is_checked() -> None:
    async def lies() -> int:
        return "x"  # type: ignore[return-value]

    async def node(ctx: fg.Context) -> Any:
        return await ctx.call(lies)

    assert isinstance((await run_of(node)).errors["node"], fg.OutputError)


async def test_a_call_is_awaited_once() -> None:
    async def node(ctx: fg.Context) -> None:
        call = ctx.call(give)
        await call
        await call

    run = await run_of(node)
    assert "awaited twice" in str(run.errors["node"])
    assert paths(run) == ["node", "node/give"]


async def test_a_call_that_is_never_awaited_is_warned_of() -> None:
    async def node(ctx: fg.Context) -> str:
        ctx.call(give)
        await ctx.call(give)
        return "done"

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = await run_of(node)
    assert run.output == "done"
    assert ["never awaited" in str(warning.message) for warning in caught] == [True]
    assert paths(run) == ["node", "node/give~2"]


async def test_a_context_is_of_no_use_after_its_node_has_ended() -> None:
    kept: list[Any] = []

    async def node(ctx: fg.Context) -> None:
        kept.append(ctx)

    async def later(ctx: fg.Context) -> None:
        with pytest.raises(fg.FlowgraphError, match="has ended"):
            kept[0].call(give)
        with pytest.raises(fg.FlowgraphError, match="has ended"):
            await kept[0].run_graph(fg.Graph("x"), {})

    graph = fg.Graph("g")
    graph.add("node", node)
    graph.add("later", later, after="node")
    run = await fg.arun(graph, max_concurrency=1)
    assert paths(run) == ["node", "later"]


async def test_a_call_made_in_time_but_awaited_after_the_end_is_refused() -> None:
    kept: list[Any] = []

    async def node(ctx: fg.Context) -> str:
        kept.append(ctx.call(give))
        return "done"

    async def later() -> None:
        with pytest.raises(fg.FlowgraphError, match="has ended"):
            await kept[0]

    graph = fg.Graph("g")
    graph.add("node", node)
    graph.add("later", later, after="node")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = await fg.arun(graph)
    assert run.status is fg.Status.SUCCEEDED


# -- gather


async def test_gather_waits_for_all_and_raises_the_first_in_order_with_the_others() -> None:
    ended = []

    async def slow(number: int) -> int:
        for _ in range(10 - number):
            await anyio.lowlevel.checkpoint()
        ended.append(number)
        if number in (1, 3):
            raise ValueError(f"number {number}")
        return number

    async def node(ctx: fg.Context) -> Any:
        return await ctx.gather(*(ctx.call(slow, {"number": number}) for number in range(5)))

    run = await run_of(node)
    assert str(run.errors["node"]) == "number 1"
    assert "node/slow~4 failed, too: ValueError: number 3" in run.errors["node"].__notes__
    assert sorted(ended) == [0, 1, 2, 3, 4]
    assert run["node/slow~5"] == 4


async def test_gather_of_nothing_and_of_outcomes() -> None:
    async def node(ctx: fg.Context) -> Any:
        assert await ctx.gather() == []
        outcomes = await ctx.gather(ctx.call(fails, outcome=True), ctx.call(give, {"value": 1}, outcome=True))
        return [outcome.ok for outcome in outcomes]

    assert (await run_of(node)).output == [False, True]


@pytest.mark.parametrize("limit", [1, 3, 100])
async def test_gather_keeps_its_limit(limit: int) -> None:
    now = most = 0

    async def busy() -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await anyio.sleep(0.001)
        now -= 1

    async def node(ctx: fg.Context) -> None:
        await ctx.gather(*(ctx.call(busy) for _ in range(6)), max_concurrency=limit)

    assert (await run_of(node)).status is fg.Status.SUCCEEDED
    assert most == min(limit, 6)


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_limit_that_would_run_nothing_is_refused(limit: int) -> None:
    async def node(ctx: fg.Context) -> None:
        await ctx.gather(ctx.call(give), max_concurrency=limit)

    assert isinstance((await run_of(node)).errors["node"], ValueError)


async def test_children_that_never_began_are_final_when_their_parent_is() -> None:
    async def node(ctx: fg.Context) -> None:
        await ctx.gather(*(ctx.call(anyio_sleep) for _ in range(4)), max_concurrency=1)

    graph = fg.Graph("g")
    graph.add("node", node, timeout=0.02)
    run = await fg.arun(graph, raise_on_failure=False)
    assert {child.status for child in run.nodes["node"].children} == {fg.Status.CANCELLED}
    assert len(run.nodes["node"].children) == 4


# -- facts


async def test_paths_attempts_keys_deps_time_and_random_numbers() -> None:
    async def child(ctx: fg.Context) -> tuple[str, str, float]:
        return ctx.path, ctx.idempotency_key, ctx.random.random()

    async def node(ctx: fg.Context) -> Any:
        assert ctx.attempt == 1
        assert ctx.deps == {"x": 1}
        before = ctx.now
        await anyio.sleep(0.002)
        assert ctx.now > before
        assert ctx.random.random() == ctx.random.random()
        return await ctx.gather(ctx.call(child), ctx.call(child))

    (path, key, number), (other_path, other_key, other) = (await run_of(node, run_id="r", deps={"x": 1})).output
    assert (path, key) == ("node/child", "r:node/child")
    assert (other_path, other_key) == ("node/child~2", "r:node/child~2")
    assert number != other


async def test_usage_is_counted_once_and_seen_by_every_level_above() -> None:
    async def child(ctx: fg.Context, fail: bool) -> None:
        ctx.charge(tokens=10, cost=0.5)
        ctx.charge(fg.Usage(output_tokens=5, model_calls=1))
        if fail:
            raise ValueError("still charged")

    async def node(ctx: fg.Context) -> None:
        ctx.charge(tokens=1)
        await ctx.call(child, {"fail": False})
        await ctx.call(child, {"fail": True}, retry=fg.Retry(attempts=2), outcome=True)

    run = await run_of(node)
    assert run.nodes["node/child"].usage == fg.Usage(input_tokens=10, output_tokens=5, model_calls=1, cost=0.5)
    assert run.nodes["node/child~2"].usage.tokens == 30  # both attempts
    assert run.nodes["node"].usage == run.usage
    assert run.usage == fg.Usage(input_tokens=31, output_tokens=15, model_calls=3, cost=1.5)


async def test_an_unknown_price_stays_unknown_and_zero_stays_zero() -> None:
    async def node(ctx: fg.Context) -> None:
        ctx.charge(tokens=3)

    async def free(ctx: fg.Context) -> None:
        ctx.charge(tokens=3, cost=0.0)

    assert (await run_of(node)).usage.cost is None
    assert (await run_of(free)).usage.cost == 0.0


async def test_details_are_kept_and_merged() -> None:
    async def node(ctx: fg.Context) -> None:
        ctx.keep(a=1, b=2)
        ctx.keep(b=3)

    assert (await run_of(node)).nodes["node"].detail == {"a": 1, "b": 3}


async def test_a_blocking_function_is_called_in_a_thread_with_arguments() -> None:
    def blocking(a: int, *, b: int) -> int:
        return a * b

    async def node(ctx: fg.Context) -> int:
        return await ctx.in_thread(blocking, 2, b=3)

    assert (await run_of(node)).output == 6
