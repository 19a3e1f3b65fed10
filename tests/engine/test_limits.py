"""Limits: counted once through nesting, checked before anything is paid for, carried over a resume."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph.events import LimitNear
from flowgraph.outcome import Usage
from flowgraph.stores import MemoryStore
from flowgraph.testing import run_jumping


class Call:
    """A node that costs something, as a model call does."""

    kind = "model"
    title = ""
    parameters: dict[str, Any] = {}  # noqa: RUF012  # shared, never changed
    output_type: Any = Any

    def __init__(
        self, usage: Usage, name: str = "call", *, known: bool = True, fails: int = 0, wait: float = 0
    ) -> None:
        self.name = name
        self.usage = usage
        self.spends = Usage(model_calls=usage.model_calls, tool_calls=usage.tool_calls)
        self.made = 0
        self._known, self._fails, self._wait = known, fails, wait

    async def priced(self) -> bool:
        return self._known

    async def call(self, ctx: fg.Context, inputs: dict[str, Any]) -> str:
        self.made += 1
        await anyio.sleep(self._wait)
        if self.made <= self._fails:
            raise OSError("busy")
        ctx.charge(self.usage)
        return "done"


TOKENS = Usage(input_tokens=60, output_tokens=40, model_calls=1, cost=0.5)


def chain(call: Call, count: int = 4, **options: Any) -> fg.Graph:
    graph = fg.Graph("g", **options)
    for number in range(count):
        graph.add(f"n{number}", call, after=[f"n{number - 1}"] if number else ())
    graph.add("report", lambda: "written")
    graph.output("report")
    return graph


@pytest.mark.parametrize(
    ("limits", "made", "words"),
    [
        (fg.Limits(tokens=0), 0, "'tokens' of the run is used up: 0 of 0"),
        (fg.Limits(tokens=100), 1, "'tokens' of the run is used up: 100 of 100"),
        (fg.Limits(tokens=150), 2, "'tokens' of the run is used up: 200 of 150"),
        (fg.Limits(input_tokens=120), 2, "'input_tokens' of the run is used up: 120 of 120 input tokens"),
        (fg.Limits(output_tokens=100), 3, "'output_tokens' of the run is used up: 120 of 100 output tokens"),
        (fg.Limits(cost=0.9), 2, "'cost' of the run is used up: $1.0000 of $0.9000"),
        (fg.Limits(model_calls=3), 3, "'model_calls' of the run is used up: 3 model calls are made"),
        (fg.Limits(model_calls=4), 4, ""),
    ],
)
def test_what_costs_something_is_refused_when_a_limit_is_used_up_and_the_rest_still_runs(
    limits: fg.Limits, made: int, words: str
) -> None:
    call = Call(TOKENS)
    run = fg.run(chain(call), limits=limits, raise_on_failure=False)
    assert call.made == made
    assert run["report"] == "written"
    refused = [node for node in run.root.children if node.status is fg.Status.FAILED]
    assert [words in str(node.reason) for node in refused] == [True] * bool(words)
    assert all(isinstance(node.error, fg.LimitExceeded) for node in refused)
    assert run.usage.tokens == 100 * made


def test_tool_calls_are_a_limit_of_their_own() -> None:
    call = Call(Usage(tool_calls=1))
    run = fg.run(chain(call), limits=fg.Limits(tool_calls=2, model_calls=0), raise_on_failure=False)
    assert (call.made, run.usage.tool_calls) == (2, 2)


def test_calls_side_by_side_never_exceed_a_number_of_calls() -> None:
    call, graph = Call(TOKENS, wait=0.001), fg.Graph("g")
    for number in range(10):
        graph.add(f"n{number}", call)
    run = fg.run(graph, limits=fg.Limits(model_calls=4), raise_on_failure=False)
    assert call.made == 4
    assert sum(outcome.ok for outcome in run.outcomes.values()) == 4


def test_what_is_under_way_may_overshoot_tokens_and_is_counted() -> None:
    call, graph = Call(TOKENS, wait=0.001), fg.Graph("g")
    for number in range(3):
        graph.add(f"n{number}", call)
    run = fg.run(graph, limits=fg.Limits(tokens=50))
    assert run.usage.tokens == 300


def test_a_call_that_failed_does_not_count() -> None:
    call = Call(TOKENS, fails=3)
    graph = fg.Graph("g", policy=fg.Policy(retry=fg.Retry(attempts=5)))
    graph.add("n", call)
    assert fg.run(graph, limits=fg.Limits(model_calls=1)).status is fg.Status.SUCCEEDED


def test_usage_is_counted_once_on_every_level_and_the_innermost_limit_that_is_used_up_refuses() -> None:
    call = Call(TOKENS)
    inner = fg.Graph("inner", limits=fg.Limits(tokens=200))
    for number in range(3):
        inner.add(f"n{number}", call, after=[f"n{number - 1}"] if number else ())
    outer = fg.Graph("outer")
    outer.add("a", inner)
    outer.add("b", call, after="a", join=fg.Join.DONE)
    run = fg.run(outer, limits=fg.Limits(tokens=300), raise_on_failure=False)
    assert run.nodes["a"].usage.tokens == 200
    assert "of 'a' is used up" in str(run.nodes["a/n2"].reason)
    assert run.outcomes["b"].ok
    assert run.usage.tokens == 300


def test_a_limit_of_a_place_holds_for_that_node_and_what_it_calls() -> None:
    call = Call(TOKENS)

    async def twice(ctx: fg.Context) -> list[Any]:
        return [await ctx.call(call), await ctx.call(call, outcome=True)]

    graph = fg.Graph("g")
    graph.add("first", twice, policy=fg.Policy(limits=fg.Limits(model_calls=1)))
    graph.add("second", twice)
    run = fg.run(graph, raise_on_failure=False)
    assert isinstance(run["first"][1].error, fg.LimitExceeded)
    assert run["second"][1].ok


def test_a_budget_holds_in_maps_of_graphs() -> None:
    call, inner = Call(TOKENS), fg.Graph("inner")
    inner.input("x", int)
    inner.add("n", call, after=())
    graph = fg.Graph("g")
    graph.input("xs", list[int])
    graph.map("m", inner, each={"x": "xs"}, on_item_failure="keep", max_concurrency=1)
    run = fg.run(graph, {"xs": list(range(5))}, limits=fg.Limits(model_calls=2), raise_on_failure=False)
    assert call.made == 2
    assert [outcome.ok for outcome in run["m"]] == [True, True, False, False, False]


def test_node_runs_and_their_depth_are_limited() -> None:
    async def parent(ctx: fg.Context) -> Any:
        return [await ctx.call(lambda: 1, name="child") for _ in range(3)]

    graph = fg.Graph("g")
    graph.add("parent", parent)
    assert fg.run(graph, limits=fg.Limits(nodes=4, depth=2)).status is fg.Status.SUCCEEDED
    with pytest.raises(fg.RunFailed, match="'nodes' of the run is used up: 3 node runs"):
        fg.run(graph, limits=fg.Limits(nodes=3))
    with pytest.raises(fg.RunFailed, match="'depth' of the run"):
        fg.run(graph, limits=fg.Limits(depth=1))


def test_retries_are_limited_for_all_nodes_together() -> None:
    tries = []

    def broken() -> None:
        tries.append(1)
        raise OSError("no")

    graph = fg.Graph("g", policy=fg.Policy(retry=fg.Retry(attempts=4)))
    graph.add("a", broken)
    graph.add("b", broken, after="a", join=fg.Join.DONE)
    run = fg.run(graph, limits=fg.Limits(retries=4), raise_on_failure=False)
    assert len(tries) == 2 + 4
    assert run.nodes["b"].error is not None
    assert any("no retry is left" in note for note in run.nodes["b"].error.__notes__)


def test_a_model_without_a_known_price_is_refused_under_a_cost_limit_only() -> None:
    call = Call(Usage(input_tokens=1, model_calls=1, partial=True), known=False)
    graph = fg.Graph("g")
    graph.add("n", call)
    with pytest.raises(fg.RunFailed, match="no price is known for call, so the cost limit of the run refuses it"):
        fg.run(graph, limits=fg.Limits(cost=1))
    assert call.made == 0
    assert fg.run(graph, limits=fg.Limits(tokens=10)).status is fg.Status.SUCCEEDED


async def near(graph: fg.Graph, limits: fg.Limits) -> list[tuple[str, str, float, float]]:
    async with fg.start(graph, limits=limits) as live:
        return [(e.path, e.limit, e.used, e.most) async for e in live if isinstance(e, LimitNear)]


@pytest.mark.anyio
async def test_an_event_tells_once_that_four_fifths_of_a_limit_are_used() -> None:
    told = await near(chain(Call(TOKENS), 5), fg.Limits(tokens=500, model_calls=10))
    assert told == [("", "tokens", 400, 500)]


def test_a_spent_budget_carries_over_a_resume() -> None:
    store, call = MemoryStore(), Call(TOKENS)
    first = fg.run(chain(call), limits=fg.Limits(tokens=200), store=store, raise_on_failure=False)
    assert (call.made, first.usage.tokens) == (2, 200)
    again = fg.resume(chain(call), first.id, store=store, limits=fg.Limits(tokens=200), raise_on_failure=False)
    assert (call.made, again.usage.tokens) == (2, 200)
    more = fg.resume(chain(call), first.id, store=store, limits=fg.Limits(tokens=1000))
    assert (call.made, more.usage.tokens, more.output) == (4, 400, "written")


def test_the_time_of_a_graph_is_a_limit_wherever_it_runs() -> None:
    async def slow() -> None:
        await anyio.sleep(10)

    inner = fg.Graph("inner", limits=fg.Limits(run_timeout=3))
    inner.add("slow", slow)
    run = run_jumping(inner, raise_on_failure=False)
    assert isinstance(run.errors.get("") or run.nodes["slow"].error or fg.LimitExceeded(), fg.LimitExceeded)
    assert run.duration == pytest.approx(3)
    outer = fg.Graph("outer")
    outer.add("inner", inner)
    run = run_jumping(outer, raise_on_failure=False)
    assert run.outcomes["inner"].status is fg.Status.TIMED_OUT
    assert run.duration == pytest.approx(3)


@pytest.mark.parametrize(
    "wrong", [{"tokens": -1}, {"nodes": True}, {"cost": "a lot"}, {"model_calls": 1.5}, {"run_timeout": -2}]
)
def test_limits_that_are_none_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        fg.Limits(**wrong)
