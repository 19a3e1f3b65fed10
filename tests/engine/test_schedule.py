"""The scheduler, fed with events in any order: no loop, no clock, no task.

First the promises, on drawn graphs in drawn orders of arrival; then, by name, the shapes that broke other systems.
FLOWGRAPH_SOAK=1 draws twenty times as many.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections import Counter
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgraph import rules, schedule
from flowgraph.commands import Answered, Ask, Decide, Ended, FallBack, Question, Settle, Sleep, Start, Stopped, Woke
from flowgraph.entry import END
from flowgraph.errors import InternalError
from flowgraph.graph import Graph
from flowgraph.node import Kind
from flowgraph.outcome import Reason, Status
from flowgraph.plan import plan_of
from flowgraph.policy import Join, Retry
from flowgraph.schedule import Schedule
from tests.engine.reference import REASONS, Reference, Script
from tests.engine.strategies import Player, Story, add, examples, orders, scripted, sketch, stories

SUCCEEDED, FAILED, SKIPPED = Status.SUCCEEDED, Status.FAILED, Status.SKIPPED
UPSTREAM_FAILED, CANCELLED, PENDING = Status.UPSTREAM_FAILED, Status.CANCELLED, Status.PENDING
OLDEST: list[int] = []
YOUNGEST = [-1] * 200
ANY_ORDER = st.lists(orders(), min_size=1, max_size=3)
QUORUMS = (Join.ALL, Join.ALL, Join.ANY, Join.at_least(2), Join.at_least(3), Join.DONE)


# -- promises


@examples(400)
@given(story=stories(), drawn=ANY_ORDER)
def test_outcomes_and_reasons_are_those_of_the_rules_in_any_order(story: Story, drawn: list[list[int]]) -> None:
    reference = Reference(*story)
    for order in (OLDEST, YOUNGEST, *drawn):
        player = Player(story).play(order)
        assert player.ends == reference.ends
        assert player.unhandled == reference.unhandled
        assert player.schedule.verdict().status is (FAILED if reference.unhandled else SUCCEEDED)


@examples(150)
@given(story=stories(QUORUMS), drawn=ANY_ORDER)
def test_every_node_ends_once_whatever_the_joins(story: Story, drawn: list[list[int]]) -> None:
    for order in (OLDEST, YOUNGEST, *drawn):
        player = Player(story).play(order)
        assert player.ends.keys() == story.graph.entries.keys()
        assert player.schedule.done
        for index, name in enumerate(player.plan.names):
            assert player.schedule.attempt(index) == player.started.count(name) <= player.plan.nodes[index].attempts
            assert (player.ends[name].reason is None) == (player.ends[name].status is SUCCEEDED)


@examples(100)
@given(story=stories(QUORUMS), order=orders())
def test_the_same_events_give_the_same_commands(story: Story, order: list[int]) -> None:
    player = Player(story).play(order)
    again = Schedule(player.plan.nodes, player.plan.choices)
    assert [again.start(), *map(again.feed, player.events)] == player.commands


@examples(100)
@given(story=stories(QUORUMS), order=orders())
def test_what_comes_late_changes_nothing(story: Story, order: list[int]) -> None:
    player, picks = Player(story), iter(order)
    while player.pending:
        player.step(next(picks, 0))
        last = player.events[-1]
        node = last.ask.node if isinstance(last, Answered) else getattr(last, "node", 0)
        if player.schedule.statuses[node].final:
            assert player.schedule.feed(last) == []
            assert player.schedule.feed(Ended(node, SUCCEEDED)) == []
            assert player.schedule.feed(Woke(node)) == []
    before = list(player.schedule.statuses), player.schedule.verdict()
    assert all(player.schedule.feed(event) == [] for event in [*player.events, Stopped("too late")])
    assert (player.schedule.statuses, player.schedule.verdict()) == before


@examples(150)
@given(story=stories(QUORUMS), order=orders(), after=st.integers(0, 30))
def test_stopping_leaves_nothing_open(story: Story, order: list[int], after: int) -> None:
    player = Player(story)
    for pick in (order + [0] * after)[:after]:
        if player.pending:
            player.step(pick)
    before, works = dict(player.ends), list(player.pending)
    commands = player.feed(Stopped("somebody said so"))
    assert all(isinstance(command, Settle) and command.status is CANCELLED for command in commands)
    assert player.ends.items() >= before.items()
    assert player.ends.keys() == story.graph.entries.keys()
    assert player.schedule.done
    assert player.schedule.verdict().status in (SUCCEEDED, FAILED)
    assert all(player.schedule.feed(player.answer(work)) == [] for work in works)


@examples(100)
@given(story=stories(), data=st.data())
def test_the_order_of_adding_does_not_matter(story: Story, data: st.DataObject) -> None:
    """C10. (The reasons may name another chooser: these have no order but that of adding.)"""
    graph = Graph("shuffled")
    graph.inputs, graph.choices = story.graph.inputs, story.graph.choices
    names = data.draw(st.permutations(list(story.graph.entries)))
    graph.entries = {name: story.graph.entries[name] for name in names}
    first, second = Player(story).play(), Player(Story(graph, story.script)).play(data.draw(orders()))
    assert {name: end.status for name, end in second.ends.items()} == {n: end.status for n, end in first.ends.items()}
    assert sorted(second.unhandled) == sorted(first.unhandled)


@pytest.mark.parametrize("module", [rules, schedule], ids=lambda module: module.__name__)
def test_no_set_decides(module: object) -> None:
    """Nothing can be iterated in the order of a hash where there is nothing hashed."""
    tree = ast.parse(Path(str(getattr(module, "__file__", ""))).read_text(encoding="utf-8"))
    calls = [node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Set | ast.SetComp)]
    assert not {"set", "frozenset"} & {*calls}


PRINT_COMMANDS = """
from flowgraph.entry import END
from tests.engine.strategies import Player, scripted, sketch
nodes = {"a": "", "b": "", "c": "b?", "d": "a b? c? (e)", "e": "", "f": "d! c!", "g": "f e? d?", "h": "a"}
graph = sketch(nodes, [("a", {"x": ["b", "h"], "y": "c", "z": END}), ("e", {"x": ["g", "f"], "y": []})])
print(Player(scripted(graph, a="x", e="y")).play([1, -1, 2, 0, -2]).commands)
"""


def test_hashing_does_not_matter() -> None:
    root = Path(__file__).parents[2]
    said = [
        subprocess.run(
            [sys.executable, "-c", PRINT_COMMANDS],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([str(root), str(root / "nodes")])},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert "Settle" in said[0]


def test_a_stall_is_an_internal_error() -> None:
    plan = plan_of(sketch({"a": "", "b": "a c", "c": "b"}))
    player = Schedule(plan.nodes, plan.choices)
    assert player.start() == [Start(0, 1)]
    player.feed(Ended(0, SUCCEEDED))
    with pytest.raises(InternalError, match="b, c"):
        player.verdict()


def test_a_run_is_not_done_while_a_choice_is_open() -> None:
    """A choice without targets decides about no node, and yet an unknown label must fail the run."""
    player = Player(scripted(sketch({"a": ""}, [("a", {"stop": END})]), a="nobody knows"))
    player.step()
    assert player.ends["a"].status is SUCCEEDED
    with pytest.raises(InternalError, match="a"):
        player.schedule.verdict()
    player.step()
    assert player.schedule.done
    assert player.unhandled == ["a"]


# -- joins


@pytest.mark.parametrize("missing", ["a", "b", "c"])
@pytest.mark.parametrize(
    ("mark", "end", "status"),
    [("?", SKIPPED, SUCCEEDED), ("!", SKIPPED, SUCCEEDED), ("!", FAILED, SUCCEEDED), ("?", FAILED, UPSTREAM_FAILED)],
)
def test_one_of_several_parents_has_no_output(missing: str, mark: str, end: Status, status: Status) -> None:
    """C02."""
    story = scripted(sketch({"a": "", "b": "", "c": "", "d": f"a{mark} b{mark} c{mark}"}), **{missing: end})
    for order in permutations("abc"):
        player = Player(story)
        player.end(*order, "d")
        assert player.ends["d"].status is status
        assert [name for name in "abc" if player.ends[name].status is not SUCCEEDED] == [missing]


@pytest.mark.parametrize("first", ["ok", "bad"])
def test_a_failure_beside_a_success_keeps_both(first: str) -> None:
    """C04."""
    player = Player(scripted(sketch({"s1": "", "ok": "s1", "bad": "s1", "s2": "ok bad"}), bad=FAILED))
    player.end("s1", first, "ok", "bad")
    assert {name: end.status for name, end in player.ends.items()} == {
        "s1": SUCCEEDED,
        "ok": SUCCEEDED,
        "bad": FAILED,
        "s2": UPSTREAM_FAILED,
    }
    assert player.started == ["s1", "ok", "bad"]
    assert player.unhandled == ["bad"]


@pytest.mark.parametrize(("left", "right"), list(product(range(1, 5), repeat=2)))
@pytest.mark.parametrize("slow", ["a", "b"])
def test_branches_of_different_length_join_once(left: int, right: int, slow: str) -> None:
    """C06."""
    sides = {side: [f"{side}{n}" for n in range(1, length + 1)] for side, length in (("a", left), ("b", right))}
    chains = {
        name: "start" if name[1] == "1" else f"{name[0]}{int(name[1]) - 1}" for side in sides.values() for name in side
    }
    player = Player(scripted(sketch({"start": "", **chains, "join": f"a{left} b{right}"})))
    player.end("start")
    for name in [*sides["b" if slow == "a" else "a"], *sides[slow]]:
        assert "join" not in player.started
        player.end(name)
    player.end("join")
    assert player.started.count("join") == 1
    assert player.started[-1] == "join"


@pytest.mark.parametrize("join", [Join.ALL, Join.ANY], ids=str)
@pytest.mark.parametrize(
    ("end", "status"), [(SUCCEEDED, SUCCEEDED), (FAILED, UPSTREAM_FAILED), (SKIPPED, SKIPPED)], ids=str
)
def test_a_skipped_parent_does_not_decide_for_one_that_runs(join: Join, end: Status, status: Status) -> None:
    """C07."""
    graph = sketch({"p1": "", "p2": "", "j": "p1? p2?"}, when={"p1": "topic"}, join={"j": join})
    player = Player(scripted(graph, p1=Script(when=False), p2=end))
    player.end("p1")
    assert player.ends["p1"].status is SKIPPED
    assert player.status("j") is PENDING
    player.end("p2", "j")
    assert player.ends["j"].status is status
    assert player.started.count("j") == (status is SUCCEEDED)


def test_children_are_spawned_each_once_and_none_is_no_stall() -> None:
    """C08: a map over three items, and over none, each in a scope of its own."""
    scope = Schedule()
    starts = [scope.spawn(f"f[{item}]") for item in range(3)]
    assert starts == [(item, [Start(item, 1)]) for item in range(3)]
    for item in (2, 0, 1):
        assert not scope.done
        assert scope.feed(Ended(item, SUCCEEDED)) == [Settle(item, SUCCEEDED, None)]
    assert scope.done
    empty = Schedule()
    assert empty.start() == []
    assert empty.done
    assert empty.verdict().status is SUCCEEDED


def test_a_skipped_branch_does_not_stop_the_outer_join() -> None:
    """C08: two mapped branches, one of which says that it had nothing to do."""
    player = Player(scripted(sketch({"m1": "", "m2": "", "s1": "m1", "s2": "m2", "sum": "s1? s2?"}), m1=SKIPPED))
    player.play(YOUNGEST)
    assert player.started.count("sum") == 1
    assert player.ends["s1"].status is SKIPPED


@pytest.mark.parametrize("order", list(permutations("ab")), ids="".join)
@pytest.mark.parametrize(("mark", "status"), [("", SKIPPED), ("?", SUCCEEDED)], ids=["all", "any"])
def test_a_false_edge_is_not_forgotten(order: tuple[str, ...], mark: str, status: Status) -> None:
    """C09: the edge's condition is a node of its own."""
    graph = sketch({"a": "", "b": "", "gate": "a", "c": f"gate{mark} b{mark}"}, when={"gate": "a"})
    player = Player(scripted(graph, gate=Script(when=False)))
    player.end(*order[:1], *["gate"] * (order[0] == "a"), *order[1:], "gate", "c")
    assert player.ends["c"].status is status
    assert player.started.count("c") == (status is SUCCEEDED)


