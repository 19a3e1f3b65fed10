"""Retry: how often, when, and what is never tried again. On a clock that jumps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph.events import NodeRetrying

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend(jumping_clock: Any) -> Any:
    return jumping_clock


def failing(error: BaseException, times: int = 99) -> tuple[fg.Graph, list[tuple[int, float]], Any]:
    """A graph, the attempts that its node saw with their times, and the node."""
    seen: list[tuple[int, float]] = []

    async def node(ctx: fg.Context) -> str:
        seen.append((ctx.attempt, anyio.current_time()))
        if len(seen) <= times:
            raise error
        return "done"

    return fg.Graph("g"), seen, node


def waits(seen: list[tuple[int, float]]) -> list[float]:
    return [round(later - earlier, 6) for (_, earlier), (_, later) in pairwise(seen)]


async def test_c11_three_attempts_see_their_numbers_and_wait_in_between() -> None:
    graph, seen, node = failing(OSError("down"))
    graph.add("node", node, retry=fg.Retry(attempts=3, delay=5, factor=1))
    run = await fg.arun(graph, raise_on_failure=False)
    assert [attempt for attempt, _ in seen] == [1, 2, 3]
    assert waits(seen) == [5, 5]
    assert str(run.errors["node"]) == "down"
    assert run.outcomes["node"].attempts == 3
    told = [event for event in run.events if isinstance(event, NodeRetrying)]
    assert [(event.attempt, event.delay) for event in told] == [(1, 5.0), (2, 5.0)]


async def test_waits_grow_by_the_factor_up_to_the_cap_even_over_days() -> None:
    graph, seen, node = failing(OSError("down"))
    graph.add("node", node, retry=fg.Retry(attempts=6, delay=3600, factor=10, max_delay=86_400 * 10))
    await fg.arun(graph, raise_on_failure=False)
    assert waits(seen) == [3_600, 36_000, 360_000, 864_000, 864_000]


async def test_jitter_stays_in_its_share_and_is_the_same_for_the_same_run() -> None:
    found = []
    for run_id in ("one", "one", "two"):
        graph, seen, node = failing(OSError("down"))
        graph.add("node", node, retry=fg.Retry(attempts=8, delay=100, factor=1, max_delay=100, jitter=0.5))
        await fg.arun(graph, run_id=run_id, raise_on_failure=False)
        found.append(waits(seen))
        assert all(50 <= wait <= 150 for wait in found[-1])
        assert len(set(found[-1])) > 1
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(("after", "expected"), [(30, 30), (1, 5), ("soon", 5), (float("inf"), 5), (float("nan"), 5)])
async def test_retry_after_on_the_error_is_honoured(after: Any, expected: float) -> None:
    error = OSError("busy")
    error.retry_after = after  # type: ignore[attr-defined]
    graph, seen, node = failing(error, times=1)
    graph.add("node", node, retry=fg.Retry(attempts=2, delay=5))
    assert (await fg.arun(graph)).output == "done"
    assert waits(seen) == [expected]


class Refused(fg.Permanent):
    pass


@pytest.mark.parametrize(
    ("error", "on", "calls"),
    [
        (OSError("x"), Exception, 3),
        (OSError("x"), OSError, 3),
        (ConnectionError("x"), OSError, 3),
        (ValueError("x"), OSError, 1),
        (ValueError("x"), (OSError, ValueError), 3),
        (ValueError("x"), [OSError], 1),
        (ValueError("busy"), lambda error: "busy" in str(error), 3),
        (ValueError("bad"), lambda error: "busy" in str(error), 1),
        (Refused("no"), Exception, 1),
        (Refused("no"), lambda error: True, 1),
        (fg.InputError("no"), Exception, 1),
        (fg.OutputError("no"), Exception, 3),
        (fg.Skip("no"), Exception, 1),
        (ExceptionGroup("several", [ValueError("x")]), Exception, 3),
        (TimeoutError("theirs"), TimeoutError, 3),
    ],
)
async def test_c12_what_is_worth_another_try(error: Exception, on: Any, calls: int) -> None:
    graph, seen, node = failing(error)
    graph.add("node", node, retry=fg.Retry(attempts=3, on=on))
    await fg.arun(graph, raise_on_failure=False)
    assert len(seen) == calls


@pytest.mark.parametrize("attempts", [1, None])
async def test_c12_one_attempt_or_no_policy_means_no_retry(attempts: int | None) -> None:
    graph, seen, node = failing(OSError("x"))
    graph.add("node", node, retry=None if attempts is None else fg.Retry(attempts=attempts))
    await fg.arun(graph, raise_on_failure=False)
    assert len(seen) == 1


async def test_c48_a_node_overrides_the_graph_with_falsy_and_single_values_too() -> None:
    graph = fg.Graph("g", policy=fg.Policy(retry=fg.Retry(attempts=5), timeout=100))
    seen: dict[str, int] = {}

    def counting(name: str) -> Any:
        async def node(ctx: fg.Context) -> None:
            seen[name] = ctx.attempt
            raise OSError("x")

        return node

    async def slow() -> None:
        await anyio.sleep(1)

    graph.add("default", counting("default"))
    graph.add("single", counting("single"), retry=fg.Retry(attempts=1))
    graph.add("twice", counting("twice"), policy=fg.Policy(retry=fg.Retry(attempts=2)))
    graph.add("none", slow, timeout=0, retry=fg.Retry(attempts=1))
    run = await fg.arun(graph, raise_on_failure=False)
    assert seen == {"default": 5, "single": 1, "twice": 2}
    assert run.outcomes["none"].status is fg.Status.TIMED_OUT


async def test_a_predicate_that_raises_leaves_the_nodes_own_error() -> None:
    def on(error: Exception) -> bool:
        raise LookupError("the predicate is broken")

    graph, seen, node = failing(OSError("down"))
    graph.add("node", node, retry=fg.Retry(attempts=3, on=on))
    run = await fg.arun(graph, raise_on_failure=False)
    assert str(run.errors["node"]) == "down"
    assert "the predicate is broken" in run.errors["node"].__notes__[0]
    assert len(seen) == 1


async def test_only_the_failing_node_runs_again_and_the_last_attempt_gives_the_status() -> None:
    calls = []
    graph, _, node = failing(OSError("down"), times=2)

    @graph.node
    async def before() -> int:
        calls.append("before")
        return 1

    graph.add("node", node, after="before", retry=fg.Retry(attempts=3, delay=1))

    @graph.node
    async def later(node: str) -> str:
        calls.append("later")
        return node

    run = await fg.arun(graph)
    assert calls == ["before", "later"]
    assert run.outcomes["node"] == fg.Outcome(fg.Status.SUCCEEDED, "done", attempts=3, path="node")


async def test_children_belong_to_an_attempt() -> None:
    tries = 0

    async def child(number: int) -> int:
        return number

    async def parent(ctx: fg.Context) -> list[int]:
        nonlocal tries
        tries += 1
        found = [await ctx.call(child, {"number": number}) for number in range(tries)]
        if tries < 3:
            raise OSError("once more")
        return found

    graph = fg.Graph("g")
    graph.add("parent", parent, retry=fg.Retry(attempts=3))
    run = await fg.arun(graph)
    assert [node.path for node in run.nodes["parent"].children] == ["parent/child", "parent/child~2", "parent/child~3"]
    assert [[node.path for node in nodes] for nodes in run.nodes["parent"].earlier] == [
        ["parent/child"],
        ["parent/child", "parent/child~2"],
    ]


async def test_a_timed_out_attempt_is_tried_again() -> None:
    calls = 0

    async def node() -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            await anyio.sleep(100)
        return "done"

    graph = fg.Graph("g")
    graph.add("node", node, timeout=10, retry=fg.Retry(attempts=2, on=TimeoutError))
    run = await fg.arun(graph)
    assert (run.output, calls) == ("done", 2)


async def test_very_many_attempts_do_not_overflow() -> None:
    graph, seen, node = failing(OSError("x"), times=1500)
    graph.add("node", node, retry=fg.Retry(attempts=2000, delay=0.1, max_delay=1))
    assert (await fg.arun(graph)).output == "done"
    assert len(seen) == 1501


@pytest.mark.parametrize(
    "options",
    [
        {"attempts": 0},
        {"attempts": -1},
        {"attempts": True},
        {"attempts": 1.5},
        {"delay": -1},
        {"max_delay": float("nan")},
        {"jitter": 2},
        {"factor": 0},
    ],
)
async def test_settings_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        fg.Retry(**options)


async def test_a_number_instead_of_a_retry_is_refused() -> None:
    with pytest.raises(TypeError, match="Retry"):
        fg.Graph("g").add("node", lambda: 1, retry=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="exception types"):
        fg.Retry(on=int)  # type: ignore[arg-type]
