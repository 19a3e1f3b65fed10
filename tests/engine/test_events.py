"""Events and their readers."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph import events as ev
from flowgraph.streams import ROOM

pytestmark = pytest.mark.anyio


def graph_of(node: Any, **options: Any) -> fg.Graph:
    graph = fg.Graph("g")
    graph.add("node", node, **options)
    return graph


def kinds(events: list[ev.Event]) -> list[str]:
    return [type(event).__name__ for event in events]


async def test_lasting_events_are_numbered_without_gaps_and_are_the_record() -> None:
    async def child() -> None:
        pass

    async def node(ctx: fg.Context) -> None:
        ctx.log("not kept")
        await ctx.call(child)
        if ctx.attempt == 1:
            raise OSError("once")

    graph = graph_of(node, retry=fg.Retry(attempts=2))
    graph.add("skipped", child, when="False")
    async with fg.start(graph) as live:
        seen = [event async for event in live if isinstance(event, ev.Lasting)]
        run = await live.result()
    assert seen == run.events
    assert [event.seq for event in seen] == list(range(len(seen)))
    assert kinds([event for event in seen if event.path.startswith("node") or not event.path]) == [
        "RunStarted",
        "NodeStarted",
        "Spawned",
        "NodeStarted",
        "NodeFinished",
        "NodeRetrying",
        "NodeStarted",
        "Spawned",
        "NodeStarted",
        "NodeFinished",
        "NodeFinished",
        "RunFinished",
    ]
    times = [event.at for event in seen]
    assert times == sorted(times)


async def test_events_are_frozen() -> None:
    run = await fg.arun(graph_of(lambda: 1))
    with pytest.raises(AttributeError):
        run.events[0].path = "x"  # type: ignore[misc]


async def test_several_readers_each_get_all_whenever_they_begin() -> None:
    gate = anyio.Event()

    async def node(ctx: fg.Context) -> None:
        await gate.wait()
        for number in range(3):
            ctx.emit("number", number)
            await anyio.lowlevel.checkpoint()

    found: dict[str, list[ev.Event]] = {}

    async def read(name: str, live: fg.LiveRun) -> None:
        found[name] = [event async for event in live]

    async with fg.start(graph_of(node)) as live, anyio.create_task_group() as group:
        group.start_soon(read, "early", live)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(read, "later", live)
        await anyio.wait_all_tasks_blocked()
        gate.set()
    assert found["early"] == found["later"]
    assert [event.data for event in found["early"] if isinstance(event, ev.Emitted)] == [0, 1, 2]
    assert isinstance(found["early"][-1], ev.RunFinished)


async def test_a_reader_that_comes_when_all_is_over_gets_the_lasting_events_and_ends() -> None:
    async with fg.start(graph_of(lambda: 1)) as live:
        await live.result()
        assert kinds([event async for event in live])[-1] == "RunFinished"
    with anyio.fail_after(5):
        assert kinds([event async for event in live])[-1] == "RunFinished"
        assert [text async for text in live.text("node")] == []


async def test_a_slow_reader_loses_the_oldest_passing_events_is_told_and_blocks_nobody() -> None:
    extra = 250

    async def node(ctx: fg.Context) -> str:
        for number in range(ROOM + extra):
            ctx.emit("number", number)
        return "done"

    async with fg.start(graph_of(node)) as live:
        reader = live.__aiter__()
        assert isinstance(await anext(reader), ev.RunStarted)
        run = await live.result()  # the reader reads nothing meanwhile
        assert run.output == "done"
        rest = [event async for event in reader]
    gaps = [event for event in rest if isinstance(event, ev.Gap)]
    numbers = [event.data for event in rest if isinstance(event, ev.Emitted)]
    assert [gap.count for gap in gaps] == [extra]
    assert numbers == list(range(extra, ROOM + extra))
    assert kinds(rest)[:2] == ["NodeStarted", "Gap"]
    lasting = [event for event in rest if isinstance(event, ev.Lasting)]
    assert lasting == run.events[1:]


async def test_passing_and_lasting_events_come_in_the_order_in_which_they_happened() -> None:
    async def child() -> None:
        pass

    async def node(ctx: fg.Context) -> None:
        ctx.emit("before")
        await ctx.call(child)
        ctx.emit("after")

    async with fg.start(graph_of(node)) as live:
        order = [getattr(event, "kind", type(event).__name__) async for event in live if event.path]
    assert order == ["NodeStarted", "before", "function", "NodeStarted", "NodeFinished", "after", "NodeFinished"]


async def test_without_a_reader_nothing_is_made_of_passing_events() -> None:
    async def node(ctx: fg.Context) -> bool:
        ctx.emit("x")
        ctx.log("y", z=1)
        return ctx.listened

    assert (await fg.arun(graph_of(node))).output is False
    async with fg.start(graph_of(node)) as live:
        events = [event async for event in live]
        assert (await live.result()).output is True
    assert any(isinstance(event, ev.Logged) and event.fields == {"z": 1} for event in events)


async def test_text_gives_the_pieces_of_a_node_and_what_is_below_it() -> None:
    async def writer(ctx: fg.Context, text: str) -> None:
        for piece in text:
            ctx.emit("text", piece)
            await anyio.lowlevel.checkpoint()
        ctx.emit("reasoning", "hm")

    async def node(ctx: fg.Context) -> None:
        await ctx.call(writer, {"text": "ab"})
        await ctx.call(writer, {"text": "cd"}, item=0)

    graph = graph_of(node)
    graph.add("node2", writer, values={"text": "xyz"})
    async with fg.start(graph) as live:
        assert "".join([text async for text in live.text("node")]) == "abcd"


async def test_a_sync_node_may_emit_and_log_from_its_thread() -> None:
    def node(ctx: fg.Context) -> str:
        for number in range(5):
            ctx.emit("number", number)
            ctx.log("line", number=number)
        ctx.charge(tokens=3)
        ctx.keep(a=1)
        return "done"

    async with fg.start(graph_of(node)) as live:
        events = [event async for event in live]
        run = await live.result()
    assert [event.data for event in events if isinstance(event, ev.Emitted)] == list(range(5))
    assert [event.fields["number"] for event in events if isinstance(event, ev.Logged)] == list(range(5))
    assert (run.usage.tokens, run.nodes["node"].detail) == (3, {"a": 1})


async def test_a_reader_may_leave_without_ending_the_run() -> None:
    async with fg.start(graph_of(lambda: 1)) as live:
        async for _ in live:
            break
        assert (await live.result()).output == 1


async def test_a_choice_and_a_true_condition_are_events() -> None:
    graph = fg.Graph("g")
    graph.add("chooser", lambda: "a")
    graph.add("a", lambda: 1)
    graph.add("b", lambda: 2)
    graph.choose("chooser", {"a": "a", "b": "b"})
    graph.add("c", lambda: 3, when="chooser == 'a'")
    run = await fg.arun(graph)
    decided = {(e.path, e.what): (e.detail, e.taken) for e in run.events if isinstance(e, ev.Decided)}
    assert decided[("chooser", "choice")] == ("a", ("a",))
    assert "chooser=str 'a'" in decided[("c", "when")][0]