@pytest.mark.parametrize("order", list(permutations("ab")), ids="".join)
def test_a_choice_not_taken_is_not_forgotten(order: tuple[str, ...]) -> None:
    """C09: with a choice."""
    player = Player(scripted(sketch({"a": "", "b": "", "c": "b"}, [("a", {"yes": "c", "no": END})]), a="no"))
    player.end(*order)
    assert player.ends["c"].status is SKIPPED


@pytest.mark.parametrize("names", list(permutations(["first", "second", "third"])), ids="-".join)
def test_a_parameter_with_a_default_waits_for_what_it_is_bound_to(names: tuple[str, ...]) -> None:
    """C10."""
    reads = {"third": {"a": Kind.REQUIRED, "b": Kind.DEFAULT}}
    bind = {"third": {"a": "first", "b": "second"}}
    graph = Graph("wired")
    for name in names:
        add(graph, name, reads=reads.get(name, {}), bind=bind.get(name, {}))
    player = Player(scripted(graph))
    player.end("first")
    assert "third" not in player.started
    player.end("second", "third")
    assert player.ends["third"].status is SUCCEEDED


def test_two_loops_and_a_branch_join_once() -> None:
    """C42: loops are nodes, their rounds are children in a scope of their own; nothing loops back over an edge."""
    player = Player(scripted(sketch({"near": "", "l1": "near", "l2": "near", "w": "", "j": "l1 l2 w"})))
    player.end("w", "near")
    scopes = {"l1": Schedule(), "l2": Schedule()}
    for number, name in enumerate(["l1", "l2", "l2", "l1", "l1"]):
        index, _ = scopes[name].spawn(f"{name}#{number}")
        scopes[name].feed(Ended(index, SUCCEEDED))
        assert scopes[name].done
        assert "j" not in player.started
    player.end("l2", "l1", "j")
    assert Counter(player.started) == Counter(["near", "l1", "l2", "w", "j"])


