"""What a resume calls again, what it gives back, and what stays the same over it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph import events as ev
from flowgraph.stores import MemoryStore
from flowgraph_nodes import LoopFlow
from tests.engine.stopping import RUN, called, cut, cut_after, loaded

SUCCEEDED, FAILED = fg.Status.SUCCEEDED, fg.Status.FAILED


class Refused(OSError):
    def __init__(self, code: int, words: str) -> None:
        self.code = code
        super().__init__(words)


class World:
    """What nodes call: counts calls, and fails for whom it is told to."""

    def __init__(self, *broken: str) -> None:
        self.calls: Counter[str] = Counter()
        self.broken = set(broken)

    def give(self, name: str, value: Any = None) -> Any:
        self.calls[name] += 1
        if name in self.broken:
            raise Refused(7, f"{name} is down")
        return name if value is None else value


def begun(graph: fg.Graph, **options: Any) -> tuple[fg.Run, MemoryStore]:
    store = MemoryStore()
    return fg.run(graph, store=store, run_id=RUN, raise_on_failure=False, **options), store


def resumed(graph: fg.Graph, store: MemoryStore, **options: Any) -> fg.Run:
    return fg.resume(graph, RUN, store=store, raise_on_failure=False, **options)


# -- what is called again


def test_only_failed_nodes_and_what_depends_on_them_run_again() -> None:
    world = World("b")
    graph = fg.Graph("g")
    graph.add("a", lambda: world.give("a"))
    graph.add("b", lambda a: world.give("b"))
    graph.add("below", lambda b: world.give("below"))
    graph.add("other", lambda a: world.give("other"))
    graph.add("cared", lambda: world.give("b"))
    run, store = begun(graph)
    assert run.outcomes["below"].status is fg.Status.UPSTREAM_FAILED
    world.broken.clear()
    again = resumed(graph, store)
    assert again.status is SUCCEEDED
    assert sorted(called(again)) == ["b", "below", "cared"]
    assert world.calls == {"a": 1, "b": 4, "below": 1, "other": 1}


def test_a_failure_that_readers_tolerate_stays() -> None:
    world = World("source", "other")
    graph = fg.Graph("g")

    def reader(source: fg.Outcome[str]) -> str:
        world.give("reader")
        assert isinstance(source.error, Refused)
        return f"{source.error} {source.error.code}"

    graph.add("source", lambda: world.give("source"))
    graph.add("reader", reader)
    graph.add("after", lambda reader: world.give(reader))
    graph.add("other", lambda: world.give("other"))
    _, store = begun(graph)
    world.broken.clear()
    again = resumed(graph, store)
    assert called(again) == ["other"]
    assert again["reader"] == "source is down 7"
    error = again.outcomes["source"].error
    assert isinstance(error, Refused) and (str(error), error.code) == ("source is down", 7)


def child(name: str) -> str:
    """Calls the world of the test."""
    return str(WORLD[0].give(name))


WORLD: list[World] = []


def calls_a_map() -> fg.Graph:
    graph = fg.Graph("mapped")
    graph.add("names", lambda: ["fine", "bad", "worse"])
    graph.map("items", child, each={"name": "names"})
    return graph


def calls_a_graph() -> fg.Graph:
    graph = fg.Graph("inner")
    graph.add("fine", child, values={"name": "fine"})
    graph.add("bad", child, values={"name": "bad"})
    return graph


async def in_the_background(ctx: fg.Context) -> None:
    async with ctx.background() as scope:
        scope.start(ctx.call(child, {"name": "bad"}))


async def in_other_words(ctx: fg.Context) -> None:
    try:
        await ctx.call(child, {"name": "bad"})
    except Refused as error:
        raise LookupError("in other words") from error


def in_a_thread(ctx: fg.SyncContext) -> None:
    ctx.gather(*[ctx.branch(child, {"name": name}) for name in ("fine", "bad")])


WAYS: dict[str, Callable[[fg.Context], Awaitable[Any]]] = {
    "a call": lambda ctx: ctx.call(child, {"name": "bad"}),
    "a gathering": lambda ctx: ctx.gather(*[ctx.call(child, {"name": name}) for name in ("fine", "bad", "worse")]),
    "the background": in_the_background,
    "other words": in_other_words,
    "a thread": lambda ctx: ctx.call(in_a_thread),
    "a graph": lambda ctx: ctx.call(calls_a_graph()),
    "a map": lambda ctx: ctx.call(calls_a_map()),
    "a loop": lambda ctx: ctx.call(LoopFlow(child, until="output == 'bad'", carry={}), {"name": "bad"}),
    "retries": lambda ctx: ctx.call(child, {"name": "bad"}, retry=fg.Retry(attempts=2)),
}


@pytest.mark.parametrize("how", WAYS)
def test_the_children_that_ended_a_node_are_called_again_and_handled_ones_given_back(how: str) -> None:
    world, seen = World("handled", "bad", "worse"), list[tuple[str, int]]()
    WORLD[:] = [world]

    async def parent(ctx: fg.Context) -> str:
        await ctx.call(child, {"name": "fine"})
        try:
            await ctx.call(child, {"name": "handled"})
        except Refused as error:
            seen.append((str(error), error.code))
        await WAYS[how](ctx)
        return "done"

    graph = fg.Graph("g")
    graph.add("parent", parent)
    run, store = begun(graph)
    assert run.status is FAILED
    before = Counter(world.calls)
    world.broken -= {"bad", "worse"}
    again = resumed(graph, store)
    assert again.status is SUCCEEDED
    assert seen == [("handled is down", 7)] * 2
    assert world.calls - before == ({"bad": 1, "worse": 1} if how in ("a gathering", "a map") else {"bad": 1})


def test_calls_with_other_inputs_are_made_again_and_told() -> None:
    world, numbers = World("last"), [1]

    def child(value: int) -> int:
        return int(world.give(f"child {value}", value))

    async def parent(ctx: fg.Context) -> str:
        await ctx.call(child, {"value": 0}, retry=fg.Retry(attempts=len(numbers)), timeout=len(numbers))
        await ctx.call(child, {"value": numbers[-1]})
        return str(await ctx.call(lambda: world.give("last"), name="last"))

    graph = fg.Graph("g")
    graph.add("parent", parent)
    _, store = begun(graph)
    numbers.append(2)
    with pytest.raises(fg.RunFailed, match=r"'parent/child~2' is called with something else than before") as failed:
        fg.resume(graph, RUN, store=store, strict_replay=True)
    assert world.calls == {"child 0": 1, "child 1": 1, "last": 1}
    assert type(failed.value.errors["parent"]).__name__ == "Diverged"
    world.broken.clear()
    again = resumed(graph, store)
    assert world.calls == {"child 0": 1, "child 1": 1, "child 2": 1, "last": 2}
    told = [event for event in again.events if isinstance(event, ev.Decided) and event.what == "diverged"]
    assert [event.path for event in told] == ["parent"] and "parent/child~2" in told[0].detail


def test_a_node_of_another_kind_in_its_place_is_called_and_told() -> None:
    inner = fg.Graph("inner")
    inner.add("a", lambda: 1)
    nodes: list[Any] = [lambda: 1]

    async def parent(ctx: fg.Context) -> int:
        value = await ctx.call(nodes[-1], name="child")
        if len(nodes) == 1:
            raise OSError("no")
        return int(value)

    graph = fg.Graph("g")
    graph.add("parent", parent)
    _, store = begun(graph)
    nodes.append(inner)
    again = resumed(graph, store)
    assert again.status is SUCCEEDED and called(again) == ["parent", "parent/child", "parent/child/a"]
    assert "was a function, and a graph is called now" in str(again.events)


# -- attempts and usage


def test_the_last_attempt_goes_on_with_its_number_key_time_and_chance() -> None:
    seen: list[tuple[Any, ...]] = []

    async def node(ctx: fg.Context) -> int:
        seen.append((ctx.attempt, ctx.idempotency_key, ctx.started_at, ctx.random.random(), ctx.run_id))
        await ctx.call(lambda: 1, name="child")
        raise OSError("no")

    graph = fg.Graph("g")
    graph.add("node", node, retry=fg.Retry(attempts=3))
    _, store = begun(graph)
    for attempt in (1, 2, 3):
        broken, since = cut_after(store, ev.NodeStarted, "node/child", attempt), len(seen)
        run = resumed(graph, broken)
        assert [row[0] for row in seen[since:]] == list(range(attempt, 4))
        assert run.outcomes["node"].attempts == 3
    assert {row[1:] for row in seen} == {seen[0][1:]} and seen[0][1] == f"{RUN}:node"


def test_what_was_used_is_counted_once() -> None:
    def paid(ctx: fg.SyncContext, value: int) -> int:
        ctx.charge(tokens=value, cost=1.0)
        if world.give("paid") and value == 4:
            world.give("bad")
        return value

    async def parent(ctx: fg.Context) -> int:
        return sum([await ctx.call(paid, {"value": value}) for value in (1, 2, 4)])

    world, graph = World("bad"), fg.Graph("g")
    graph.add("parent", parent)
    run, store = begun(graph)
    assert (run.usage.tokens, run.usage.cost) == (7, 3.0)
    world.broken.clear()
    again = resumed(graph, store)
    assert (again.usage.tokens, again.usage.cost) == (11, 4.0)
    assert again.nodes["parent/paid"].usage.tokens == 1


# -- runs that are over, or get nowhere


def test_c21_a_finished_run_gives_its_result_and_its_journal_does_not_grow() -> None:
    world, graph = World(), fg.Graph("g")
    graph.add("a", lambda: world.give("a"))
    run, store = begun(graph)
    for again in (resumed(graph, store), fg.run(graph, store=store, run_id=RUN)):
        assert (again.output, again.status, again.id) == ("a", SUCCEEDED, RUN)
        assert str(again) == str(run)
    assert world.calls == {"a": 1}
    assert len(store.read(RUN).rows) == len(run.events)


def test_a_resume_that_gets_nowhere_names_fork() -> None:
    choice = fg.Graph("g")
    choice.add("label", lambda: "left")
    choice.add("target", lambda: 1)
    choice.choose("label", {"right": "target"})
    _, store = begun(choice)
    with pytest.raises(fg.RunFailed) as failed:
        fg.resume(choice, RUN, store=store)
    assert "fork" in " ".join(failed.value.__notes__)
    graph, world = fg.Graph("g"), World("a")
    graph.add("a", lambda: world.give("a"))
    _, store = begun(graph)
    with pytest.raises(fg.RunFailed) as failed:
        fg.resume(graph, RUN, store=store)
    assert not hasattr(failed.value, "__notes__"), "it was called anew"


# -- how runs were ended


def test_a_cancelled_run_goes_on() -> None:
    world, graph = World(), fg.Graph("g")

    async def waits() -> str:
        world.give("waits")
        await anyio.sleep(0 if world.calls["waits"] > 1 else 60)
        return "waited"

    graph.add("a", lambda: world.give("a"))
    graph.add("waits", waits, after="a")
    graph.add("below", lambda waits: world.give("below"))
    store = MemoryStore()

    async def main() -> None:
        async with fg.start(graph, store=store, run_id=RUN) as live:
            async for event in live:
                if isinstance(event, ev.NodeStarted) and event.path == "waits":
                    live.cancel()
            with pytest.raises(fg.RunCancelled):
                await live.result()

    anyio.run(main)
    assert loaded(store).status is fg.Status.CANCELLED
    assert store.read(RUN).head.status == "cancelled"
    again = resumed(graph, store)
    assert again.status is SUCCEEDED and called(again) == ["waits", "below"]


def test_a_run_that_was_interrupted_goes_on() -> None:
    world, graph = World(), fg.Graph("g")

    def interrupted(a: str) -> str:
        if world.give("b") and world.calls["b"] == 1:
            raise KeyboardInterrupt
        return a

    graph.add("a", lambda: world.give("a"))
    graph.add("b", interrupted)
    store = MemoryStore()
    with pytest.raises(KeyboardInterrupt):
        fg.run(graph, store=store, run_id=RUN)
    again = resumed(graph, store)
    assert again.status is SUCCEEDED and world.calls == {"a": 1, "b": 2}


def test_a_run_whose_time_was_up_goes_on() -> None:
    world, graph = World(), fg.Graph("g")

    async def slow(a: str) -> str:
        world.give("slow")
        await anyio.sleep(0 if world.calls["slow"] > 1 else 60)
        return a

    graph.add("a", lambda: world.give("a"))
    graph.add("slow", slow)
    run, store = begun(graph, limits=fg.Limits(run_timeout=0.05))
    assert run.status is FAILED
    assert resumed(graph, store).output == "a" and world.calls == {"a": 1, "slow": 2}


def test_a_run_that_stopped_on_a_failure_goes_on() -> None:
    world, graph = World("bad"), fg.Graph("g")
    graph.add("a", lambda: world.give("a"))
    graph.add("bad", lambda a: world.give("bad"))
    graph.add("never", lambda a: world.give("never"), after="bad")
    run, store = begun(graph, on_failure="stop")
    assert run.status is FAILED
    world.broken.clear()
    again = resumed(graph, store, on_failure="stop")
    assert again.status is SUCCEEDED and world.calls == {"a": 1, "bad": 2, "never": 1}


def test_a_journal_of_only_its_start_begins_the_run() -> None:
    world, graph = World(), fg.Graph("g")
    graph.add("a", lambda: world.give("a"))
    _, store = begun(graph)
    assert resumed(graph, cut(store, RUN, 1)).output == "a"


def test_a_fallback_that_failed_is_called_again_with_what_it_stands_in_for() -> None:
    world, graph = World("bad", "instead"), fg.Graph("g")
    WORLD[:] = [world]

    async def parent(ctx: fg.Context) -> str:
        await ctx.call(child, {"name": "fine"})
        return str(await ctx.call(child, {"name": "bad"}))

    graph.add("parent", parent, fallback=lambda error: world.give("instead"))
    run, store = begun(graph)
    assert run.status is FAILED
    world.broken -= {"instead"}
    for broken in (store, cut_after(store, ev.NodeFallingBack, "parent")):
        before = Counter(world.calls)
        assert resumed(graph, broken).output == "instead"
        assert (world.calls - before) == ({"bad": 1, "instead": 1} if broken is store else {"instead": 1})
