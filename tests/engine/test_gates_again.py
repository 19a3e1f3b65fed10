"""Gates and forks over and over: scripts that are run again, questions whose time was up, copies that are refused."""

from __future__ import annotations

import anyio
import pytest

import flowgraph as fg
from flowgraph.stores import MemoryStore
from flowgraph.testing import run_jumping


def two_gates() -> fg.Graph:
    graph = fg.Graph("g")
    graph.add("first", fg.Gate("First?", bool))
    graph.add("second", fg.Gate("Second?", int), after="first")
    return graph


def test_a_script_that_is_run_again_with_its_answers_goes_on() -> None:
    store, answers = MemoryStore(), {"first": True}
    for _ in range(3):
        run = fg.run(two_gates(), store=store, run_id="r", answers=answers)
        assert [gate.path for gate in run.gates] == ["second"]
    assert fg.run(two_gates(), store=store, run_id="r", answers={**answers, "second": 2})["second"] == 2
    assert fg.run(two_gates(), store=store, run_id="r", answers={**answers, "second": 2})["second"] == 2


def test_an_answer_may_be_given_for_a_gate_that_opens_later() -> None:
    store = MemoryStore()
    run = fg.run(two_gates(), store=store)
    run = fg.resume(two_gates(), run.id, store=store, answers={"first": True, "second": 5})
    assert run["second"] == 5


@pytest.mark.parametrize(("path", "value"), [("first", False), ("third", 1), ("first/x", 1)])
def test_another_answer_to_an_answered_gate_and_one_to_no_gate_are_refused(path: str, value: object) -> None:
    store = MemoryStore()
    run = fg.run(two_gates(), store=store, answers={"first": True})
    with pytest.raises(fg.AnswerRefused, match=f"no gate '{path}'.*open are: 'second'"):
        fg.resume(two_gates(), run.id, store=store, answers={path: value})


def test_a_gate_that_failed_since_its_time_was_up_asks_again_on_a_resume() -> None:
    graph, store = fg.Graph("g"), MemoryStore()
    graph.add("gate", fg.Gate("Well?", bool, timeout=60))

    async def wait() -> fg.Run:
        async with fg.start(graph, store=store, wait=True) as live:
            return await live.result(raise_on_failure=False)

    async def main() -> fg.Run:
        return await wait()

    run = run_main_jumping(main)
    assert isinstance(run.errors["gate"], fg.NodeTimeout)
    run = fg.resume(graph, run.id, store=store)
    assert (run.status, [gate.question for gate in run.gates]) == (fg.Status.PAUSED, ["Well?"])
    assert run.gates[0].due is not None
    assert fg.resume(graph, run.id, store=store, answers={"gate": True})["gate"] is True


def run_main_jumping(main: object) -> fg.Run:
    from trio.testing import MockClock

    return anyio.run(main, backend="trio", backend_options={"clock": MockClock(autojump_threshold=0)})  # type: ignore[arg-type]


def test_a_fork_that_is_refused_leaves_no_copy() -> None:
    graph, store = fg.Graph("g"), MemoryStore()
    graph.add("n", lambda: 1)
    run = fg.run(graph, store=store)
    other = fg.Graph("g")
    other.add("n", lambda: 1)
    other.add("more", lambda n: n)
    with pytest.raises(fg.GraphChanged):
        fg.fork(other, run.id, at="n", store=store)
    assert [head.run_id for head in fg.runs(store)] == [run.id]


def test_a_run_cancelled_while_it_waits_to_try_again_does_not_try_the_failed_attempt_once_more() -> None:
    attempts: list[int] = []
    store, graph = MemoryStore(), fg.Graph("g")

    @graph.node(retry=fg.Retry(attempts=2, delay=100, max_delay=100))
    async def n(ctx: fg.Context) -> int:
        attempts.append(ctx.attempt)
        if ctx.attempt == 1:
            raise OSError("no")
        return ctx.attempt

    async def cut_short() -> str:
        async with fg.start(graph, store=store) as live:
            async for event in live:
                if type(event).__name__ == "NodeRetrying":
                    live.cancel()
            return live.record.id

    run_id = anyio.run(cut_short)
    run = run_jumping(graph, store=store, run_id=run_id)
    assert (run["n"], attempts) == (2, [1, 2])