def test_one_plan_serves_many_runs_each_with_its_own_answers() -> None:
    """C49 and C05: a condition is asked in each run, and no run knows of another."""
    graph = sketch({"a": "", "b": "a", "c": "b?"}, when={"b": "a"}, needs={"c": ()})
    yes, no = (scripted(graph, b=Script(when=verdict)) for verdict in (True, False))
    players = [Player(story) for story in (yes, no, yes)]
    assert len({id(player.plan) for player in players}) == 1
    while any(player.pending for player in players):
        for player in players:
            if player.pending:
                player.step()
    assert [player.ends["b"].status for player in players] == [SUCCEEDED, SKIPPED, SUCCEEDED]
    assert [player.ends["c"].status for player in players] == [SUCCEEDED] * 3


@pytest.mark.parametrize(("label", "runs"), [("one", "b"), ("two", "c"), ("both", "bc"), ("none", "")])
def test_either_or_then_rejoin(label: str, runs: str) -> None:
    choose = ("a", {"one": "b", "two": "c", "both": ["b", "c"], "none": []})
    for order in (OLDEST, YOUNGEST):
        player = Player(scripted(sketch({"a": "", "b": "a", "c": "a", "d": "b? c?"}, [choose]), a=label)).play(order)
        assert sorted(player.started) == ["a", *runs, "d"]
        assert player.unhandled == []
        (decided,) = player.decided
        assert decided == Decide(0, "choice", label, tuple("abc".index(name) for name in runs))


