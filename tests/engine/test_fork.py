"""Forks: a new run from a node of an old one, which stays as it is."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import flowgraph as fg
from flowgraph.stores import MemoryStore
from flowgraph_nodes import LoopFlow
from tests.engine.stopping import RUN, called, loaded

CALLS: Counter[str] = Counter()


def work(value: int = 1) -> int:
    CALLS["work"] += 1
    return value * 2


def child(value: int) -> int:
    return value + 1


async def caller(ctx: fg.Context, value: int) -> int:
    for _ in range(3):
        value = await ctx.call(child, {"value": value})
    return value


def team() -> fg.Graph:
    inner = fg.Graph("team")
    inner.input("value", int)
    inner.add("a", work, bind={"value": "value"})
    inner.add("b", work, bind={"value": "a"})
    inner.add("c", work, bind={"value": "value"})
    inner.output("b")
    return inner


def pipeline() -> fg.Graph:
    graph = fg.Graph("g")
    graph.add("start", work)
    graph.add("team", team(), bind={"value": "start"})
    graph.add("listed", lambda team: [team, 1, 2])
    graph.map("many", team(), each={"value": "listed"})
    graph.add("caller", caller, bind={"value": "start"})
    graph.add("loop", LoopFlow(child, until="output > 4"), bind={"value": "start"})
    graph.map("plain", child, each={"value": "listed"})
    graph.add("rounds", LoopFlow(team(), until="output > 30"), bind={"value": "start"})
    graph.output("end")
    graph.add("end", lambda many, caller, loop: [many, caller, loop])
    return graph


BELOW_TEAM = [
    "listed",
    "plain",
    *(f"plain[{n}]" for n in range(3)),
    "many",
    *(f"many[{n}]{name}" for n in range(3) for name in ("", "/a", "/b", "/c")),
    "end",
]
FORKS = {
    "end": ["end"],
    "team": ["team", "team/a", "team/b", "team/c", *BELOW_TEAM],
    "team/b": ["team", "team/b", *BELOW_TEAM],
    "team/c": ["team", "team/c", *BELOW_TEAM],
    "many[1]": ["many", "many[1]", "many[1]/a", "many[1]/b", "many[1]/c", "end"],
    "many[1]/b": ["many", "many[1]", "many[1]/b", "end"],
    "plain[1]": ["plain", "plain[1]"],
    "caller/child~2": ["caller", "caller/child~2", "caller/child~3", "end"],
    "loop#1": ["loop", "loop#1", "loop#2", "end"],
    "rounds#0/a": ["rounds", "rounds#0", "rounds#0/a", "rounds#0/b", "rounds#1", *(f"rounds#1/{n}" for n in "abc")],
}
"""What runs again by which fork, at most."""


@pytest.mark.parametrize("at", FORKS)
def test_a_fork_runs_the_node_and_what_depends_on_it(at: str) -> None:
    store, graph = MemoryStore(), pipeline()
    run = fg.run(graph, store=store, run_id=RUN)
    before = store.read(RUN)
    fork = fg.fork(pipeline(), RUN, at=at, store=store, new_run_id="other")
    assert store.read(RUN) == before, "the old run is as it was"
    assert (fork.id, fork.forked_from, fork.output) == ("other", RUN, run.output)
    head = next(head for head in store.heads() if head.run_id == "other")
    assert (head.forked_from, head.status, head.owner) == (RUN, "succeeded", "")
    again = called(fork)
    assert at in again and not set(again) - set(FORKS[at])
    assert len(again) == len(set(again))
    assert str(fg.load_run("other", store=store)) == str(fork)


def test_a_fork_tries_something_else() -> None:
    store, graph = MemoryStore(), pipeline()
    run = fg.run(graph, store=store, run_id=RUN)
    fork = fg.fork(graph, RUN, at="team/b", store=store, replace={"team": doubled})
    assert fork["team"] == 40 and run["team"] == 8
    assert fork["listed"] == [40, 1, 2] and loaded(store)["listed"] == [8, 1, 2]
    other = fg.fork(graph, RUN, at="end", store=store, replace={"end": lambda many: "else"})
    assert other.output == "else" and called(other) == ["end"]


def doubled(value: int) -> int:
    return value * 20


def test_a_failed_run_can_be_forked_before_its_failure() -> None:
    broken = [True]

    def judge(value: int) -> str:
        if broken:
            raise OSError("no")
        return f"fine with {value}"

    graph, store = fg.Graph("g"), MemoryStore()
    source = graph.add("source", work)
    graph.add("judge", judge, bind={"value": "source"})
    fg.run(graph, store=store, run_id=RUN, raise_on_failure=False)
    broken.clear()
    fork = fg.fork(graph, RUN, at=source, store=store, replace={"source": lambda: 7})
    assert fork.output == "fine with 7" and called(fork) == ["source", "judge"]
    assert loaded(store).status is fg.Status.FAILED


def test_a_fork_of_a_run_that_waits_asks_again() -> None:
    graph, store = fg.Graph("g"), MemoryStore()
    graph.add("gate", fg.Gate("?"))
    graph.add("other", fg.Gate("other?"))
    graph.add("end", lambda gate, other: gate + other)
    fg.run(graph, store=store, run_id=RUN)
    fg.answer(RUN, "gate", "a", store=store)
    fork = fg.fork(graph, RUN, at="other", store=store, new_run_id="other")
    assert [gate.path for gate in fork.gates] == ["other"]
    fork = fg.fork(graph, RUN, at="gate", store=store, new_run_id="third", answers={"other": "b"})
    assert [gate.path for gate in fork.gates] == ["gate"]
    assert fg.resume(graph, "third", store=store, answers={"gate": "x"}).output == "xb"
    assert [gate.path for gate in loaded(store).gates] == ["other"]


def test_forks_that_cannot_be_are_refused() -> None:
    graph, store = pipeline(), MemoryStore()
    fg.run(graph, store=store, run_id=RUN)
    for options, kind, words in [
        ({"at": "nowhere"}, fg.FlowgraphError, r"no node run 'nowhere' to fork at.*'start'"),
        ({"at": "many[9]"}, fg.FlowgraphError, r"no node run 'many\[9\]'"),
        ({"at": "end", "new_run_id": RUN}, fg.StoreError, "there is a run"),
        ({"at": "end", "replace": {"nowhere": 1}}, fg.GraphError, "nowhere"),
    ]:
        given: dict[str, Any] = {"store": store, **options}
        with pytest.raises(kind, match=words):
            fg.fork(graph, RUN, **given)
    with pytest.raises(fg.RunNotFound):
        fg.fork(graph, "unknown", at="end", store=store)
    assert [head.run_id for head in store.heads()] == [RUN], "nothing is left of them"
