"""Inputs that broke other systems, as far as they are about runs that are kept. C20, C21 and C51 stand with the rest
of their subject, in `tests/engine/test_resume*.py`; the rows on models and tools in `tests/nodes`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import flowgraph as fg
from flowgraph import events as ev
from flowgraph.stores import MemoryStore
from flowgraph_nodes import LoopFlow
from tests.engine.stopping import RUN, called, cut, cut_after, loaded

SUCCEEDED, FAILED, PAUSED = fg.Status.SUCCEEDED, fg.Status.FAILED, fg.Status.PAUSED


def begun(graph: fg.Graph, **options: Any) -> tuple[fg.Run, MemoryStore]:
    store = MemoryStore()
    return fg.run(graph, store=store, run_id=RUN, raise_on_failure=False, **options), store


def resumed(graph: fg.Graph, store: MemoryStore, answers: Any = None) -> fg.Run:
    return fg.resume(graph, RUN, store=store, answers=answers, raise_on_failure=False)


def test_c17_a_router_that_raised_routes_after_the_resume() -> None:
    calls: Counter[str] = Counter()

    def count(name: str) -> str:
        calls[name] += 1
        return name

    def routes(n: str) -> bool:
        if count("router") and calls["router"] == 1:
            raise LookupError("no route")
        return True

    graph = fg.Graph("g")
    graph.add("n", lambda: count("n"))
    graph.add("t", lambda n: count("t"), when=routes)
    run, store = begun(graph)
    assert run.status is FAILED and calls["t"] == 0
    assert resumed(graph, store).status is SUCCEEDED
    assert calls == {"n": 1, "router": 2, "t": 1}


@pytest.mark.parametrize("kind", ["at rest", "at work"])
def test_c18_a_loop_goes_on_with_the_next_round(kind: str) -> None:
    calls: list[int] = []

    def body(ctx: fg.SyncContext, number: int) -> int:
        calls.append(number)
        return number + 1

    def build() -> fg.Graph:
        graph = fg.Graph("g")
        graph.add("loop", LoopFlow(body, until="output == 5", name="loop"), values={"number": 0})
        graph.add("exit", lambda loop: f"left with {loop}")
        return graph

    _, store = begun(build())
    calls.clear()
    broken = cut_after(store, ev.NodeFinished if kind == "at rest" else ev.NodeStarted, "loop#2")
    run = resumed(build(), broken)
    assert run.output == "left with 5"
    assert calls == ([3, 4] if kind == "at rest" else [2, 3, 4])


def test_c18_a_chain_goes_on_between_two_nodes() -> None:
    graph = fg.Graph("g")
    graph.add("a", lambda: 1)
    graph.add("b", lambda a: a + 1)
    graph.add("c", lambda b: b + 1)
    _, store = begun(graph)
    for length in range(1, len(store.read(RUN).rows)):
        broken = cut(store, RUN, length)
        assert loaded(broken).status is not SUCCEEDED, "never success with work left"
        assert resumed(graph, broken).output == 3


def test_c19_a_join_that_pauses_goes_on_as_it_would_have() -> None:
    async def join(ctx: fg.Context, a: int, b: fg.Maybe[int]) -> str:
        return f"{a} {b} {await ctx.ask('?')}"

    graph = fg.Graph("g")
    graph.add("a", lambda: 1)
    graph.add("b", lambda a: a, when="a > 1")
    graph.add("c", join)
    graph.add("after", lambda c: c.upper())
    run, store = begun(graph)
    assert run.status is PAUSED
    again = resumed(graph, store, {"c/ask": "yes"})
    assert again["after"] == "1 NONE YES" and called(again) == ["c", "c/ask", "after"]


async def asks(ctx: fg.Context, what: str) -> str:
    return str(await ctx.ask(f"May I {what}?"))


def test_c22_parallel_questions_are_told_apart_and_one_bare_answer_is_refused() -> None:
    async def turn(ctx: fg.Context) -> list[str]:
        return await ctx.gather(*[ctx.call(asks, {"what": what}, name="tool") for what in ("read", "write")])

    graph = fg.Graph("g")
    graph.add("turn", turn)
    run, store = begun(graph)
    first, second = [gate.path for gate in run.gates]
    assert (first, second) == ("turn/tool/ask", "turn/tool~2/ask")
    for bare in ("yes", True, ["yes", "no"]):
        with pytest.raises(fg.AnswerRefused, match=f"'{first}', '{second}'"):
            resumed(graph, store, bare)
    assert len(store.read(RUN).rows) == len(run.events), "nothing was executed"
    run = resumed(graph, store, {second: "no"})
    assert [gate.path for gate in run.gates] == [first]
    assert resumed(graph, store, {first: "yes"}).output == ["yes", "no"]


def test_c23_an_approval_is_for_what_was_approved() -> None:
    said: list[str] = []

    def model() -> str:
        said.append("AB"[len(said)])
        return said[-1]

    async def agent(ctx: fg.Context) -> str:
        wanted = await ctx.call(model)
        if await ctx.ask(f"run with {wanted}?", bool):
            return f"ran with {wanted}"
        return "refused"

    graph = fg.Graph("g")
    graph.add("agent", agent)
    _, store = begun(graph)
    run = resumed(graph, store, {"agent/ask": True})
    assert run.output == "ran with A" and said == ["A"], "the model is not asked again"
    # Were it asked again, and said B, then the approval would be asked for again.
    unasked = fg.fork(graph, RUN, at="agent/model", store=store, new_run_id="other")
    assert unasked.status is PAUSED
    assert [gate.question for gate in unasked.gates] == ["run with B?"]


def test_c24_answered_one_at_a_time_each_is_asked_once() -> None:
    calls: Counter[str] = Counter()

    def n1() -> int:
        calls["n1"] += 1
        return 1

    async def n2(ctx: fg.Context) -> list[str]:
        return [await ctx.ask("first?", key="first"), await ctx.ask("second?", key="second")]

    graph = fg.Graph("g")
    graph.add("n1", n1)
    graph.add("n2", n2)
    graph.add("n3", asks, values={"what": "go"})
    run, store = begun(graph)
    while run.status is PAUSED:
        gate = run.gates[-1]
        run = resumed(graph, store, {gate.path: gate.path})
    opened = Counter(event.path for event in run.events if isinstance(event, ev.GateOpened))
    assert opened == {"n2/first": 1, "n2/second": 1, "n3/ask": 1} and calls == {"n1": 1}
    assert (run["n2"], run["n3"]) == (["n2/first", "n2/second"], "n3/ask")


@pytest.mark.parametrize("how", ["interrupted", "killed"])
def test_c45_calls_that_were_cut_off_are_made_again_and_finished_ones_are_not(how: str) -> None:
    calls: list[int] = []

    def tool(number: int) -> int:
        calls.append(number)
        if how == "interrupted" and calls == [1, 2]:
            raise KeyboardInterrupt
        return number * 10

    async def turn(ctx: fg.Context) -> list[int]:
        return [await ctx.call(tool, {"number": number}) for number in (1, 2, 3)]

    graph, store = fg.Graph("g"), MemoryStore()
    graph.add("turn", turn)
    if how == "interrupted":
        with pytest.raises(KeyboardInterrupt):
            fg.run(graph, store=store, run_id=RUN)
        assert loaded(store).nodes["turn/tool~2"].status is fg.Status.CANCELLED, "never invented success"
    else:
        fg.run(graph, store=store, run_id=RUN)
        store = cut_after(store, ev.NodeStarted, "turn/tool~2")
    calls.clear()
    calls.append(0)
    assert resumed(graph, store).output == [10, 20, 30] and calls == [0, 2, 3]