# -- quorums


@pytest.mark.parametrize("order", list(permutations("pqr")), ids="".join)
@pytest.mark.parametrize("join", [Join.ANY, Join.at_least(2), Join.at_least(3)], ids=str)
def test_a_join_starts_at_its_quorum(join: Join, order: tuple[str, ...]) -> None:
    player = Player(scripted(sketch({"p": "", "q": "", "r": "", "j": "p? q? r?"}, join={"j": join})))
    assert join.quorum
    for number, name in enumerate(order, 1):
        player.end(name)
        assert player.started.count("j") == (number >= join.quorum)
    player.end("j")
    assert player.started.count("j") == 1


@pytest.mark.parametrize("order", list(permutations("pq")), ids="".join)
@pytest.mark.parametrize(
    ("ends", "status"),
    [((FAILED, SKIPPED), UPSTREAM_FAILED), ((SKIPPED, SKIPPED), SKIPPED), ((CANCELLED, FAILED), UPSTREAM_FAILED)],
)
def test_an_impossible_quorum_is_decided_at_once(
    order: tuple[str, ...], ends: tuple[Status, Status], status: Status
) -> None:
    graph = sketch({"p": "", "q": "", "r": "", "j": "p? q? r?"}, join={"j": Join.at_least(2)})
    player = Player(scripted(graph, p=ends[0], q=ends[1]))
    player.end(order[0])
    assert player.status("j") is PENDING
    player.end(order[1])
    assert player.running == ["r"]
    assert player.ends["j"].status is status
    assert player.ends["j"].reason == Reason("quorum", detail="2 of 3 had to succeed")


