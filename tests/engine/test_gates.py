"""Gates: what people are asked, when a run pauses, what answers do, and what happens when nobody answers."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Annotated, Any

import anyio
import pytest
from pydantic import AfterValidator, BaseModel, SecretStr

import flowgraph as fg
from flowgraph import events as ev
from flowgraph.stores import MemoryStore
from flowgraph_nodes import LoopFlow
from tests.engine.stopping import RUN, called, loaded, on_a_jumping_clock

PAUSED, SUCCEEDED, FAILED = fg.Status.PAUSED, fg.Status.SUCCEEDED, fg.Status.FAILED


class Order(BaseModel):
    drink: str
    cups: int = 1


def begun(graph: fg.Graph, **options: Any) -> tuple[fg.Run, MemoryStore]:
    store = MemoryStore()
    return fg.run(graph, store=store, run_id=RUN, raise_on_failure=False, **options), store


def resumed(graph: fg.Graph, store: MemoryStore, answers: Any = None, **options: Any) -> fg.Run:
    return fg.resume(graph, RUN, store=store, answers=answers, raise_on_failure=False, **options)


# -- pausing


def test_other_branches_finish_before_the_pause_and_the_run_says_what_is_asked() -> None:
    graph = fg.Graph("g")
    graph.add("text", lambda: "tea")
    graph.add("gate", fg.Gate("Publish {text}?", bool))
    graph.add("below", lambda gate: gate)

    async def slow() -> int:
        await anyio.sleep(0.02)
        return 1

    graph.add("slow", slow)
    graph.add("after", lambda slow: slow + 1)
    graph.add("thread", lambda slow: slow + 2)
    run, store = begun(graph)
    assert run.status is PAUSED and (run["after"], run["thread"]) == (2, 3)
    assert [(g.path, g.question, g.schema["type"]) for g in run.gates] == [("gate", "Publish tea?", "boolean")]
    assert run.outcomes["gate"].status is fg.Status.WAITING and run.outcomes["below"].status is fg.Status.PENDING
    with pytest.raises(fg.RunPaused, match=r"gate: Publish tea\?"):
        print(run.output)
    assert loaded(store).gates == run.gates and store.read(RUN).head.status == "paused"
    again = resumed(graph, store)
    assert again.status is PAUSED and again.gates[0].opened == run.gates[0].opened
    done = resumed(graph, store, {"gate": True})
    assert done["below"] is True and set(called(done)) == {"gate", "below"}


async def asks(ctx: fg.Context, value: int = 0) -> str:
    return str(await ctx.ask(f"Which for {value}?"))


async def asks_beside(ctx: fg.Context) -> list[str]:
    async with ctx.background() as scope:
        beside = scope.start(ctx.call(asks))
        return [await ctx.ask("first?", key="first"), await beside]


def asks_in_a_thread(ctx: fg.SyncContext) -> list[Any]:
    return [ctx.ask("one?", key="one"), *ctx.gather(ctx.branch(asks), ctx.branch(asks))]


async def asks_many(ctx: fg.Context) -> list[str]:
    return await ctx.gather(*[ctx.ask("same?") for _ in range(3)])


def a_graph(node: Any = asks) -> fg.Graph:
    inner = fg.Graph("inner")
    inner.add("x", node)
    return inner


PLACES: dict[str, tuple[Any, list[str], Any]] = {
    "a gate": (fg.Gate("?"), ["node"], "1"),
    "a call": (asks, ["node/ask"], "1"),
    "a thread": (asks_in_a_thread, ["node/one", "node/asks/ask", "node/asks~2/ask"], ["1", "2", "3"]),
    "a gathering": (asks_many, ["node/ask", "node/ask~2", "node/ask~3"], ["1", "2", "3"]),
    "the background": (asks_beside, ["node/asks/ask", "node/first"], ["2", "1"]),
    "a graph": (a_graph(), ["node/x/ask"], "1"),
    "a graph in a graph": (a_graph(a_graph(fg.Gate("?"))), ["node/x/x"], "1"),
    "a loop": (LoopFlow(a_graph(), until="output == '2'", carry={}), ["node#0/x/ask", "node#1/x/ask"], "2"),
}


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("where", PLACES)
def test_people_are_asked_wherever_a_node_runs(where: str, at_once: bool) -> None:
    node, paths, output = PLACES[where]
    graph = fg.Graph("g")
    graph.add("node", node, timeout=None if where == "a gate" else 60)
    run, store = begun(graph, max_concurrency=1)
    answers, asked = dict(zip(paths, "123", strict=False)), list[str]()
    while run.status is PAUSED:
        asked += [gate.path for gate in run.gates if gate.path not in asked]
        open_ones = [gate.path for gate in reversed(run.gates)]
        given = open_ones if at_once else open_ones[:1]
        run = resumed(graph, store, {path: answers[path] for path in given}, max_concurrency=1)
    assert run.output == output and sorted(asked) == sorted(paths)
    opened = Counter(event.path for event in run.events if isinstance(event, ev.GateOpened))
    assert opened == dict.fromkeys(paths, 1), "each is asked once"


def test_gates_of_map_items_are_told_apart() -> None:
    graph = fg.Graph("g")
    graph.add("numbers", lambda: [1, 2, 3])
    graph.map("items", asks, each={"value": "numbers"}, max_concurrency=2)
    run, store = begun(graph)
    assert [gate.path for gate in run.gates] == ["items[0]/ask", "items[1]/ask"]
    run = resumed(graph, store, {"items[1]/ask": "b"})
    assert [gate.path for gate in run.gates] == ["items[0]/ask", "items[2]/ask"]
    run = resumed(graph, store, {"items[0]/ask": "a", "items[2]/ask": "c"})
    assert run.output == ["a", "b", "c"]


def test_a_gate_can_be_a_fallback() -> None:
    def fails() -> str:
        raise OSError("no")

    graph = fg.Graph("g")
    graph.add("node", fails, fallback=fg.Gate("What instead?"))
    run, store = begun(graph)
    assert [gate.path for gate in run.gates] == ["node/fallback"]
    done = resumed(graph, store, {"node/fallback": "this"})
    assert done.output == "this" and called(done) == ["node/fallback"]


@pytest.mark.parametrize("busy", ["background", "thread", "retry", "slot", "sleep", "block"])
def test_nothing_pauses_while_something_is_at_work(busy: str) -> None:
    done: list[str] = []

    async def works() -> None:
        for _ in range(30):
            await anyio.lowlevel.checkpoint()
        await anyio.sleep(0.02)
        done.append("works")

    async def tries(ctx: fg.Context) -> None:
        if ctx.attempt == 1:
            raise OSError("no")
        done.append("tries")

    async def background(ctx: fg.Context) -> None:
        async with ctx.background() as scope:
            scope.start(ctx.call(works))
            await ctx.ask("in the block?")

    async def block(ctx: fg.Context) -> None:
        async with ctx.background() as scope:
            scope.start(ctx.ask("beside?"))
            await works()

    async def sleeps(ctx: fg.Context) -> None:
        await ctx.sleep(0.02)
        done.append("slept")

    def thread() -> None:
        import time

        time.sleep(0.05)
        done.append("thread")

    graph = fg.Graph("g")
    graph.add("gate", fg.Gate("?"))
    if busy == "slot":
        graph.add("first", works)
        graph.add("second", works)
    elif busy == "retry":
        graph.add("tries", tries, retry=fg.Retry(attempts=2, delay=0.02))
    else:
        graph.add("node", {"background": background, "thread": thread, "sleep": sleeps, "block": block}[busy])
    run, _ = begun(graph, max_concurrency=1)
    assert run.status is PAUSED
    assert len(done) == (2 if busy == "slot" else 1)
    assert sum(isinstance(event, ev.RunPaused) for event in run.events) == 1


@pytest.mark.parametrize("swallows", [False, True])
def test_a_pause_cancels_bodies_for_their_clean_up_and_records_nothing_of_it(swallows: bool) -> None:
    seen: list[str] = []

    async def body(ctx: fg.Context) -> str:
        try:
            answer = str(await ctx.ask("?"))
        except anyio.get_cancelled_exc_class():
            seen.append("cleaned")
            if not swallows:
                raise
            return "made up"
        return answer

    graph = fg.Graph("g")
    graph.add("body", body)
    graph.add("below", lambda body: seen.append(body))
    run, store = begun(graph)
    assert run.status is PAUSED and seen == ["cleaned"]
    assert not [event for event in run.events if isinstance(event, ev.NodeFinished)]
    run = resumed(graph, store, {"body/ask": "real"})
    assert run["body"] == "real" and seen == ["cleaned", "real"]


# -- answers


def test_wrong_answers_are_refused_and_the_gates_stay_open() -> None:
    graph = fg.Graph("g")
    graph.add("one", fg.Gate("One?", int))
    graph.add("other", fg.Gate("Other?", Order))
    _, store = begun(graph)
    length = len(store.read(RUN).rows)
    for answers, words in [
        ({"one": "many"}, "One?"),
        ({"one": 1, "other": {"cups": 2}}, "drink"),
        ({"nowhere": 1}, r"no gate 'nowhere'.*open are: 'one', 'other'"),
        (True, "'one', 'other'"),
        ("tea", "'one', 'other'"),
    ]:
        with pytest.raises(fg.AnswerRefused, match=words):
            resumed(graph, store, answers)
    with pytest.raises(fg.AnswerRefused, match=r"One\?"):
        fg.answer(RUN, "one", "many", store=store)
    assert len(store.read(RUN).rows) == length and store.read(RUN).head.owner == ""
    fg.answer(RUN, "other", {"drink": "tea"}, store=store)
    with pytest.raises(fg.AnswerRefused, match="it was answered"):
        fg.answer(RUN, "other", {"drink": "tea"}, store=store)
    run = resumed(graph, store, {"one": 3})
    assert (run["one"], run["other"]) == (3, Order(drink="tea"))


def test_answers_may_be_objects_of_the_type() -> None:
    graph = fg.Graph("g")
    graph.add("gate", fg.Gate("?", Order))
    graph.add("span", fg.Gate("?", timedelta), after="gate")
    _, store = begun(graph)
    assert resumed(graph, store, {"gate": Order(drink="tea")})["gate"] == Order(drink="tea")
    assert resumed(graph, store, {"span": timedelta(days=1)})["span"] == timedelta(days=1)


def test_early_answers_are_taken_when_they_are_asked_for() -> None:
    graph = fg.Graph("g")
    graph.add("gate", fg.Gate("?", int))
    graph.add("asks", asks, bind={"value": "gate"})
    run, _ = begun(graph, answers={"gate": 3, "asks/ask": "b"})
    assert run.output == "b"
    wrong, _ = begun(graph, answers={"gate": "many", "asks/ask": "b"})
    assert [gate.path for gate in wrong.gates] == ["gate"], "one that does not fit leaves it open"


def test_a_question_that_changed_is_asked_again_and_an_answered_one_never() -> None:
    words = ["first"]

    async def body(ctx: fg.Context) -> list[str]:
        kept = await ctx.ask("kept?", key="kept")
        return [kept, await ctx.ask(f"{words[-1]}?", key="other"), await ctx.ask("last?", key="last")]

    graph = fg.Graph("g")
    graph.add("body", body)
    _, store = begun(graph)
    resumed(graph, store, {"body/kept": "k"})
    run = resumed(graph, store, {"body/other": "o"})
    assert [gate.path for gate in run.gates] == ["body/last"]
    words.append("second")
    run = resumed(graph, store)
    assert [(gate.path, gate.question) for gate in run.gates] == [("body/other", "second?")]
    assert "not called any more" in str(run.nodes["body/last"].reason)
    run = resumed(graph, store, {"body/other": "p"})
    assert [gate.path for gate in run.gates] == ["body/last"]
    run = resumed(graph, store, {"body/last": "l"})
    assert run.output == ["k", "p", "l"]


@pytest.mark.parametrize("given", ["marker-77", SecretStr("marker-77")])
def test_a_secret_answer_is_not_stored(given: Any) -> None:
    graph = fg.Graph("g")
    graph.add("gate", fg.Gate("Key?", SecretStr))
    graph.add("use", lambda gate: len(gate.get_secret_value()))
    _, store = begun(graph)
    with pytest.raises(fg.AnswerRefused, match="wants a secret"):
        fg.answer(RUN, "gate", "marker-77", store=store)
    run = resumed(graph, store, {"gate": given})
    assert run["use"] == 9 and "marker-77" not in str(store.read(RUN)) + str(run.events)


def test_what_the_schema_cannot_tell_is_asked_again() -> None:
    def even(value: int) -> int:
        if value % 2:
            raise ValueError("an even number is wanted")
        return value

    graph = fg.Graph("g")
    graph.add("gate", fg.Gate("?", Annotated[int, AfterValidator(even)]))
    _, store = begun(graph)
    run = resumed(graph, store, {"gate": 3})
    assert [gate.path for gate in run.gates] == ["gate"]
    assert resumed(graph, store, {"gate": 4}).output == 4


# -- time


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_gate_whose_time_is_up_takes_its_default_or_fails(backend: str) -> None:
    graph = fg.Graph("g")
    graph.add("by_default", fg.Gate("?", int, timeout=timedelta(days=1), default=7))
    graph.add("failing", fg.Gate("Anyone?", timeout=timedelta(days=2)))
    graph.add("unhurried", asks, timeout=30)

    async def main() -> None:
        store = MemoryStore()
        async with fg.start(graph, store=store, run_id=RUN, wait=True, limits=fg.Limits(run_timeout=60)) as live:
            await anyio.sleep(timedelta(days=3).total_seconds())
            assert live.record.outcomes["by_default"].value == 7
            assert isinstance(live.record.outcomes["failing"].error, fg.NodeTimeout)
            assert live.record.status is fg.Status.RUNNING
            with pytest.raises(fg.AnswerRefused, match="no gate 'by_default' is open"):
                live.answer("by_default", 1)
            live.answer("unhurried/ask", "now")
            run = await live.result(raise_on_failure=False)
        assert run["unhurried"] == "now" and list(run.errors) == ["failing"]

    on_a_jumping_clock(backend, main)


def test_what_is_due_is_fired_by_a_resume(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    graph = fg.Graph("g")
    graph.add("by_default", fg.Gate("?", int, timeout=timedelta(days=1), default=7))
    graph.add("failing", asks_in_time)
    run, store = begun(graph)
    now = time.time()
    assert run.status is PAUSED and store.read(RUN).head.due == min(gate.due or 0 for gate in run.gates)
    monkeypatch.setattr(time, "time", lambda: now + 25 * 3600)
    run = resumed(graph, store)
    assert run["by_default"] == 7 and [gate.path for gate in run.gates] == ["failing/ask"]
    monkeypatch.setattr(time, "time", lambda: now + 49 * 3600)
    run = resumed(graph, store)
    assert run.status is FAILED and isinstance(run.errors["failing"], fg.NodeTimeout)


async def asks_in_time(ctx: fg.Context) -> str:
    return str(await ctx.ask("Anyone?", timeout=timedelta(days=2)))
