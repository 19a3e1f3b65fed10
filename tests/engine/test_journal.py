"""The journal of a run at work: who owns it, what happens when it cannot be written, run ids, inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph import events as ev
from flowgraph.stores import Batch, MemoryStore
from tests.engine.kept_graphs import BUILDS
from tests.engine.stopping import RUN, Kept, called, compare, loaded, look_at_calls, on_a_jumping_clock


class Failing(MemoryStore):
    """A store that cannot be written any more after some writes. slow: its methods are called on a thread."""

    def __init__(self, after: int, slow: bool = False) -> None:
        super().__init__()
        self.after, self.instant = after, not slow

    def write(self, batches: Sequence[Batch]) -> None:
        self.after -= 1
        if self.after < 0:
            raise fg.StoreError("the disk is full")
        super().write(batches)


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("name", ["trees", "maps_of_graphs", "gates", "tries", "backgrounds", "fallbacks"])
def test_a_store_that_fails_ends_the_run_clearly_and_what_is_stored_goes_on(name: str, slow: bool) -> None:
    build, inputs, answers, options = BUILDS[name]
    case = Kept(build, inputs, answers, **options)

    async def main() -> None:
        whole = await case.run(MemoryStore())
        for after in (0, 1, 2, 3, 5, 8, 13, 21):
            store = Failing(after, slow)
            run = await case.run(store)
            if store.after >= 0:
                continue
            assert run.status is fg.Status.FAILED and "disk is full" in str(run.root.reason)
            if not any(isinstance(event, ev.RunPaused) for event in run.events):
                assert [node.path for node in run.root.walk() if not node.status.final] == []
            store.after = 10_000
            assert store.read(RUN).head.owner == ""
            if not store.read(RUN).rows:
                continue
            before = loaded(store)
            again = await case.go_on(store)
            compare(whole, again, f"after {after} writes")
            look_at_calls(before, again, len(before.events))

    on_a_jumping_clock("trio", main)


def test_what_was_produced_is_in_the_record_when_the_store_fails() -> None:
    graph = fg.Graph("g")
    graph.add("a", lambda: 1)
    graph.add("b", lambda a: a + 1)
    store = Failing(2)
    with pytest.raises(fg.RunFailed, match="disk is full") as failed:
        fg.run(graph, store=store, run_id=RUN)
    assert failed.value.run["a"] == 1
    assert isinstance(failed.value.__cause__, fg.StoreError)


def test_one_owner_at_a_time() -> None:
    graph, store = fg.Graph("g"), MemoryStore()
    graph.add("gate", fg.Gate("?"))

    async def main() -> None:
        async with fg.start(graph, store=store, run_id=RUN, wait=True) as live:
            async for event in live:
                if isinstance(event, ev.GateOpened):
                    break
            owner = store.read(RUN).head.owner
            assert owner
            for other in (
                lambda: fg.aresume(graph, RUN, store=store),
                lambda: fg.arun(graph, store=store, run_id=RUN),
            ):
                with pytest.raises(fg.RunBusy) as busy:
                    await other()
                assert busy.value.owner == owner and owner in str(busy.value)
            with pytest.raises(fg.RunBusy):
                fg.answer(RUN, "gate", "tea", store=store)
            with pytest.raises(fg.FlowgraphError, match="aresume"):
                fg.resume(graph, RUN, store=store)
            live.answer("gate", "tea")
            assert (await live.result()).output == "tea"
        assert (await fg.aresume(graph, RUN, store=store)).output == "tea"

    anyio.run(main)


def test_a_run_id_starts_a_run_or_goes_on_with_it() -> None:
    calls: list[str] = []

    def b(a: int) -> int:
        calls.append("b")
        if len(calls) < 3:
            raise OSError("no")
        return a + 1

    graph, store = fg.Graph("g"), MemoryStore()
    graph.input("topic", str)
    graph.input("size", int, default=1)
    graph.add("a", lambda topic: calls.append("a") or 1)
    graph.add("b", b)
    given: dict[str, Any] = {"store": store, "run_id": RUN}
    with pytest.raises(fg.RunFailed):
        fg.run(graph, {"topic": "tea"}, **given)
    with pytest.raises(fg.InputError, match="another value for 'topic'"):
        fg.run(graph, {"topic": "milk"}, **given)
    with pytest.raises(fg.InputError, match="another value for 'size'"):
        fg.run(graph, {"topic": "tea", "size": 2}, **given)
    run = fg.run(graph, {"topic": "tea"}, **given)
    assert run.output == 2 and called(run) == ["b"] and calls == ["a", "b", "b"]
    assert [head.run_id for head in store.heads()] == [RUN]
    with pytest.raises(fg.RunNotFound):
        fg.resume(graph, "other", store=store)
    assert [head.run_id for head in store.heads()] == [RUN], "a resume starts nothing"


@pytest.mark.parametrize("when", ["starting", "resuming"])
def test_a_call_that_is_refused_leaves_no_owner(when: str) -> None:
    graph, store = fg.Graph("g"), MemoryStore()
    graph.input("topic", str)
    graph.add("a", lambda topic: topic)
    if when == "resuming":
        fg.run(graph, {"topic": "tea"}, store=store, run_id=RUN)
    with pytest.raises(fg.InputError):
        fg.run(graph, {"topic": 7}, store=store, run_id=RUN)
    assert [head.owner for head in store.heads()] == ([""] if when == "resuming" else [])