@pytest.mark.parametrize("last", ["order", "condition", "chooser"])
def test_only_data_counts_and_the_other_parents_are_waited_for(last: str) -> None:
    nodes = {"p": "", "q": "", "order": "", "condition": "", "chooser": "", "j": "p? q? (order)"}
    graph = sketch(nodes, [("chooser", {"go": "j", "stop": END})], when={"j": "condition"}, join={"j": Join.ANY})
    player = Player(scripted(graph, chooser="go"))
    player.end("p", *(name for name in ("order", "condition", "chooser") if name != last))
    assert "j" not in player.running
    player.end(last)
    assert player.running == ["q", "j"]


def test_a_quorum_does_not_help_a_condition_that_cannot_be_asked() -> None:
    graph = sketch({"p": "", "w": "", "j": "p?"}, when={"j": "w"}, join={"j": Join.ANY})
    player = Player(scripted(graph, w=SKIPPED))
    player.end("p", "w")
    assert player.ends["j"].reason == Reason("parent_skipped", "w")


def test_a_quorum_does_not_help_a_target_that_was_not_chosen() -> None:
    graph = sketch({"a": "", "t": "", "w": "", "j": "w?"}, [("a", {"x": "t", "y": "j"})], join={"j": Join.ANY})
    player = Player(scripted(graph, a="x"))
    player.end("w")
    assert player.status("j") is PENDING
    player.end("a")
    assert player.ends["j"].reason == Reason("not_chosen", "a", "x")


@pytest.mark.parametrize(("end", "status"), [(SUCCEEDED, SUCCEEDED), (SKIPPED, SKIPPED)], ids=str)
def test_a_quorum_waits_for_the_branch_that_makes_it_live(end: Status, status: Status) -> None:
    graph = sketch({"a": "", "t": "", "w": "", "j": "t? w?"}, [("a", {"x": "t", "y": "j"})], join={"j": Join.ANY})
    player = Player(scripted(graph, a="x", t=end))
    player.end("w", "a")
    assert player.status("j") is PENDING
    player.end("t", "j")
    assert player.ends["j"].status is status


@pytest.mark.parametrize("verdict", [True, False])
def test_a_failure_is_handled_by_a_quorum_that_was_reached(verdict: bool) -> None:
    """Whatever the join's own condition then says."""
    graph = sketch({"p": "", "q": "", "j": "p? q?", "k": "p"}, when={"j": "topic"}, join={"j": Join.ANY})
    player = Player(scripted(graph, p=FAILED, j=Script(when=verdict))).play()
    assert player.ends["k"].status is UPSTREAM_FAILED
    assert player.unhandled == []


def test_a_failure_is_not_handled_by_a_quorum_that_was_missed() -> None:
    graph = sketch({"p": "", "q": "", "j": "p? q?"}, join={"j": Join.at_least(2)})
    assert Player(scripted(graph, p=FAILED)).play().unhandled == ["p"]


# -- how failures are handled


@pytest.mark.parametrize(
    ("nodes", "unhandled"),
    [
        ({"a": ""}, ["a"]),
        ({"a": "", "b": "a!"}, []),
        ({"a": "", "b": "a!", "c": "a?"}, ["a"]),
        ({"a": "", "b": "(a)"}, ["a"]),
        ({"a": "", "b": "a!", "c": "b"}, []),
    ],
)
def test_a_failure_is_handled_when_every_child_tolerates_it(nodes: dict[str, str], unhandled: list[str]) -> None:
    assert Player(scripted(sketch(nodes), a=FAILED)).play().unhandled == unhandled


@pytest.mark.parametrize("options", [{}, {"join": {"b": Join.DONE}}])
def test_no_target_handles_the_failure_of_its_chooser(options: dict[str, dict[str, Join]]) -> None:
    """It ends upstream_failed, however tolerant it is: a run that lost a branch is no quiet success."""
    player = Player(scripted(sketch({"a": "", "b": "a!"}, [("a", {"x": "b"})], **options), a=FAILED)).play()
    assert player.ends["b"].status is UPSTREAM_FAILED
    assert player.unhandled == ["a"]


def test_an_unknown_label_fails_the_run_though_everybody_tolerates_it() -> None:
    graph = sketch({"a": "", "b": "", "c": "b!"}, [("a", {"x": "b"})])
    player = Player(scripted(graph, a="nobody knows")).play()
    assert {name: end.status for name, end in player.ends.items()} == {
        "a": SUCCEEDED,
        "b": UPSTREAM_FAILED,
        "c": SUCCEEDED,
    }
    assert player.unhandled == ["a"]


# -- attempts


def commands_of(graph: Graph) -> Schedule:
    plan = plan_of(graph)
    found = Schedule(plan.nodes, plan.choices)
    found.start()
    return found


FAILURE = Ended(0, FAILED, REASONS[FAILED])
LOST = Settle(0, FAILED, REASONS[FAILED])
RETRY: dict[str, Any] = {"retry": {"a": Retry(attempts=3)}}


def test_a_retry_is_asked_for_slept_for_and_started() -> None:
    one = commands_of(sketch({"a": ""}, **RETRY))
    asked = Ask(Question.RETRY, 0, 1)
    assert one.feed(FAILURE) == [asked]
    assert one.feed(Answered(asked, 2.5)) == [Sleep(0, 2.5)]
    assert one.statuses == [Status.RETRYING]
    assert one.feed(Woke(0)) == [Start(0, 2)]
    assert one.feed(Woke(0)) == []
    assert one.feed(FAILURE) == [Ask(Question.RETRY, 0, 2)]
    assert one.feed(Answered(Ask(Question.RETRY, 0, 2), 0)) == [Start(0, 3)]
    assert one.feed(FAILURE) == [LOST]
    assert one.attempt(0) == 3


def test_a_retry_that_is_refused_is_the_end() -> None:
    one = commands_of(sketch({"a": ""}, **RETRY))
    one.feed(FAILURE)
    assert one.feed(Answered(Ask(Question.RETRY, 0, 1), None)) == [LOST]


@pytest.mark.parametrize("status", [SKIPPED, CANCELLED])
def test_a_skip_or_a_cancellation_is_not_tried_again(status: Status) -> None:
    one = commands_of(sketch({"a": ""}, fallback={"a": 0}, **RETRY))
    assert one.feed(Ended(0, status, REASONS[status])) == [Settle(0, status, REASONS[status])]


def test_a_fallback_mends_the_last_failure() -> None:
    one = commands_of(sketch({"a": ""}, fallback={"a": 0}))
    assert one.feed(FAILURE) == [FallBack(0)]
    assert one.feed(Ended(0, SUCCEEDED)) == [Settle(0, SUCCEEDED, None)]


@pytest.mark.parametrize("status", [FAILED, SKIPPED, Status.TIMED_OUT])
def test_a_fallback_that_fails_leaves_the_failure_as_it_was(status: Status) -> None:
    one = commands_of(sketch({"a": ""}, fallback={"a": 0}))
    one.feed(FAILURE)
    assert one.feed(Ended(0, status, Reason("error", detail="the fallback's own"))) == [LOST]


def test_a_condition_is_asked_once_however_often_the_node_is_tried() -> None:
    graph = sketch({"a": ""}, when={"a": "topic"}, **RETRY)
    player = Player(scripted(graph, a=Script(failures=2))).play()
    asked = [c.question for commands in player.commands for c in commands if isinstance(c, Ask)]
    assert asked == [Question.WHEN, Question.RETRY, Question.RETRY]
    assert player.ends["a"].status is SUCCEEDED


# -- size

MANY = 10_000


def chain(first: Script | Status = SUCCEEDED) -> Story:
    return scripted(sketch({"n0": "", **{f"n{i}": f"n{i - 1}" for i in range(1, MANY)}}), n0=first)


@pytest.mark.parametrize(
    ("first", "rest"), [(SUCCEEDED, SUCCEEDED), (SKIPPED, SKIPPED), (FAILED, UPSTREAM_FAILED)], ids=str
)
def test_a_chain_of_ten_thousand(first: Status, rest: Status) -> None:
    player = Player(chain(first)).play()
    assert Counter(end.status for end in player.ends.values()) == Counter([first, *[rest] * (MANY - 1)])
    if first is not SUCCEEDED:
        assert len(player.events) == 1


@pytest.mark.parametrize("join", [Join.ALL, Join.DONE, Join.ANY, Join.at_least(MANY // 2)], ids=str)
def test_ten_thousand_between_two(join: Join) -> None:
    middle = [f"n{i}" for i in range(MANY)]
    nodes = {"first": "", **dict.fromkeys(middle, "first"), "last": " ".join(f"{name}?" for name in middle)}
    player = Player(scripted(sketch(nodes, join={"last": join}))).play()
    assert set(player.ends) == {*nodes}
    assert len(player.started) == MANY + 2


@pytest.fixture(scope="module")
def wide() -> Graph:
    targets = [f"n{i}" for i in range(MANY)]
    nodes = {"a": "", **dict.fromkeys(targets, ""), "last": " ".join(f"{name}?" for name in targets)}
    return sketch(nodes, [("a", {"all": targets, "one": targets[7], "on": [], "stop": END})])


@pytest.mark.parametrize(("label", "count"), [("all", MANY + 2), ("one", 3), ("on", 2), ("stop", 1)])
def test_a_choice_of_ten_thousand(wide: Graph, label: str, count: int) -> None:
    assert len(Player(scripted(wide, a=label)).play().started) == count
