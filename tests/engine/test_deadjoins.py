"""Dead joins: found, explained, and never claimed where a run proves the opposite."""

from __future__ import annotations

import gc
import itertools
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flowgraph as fg
from flowgraph.checks import check
from flowgraph.deadjoins import DeadJoins, dead_joins
from flowgraph.entry import END
from flowgraph.graph import Graph
from flowgraph.outcome import Status
from flowgraph.plan import plan_of
from flowgraph.policy import Join
from tests.engine.reference import Script
from tests.engine.strategies import LABELS, SOAK, UNKNOWN, Player, Story, examples, graphs, orders, sketch

TWO = [("c", {"low": "a", "high": "b"})]
END_OR = [("c", {"low": "a", "high": "b", "mid": END})]
BRANCHES = {"c": "", "a": "c", "b": "c"}
NESTED = {**BRANCHES, "p": "a", "q": "a"}
NESTED_CHOICES = [*TWO, ("a", {"x": "p", "y": "q"})]
TWICE = [("c", {"low": "a", "high": []}), ("c", {"low": [], "high": "b"})]
EITHER = {"c": "", "d": "", "b": "c", "u": "d"}
EITHER_TAKES = [
    ("c", {"low": "t", "high": []}),
    ("d", {"x": "t", "y": []}),
    ("c", {"low": [], "high": "b"}),
    ("d", {"x": [], "y": "u"}),
]

Row = tuple[dict[str, str], list[tuple[Any, ...]], dict[str, Any], str]

TABLE: dict[str, Row] = {
    # one choice
    "both branches are required": ({**BRANCHES, "j": "a b"}, TWO, {}, "j"),
    "both may be missing": ({**BRANCHES, "j": "a? b?"}, TWO, {}, ""),
    "one may be missing": ({**BRANCHES, "j": "a b?"}, TWO, {}, ""),
    "one is read as an outcome": ({**BRANCHES, "j": "a b!"}, TWO, {}, ""),
    "only order": ({**BRANCHES, "j": "(a) (b)"}, TWO, {}, ""),
    "order after one, data of the other": ({**BRANCHES, "j": "a (b)"}, TWO, {}, ""),
    "a default instead": ({**BRANCHES, "j": "a= b="}, TWO, {}, ""),
    "Join.DONE": ({**BRANCHES, "j": "a b"}, TWO, {"join": {"j": Join.DONE}}, ""),
    "further down": ({**BRANCHES, "x": "a", "y": "b", "j": "x y"}, TWO, {}, "j"),
    "below a rejoin": ({**BRANCHES, "r": "a? b?", "j": "r a"}, TWO, {}, ""),
    "one label takes both": ({**BRANCHES, "j": "a b"}, [("c", {"low": ["a", "b"], "high": "b"})], {}, ""),
    "three that are possible in pairs only": (
        {"c": "", "x": "c", "y": "c", "z": "c", "j": "x y z", "k": "x y"},
        [("c", {"1": ["x", "y"], "2": ["y", "z"], "3": ["x", "z"]})],
        {},
        "j",
    ),
    "a target that reads another target is live with it": ({"c": "", "b": "c", "a": "c b"}, TWO, {}, ""),
    "a target that reads what another choice excludes": (
        {"c": "", "a": "c", "t": "a"},
        [("c", {"low": "a", "high": []}), ("c", {"low": [], "high": "t"})],
        {},
        "t",
    ),
    "a target that may read what another choice excludes": (
        {"c": "", "a": "c", "t": "a? c"},
        [("c", {"low": "a", "high": []}), ("c", {"low": [], "high": "t"})],
        {},
        "",
    ),
    "a target that is below another": (
        {"c": "", "b": "c", "a": "b"},
        [("c", {"low": "a", "high": ["a", "b"]})],
        {},
        "",
    ),
    "live through another target": (
        {"c": "", "a": "c", "t": "c a?", "u": "c", "j": "t u", "k": "t a"},
        [("c", {"low": "a", "high": "t", "mid": "u"})],
        {},
        "j",
    ),
    "what follows a dead join": ({"i": "", **BRANCHES, "j": "a b", "k": "j", "m": "k? i"}, TWO, {}, "j k"),
    "conditions change nothing": ({**BRANCHES, "j": "a b"}, TWO, {"when": dict.fromkeys("abj", "len(topic) > 1")}, "j"),
    "a fallback changes nothing": ({**BRANCHES, "j": "a b"}, TWO, {"fallback": dict.fromkeys("abj", 0)}, "j"),
    # default, [] and END
    "the default's branch": ({**BRANCHES, "j": "a b"}, [("c", {"low": "a"}, "b")], {}, "j"),
    "the default takes both": ({**BRANCHES, "j": "a b"}, [("c", {"low": "a"}, ["a", "b"])], {}, ""),
    "straight on to a rejoin": ({"c": "", "a": "c", "r": "c a?"}, [("c", {"low": "a", "high": []})], {}, ""),
    "straight on is not the other branch": (
        {**BRANCHES, "r": "c a?", "j": "r b"},
        [("c", {"low": "a", "high": "b", "mid": []})],
        {},
        "j",
    ),
    "the branch ends": ({"c": "", "a": "c", "r": "c a?"}, [("c", {"low": "a", "high": END})], {}, ""),
    "two rejoins of one branch each": ({**BRANCHES, "r": "c a?", "s": "c b?", "j": "r s"}, END_OR, {}, "j"),
    "beside something independent": ({"i": "", **BRANCHES, "r": "i a?", "s": "i b?", "j": "r s"}, END_OR, {}, ""),
    "above the chooser is not independent": (
        {"i": "", "c": "i", "a": "c", "b": "c", "r": "i a?", "s": "i b?", "j": "r s"},
        END_OR,
        {},
        "j",
    ),
    # several choices
    "within a branch and beside it": ({**NESTED, "j": "p b"}, NESTED_CHOICES, {}, "j"),
    "two branches within a branch": ({**NESTED, "j": "p q"}, NESTED_CHOICES, {}, "j"),
    "all levels rejoin": ({**NESTED, "r": "p? q?", "j": "r? b?"}, NESTED_CHOICES, {}, ""),
    "the inner rejoin and the outer branch": ({**NESTED, "r": "p? q?", "j": "r b"}, NESTED_CHOICES, {}, "j"),
    "choices beside each other": (
        {**BRANCHES, "d": "", "u": "d", "v": "d", "j": "a v"},
        [*TWO, ("d", {"x": "u", "y": "v"})],
        {},
        "",
    ),
    "two choices on one value": ({**BRANCHES, "j": "a b"}, TWICE, {}, "j"),
    "either of two takes it": (EITHER | {"t": ""}, EITHER_TAKES, {}, ""),
    "one of two does not take it": (EITHER | {"t": "b"}, EITHER_TAKES, {}, ""),
    "neither of two takes it": (EITHER | {"t": "b u"}, EITHER_TAKES, {}, "t"),
    "no label suits both": ({"c": "", "t": ""}, [("c", {"low": "t"}), ("c", {"high": "t"})], {}, "t"),
    "a chooser that cannot run": (
        {**BRANCHES, "d": "a b", "t": "d"},
        [*TWO, ("d", {"x": "t", "y": []})],
        {},
        "d t",
    ),
    # needs and quorums
    "needs the one, reads the other": ({**BRANCHES, "j": "b a?"}, TWO, {"needs": {"j": ["a"]}}, "j"),
    "needs either": ({**BRANCHES, "j": "c a? b?"}, TWO, {"needs": {"j": ["a", "b"]}}, ""),
    "needs nothing": ({**BRANCHES, "j": "b a?"}, TWO, {"needs": {"j": []}}, ""),
    "needs one, and its reader the other": (
        {**BRANCHES, "j": "c a? b?", "k": "j b"},
        TWO,
        {"needs": {"j": ["a"]}},
        "k",
    ),
    "any of both": ({**BRANCHES, "j": "a b", "k": "j b"}, TWO, {"join": {"j": Join.ANY}}, ""),
    "any of the one side": (
        {**BRANCHES, "x": "a", "y": "a", "j": "x y", "k": "j b"},
        TWO,
        {"join": {"j": Join.ANY}},
        "k",
    ),
    "both by number": ({**BRANCHES, "j": "a b"}, TWO, {"join": {"j": Join.at_least(2)}}, "j"),
    "two of three": ({**BRANCHES, "j": "a b c"}, TWO, {"join": {"j": Join.at_least(2)}}, ""),
}


@pytest.mark.parametrize("row", TABLE.values(), ids=list(TABLE))
def test_what_is_dead_and_what_is_not(row: Row) -> None:
    """The analysis says so, and so does a run for every value of every choice."""
    nodes, choose, options, dead = row
    graph = sketch(nodes, choose, **options)
    assert never(graph) == set(dead.split())
    assert set(nodes) - ran_in(graph, worlds(graph)) == set(dead.split())


def test_what_may_be_missed() -> None:
    """x and y agree for `same` and differ for `other`: two choices together, which the sets do not remember."""
    nodes = {"x": "", "y": "", "x1": "x", "x2": "x", "y1": "y", "y2": "y"}
    nodes |= {"s1": "x1 y1", "s2": "x2 y2", "o1": "x1 y2", "o2": "x2 y1"}
    nodes |= {"same": "s1? s2?", "other": "o1? o2?", "j": "same other"}
    graph = sketch(nodes, [("x", {"1": "x1", "2": "x2"}), ("y", {"1": "y1", "2": "y2"})])
    assert never(graph) == set()
    assert set(nodes) - ran_in(graph, worlds(graph)) == {"j"}


# -- what is said


def risk() -> Literal["low", "high"]: ...
def after_risk(risk: str) -> str: ...
def both(a: str, b: str) -> str: ...
def listed(a: list[str], b: str) -> str: ...
def parts() -> dict[str, str]: ...


def risky(join: Callable[..., Any] = both) -> fg.Graph:
    graph = fg.Graph("g")
    graph.add("risk", risk)
    graph.add("a", after_risk)
    graph.add("b", after_risk)
    graph.add("join", join)
    graph.choose("risk", {"low": "a", "high": "b"})
    return graph


SAID = (
    "'join' needs 'a' and 'b', but 'risk' takes 'a' only for 'low' and 'b' only for 'high': it can never run; "
    "annotate what reads one of them as fg.Maybe[...], or let one label of 'risk' lead to both"
)


def test_the_two_branches_are_shown_with_what_to_do() -> None:
    graph = risky()
    assert [(p.where, p.message) for p in check(graph) if p.severity == "error"] == [("join", SAID)]
    with pytest.raises(fg.GraphError, match="but 'risk' takes 'a' only for 'low' and 'b' only for 'high'"):
        fg.run(graph)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("further down", "needs 'x' and 'y', but 'c' lets 'x' run only for 'low' and 'y' run only for 'high'"),
        (
            "a target that reads what another choice excludes",
            "needs 'a', but 'c' takes 'a' only for 'low' and 't' only for",
        ),
        ("the default's branch", "'a' only for 'low' and 'b' only for any other value"),
        ("three that are possible in pairs only", "'x' only for '1' or '3', 'y' only for '1' or '2' and 'z' only for"),
        ("within a branch and beside it", "but 'c' lets 'p' run only for 'low' and 'b' run only for 'high'"),
        ("two branches within a branch", "but 'a' takes 'p' only for 'x' and 'q' only for 'y'"),
        ("needs the one, reads the other", "annotate what reads 'b' as fg.Maybe[...], or name others in needs="),
        (
            "neither of two takes it",
            "needs 'b', but 'c' takes 'b' only for 'high' and 't' only for 'low'; and it needs 'u', but 'd' takes",
        ),
        (
            "no label suits both",
            "'t' is taken only for what another choice on 'c' has no case for: it can never run; give",
        ),
        ("any of the one side", "needs 'j' and 'b', but 'c' lets 'j' run only for 'low'"),
        ("straight on is not the other branch", "lets 'r' run only for 'low' or 'mid' and 'b' run only for 'high'"),
    ],
)
def test_what_is_said_of(name: str, said: str) -> None:
    nodes, choose, options, _ = TABLE[name]
    (problem,) = dead_joins(plan_of(sketch(nodes, choose, **options)))
    assert problem.severity == "error"
    assert said in problem.message


def test_only_the_cause_is_reported_not_what_follows_from_it() -> None:
    graph = sketch({**BRANCHES, "j": "a b", "k": "j", "m": "k"}, TWO)
    assert [problem.where for problem in dead_joins(plan_of(graph))] == ["j"]


def test_many_names_and_labels_are_cut_short() -> None:
    nodes = {"c": "", **{f"t{i}": "c" for i in range(40)}, "u": "c"}
    nodes |= {"any": " ".join(f"t{i}" for i in range(40)), "j": "any u"}
    graph = sketch(
        nodes,
        [("c", {**{i: f"t{i}" for i in range(40)}, "u": "u"})],
        join={"any": Join.ANY},
    )
    (problem,) = dead_joins(plan_of(graph))
    assert "only for 0, 1, 2, 3, 4 or 35 more" in problem.message
    assert len(problem.message) < 400


def test_choices_on_different_parts_of_an_output_exclude_nothing() -> None:
    def built(second: str) -> fg.Graph:
        graph = fg.Graph("g")
        source = graph.add("c", parts)
        graph.add("a", lambda c: "")
        graph.add("b", lambda c: "")
        graph.add("j", both)
        graph.choose(source["one"], {"x": "a", "y": []})
        graph.choose(source[second], {"x": [], "y": "b"})
        return graph

    assert never(built("two")) == set()
    assert never(built("one")) == {"j"}


def test_labels_match_by_type_and_value() -> None:
    for labels, dead in (((1, 1), set()), ((1, True), {"j"}), ((1, 1.0), {"j"})):
        one, other = labels
        choose = [("c", {one: "a", "x": []}), ("c", {other: "b", "x": []})]
        assert never(sketch({**BRANCHES, "j": "a b"}, choose)) == dead


def test_maps_and_graphs_are_nodes_like_others_and_looked_into() -> None:
    inner = risky()
    outer = fg.Graph("outer")
    outer.add("risk", risk)
    outer.map("a", lambda x: x, each={"x": "risk"})
    outer.add("b", inner)
    outer.add("join", listed)
    outer.choose("risk", {"low": "a", "high": "b"})
    found = {p.where: p.message for p in check(outer) if "can never run" in p.message}
    assert list(found) == ["b/join", "join"]
    assert found["b/join"] == found["join"] == SAID


def test_a_graph_without_choices_or_with_a_wrong_quorum_has_no_dead_join() -> None:
    assert dead_joins(plan_of(sketch({"a": "", "b": "a"}))) == []
    graph = sketch({**BRANCHES, "j": "a", "k": "j"}, TWO, join={"j": Join.at_least(2)})
    assert dead_joins(plan_of(graph)) == []  # another check says what is wrong
    assert never(graph) == {"j", "k"}


# -- never a false alarm


def never(graph: Graph) -> set[str]:
    """The nodes that the analysis says can never run."""
    plan = plan_of(graph)
    return {plan.names[index] for index in DeadJoins(plan).never}


def worlds(graph: Graph, most: int = 100_000) -> Iterator[dict[str, Script]]:
    """Every value of every choice with every answer of every condition, as scripts; nothing if there are too many.

    Choices that read the same get the same value, for that is what they read. One value has no case.
    """
    read: dict[Any, dict[Any, None]] = {}
    for choice in graph.choices:
        read.setdefault(choice.on, {}).update(dict.fromkeys((type(label), label) for label, _ in choice.cases))
    values = [[*(label for _, label in labels), UNKNOWN] for labels in read.values()]
    asked = [entry.name for entry in graph.entries.values() if entry.when is not None]
    size = 2 ** len(asked)
    for labels in values:
        size *= len(labels)
    if size > most:
        return
    for given_ in itertools.product(*values):
        label = dict(zip(read, given_, strict=True))
        for verdicts in itertools.product([True, False], repeat=len(asked)):
            holds = dict(zip(asked, verdicts, strict=True))
            yield {
                name: Script(
                    labels={i: label[c.on] for i, c in enumerate(graph.choices) if c.on.name == name},
                    when=holds.get(name, True),
                )
                for name in graph.entries
            }


def ran_in(graph: Graph, scripts: Iterator[dict[str, Script]], order: list[int] | None = None) -> set[str]:
    """The nodes that ran in at least one of these."""
    found: set[str] = set()
    for script in scripts:
        found.update(Player(Story(graph, script)).play(order or []).started)
    return found


def with_trouble(scripts: list[dict[str, Script]], chance: random.Random) -> Iterator[dict[str, Script]]:
    """Some of these, where some nodes skip themselves, fail, or have conditions that raise."""
    ends = [Status.SKIPPED, Status.SKIPPED, Status.FAILED, Status.TIMED_OUT, Status.CANCELLED]
    for script in chance.sample(scripts, min(len(scripts), 12)):
        yield {
            name: Script(
                chance.choice(ends) if chance.random() < 0.25 else one.end,
                labels=one.labels,
                when=None if chance.random() < 0.05 else one.when,
                fallback=chance.random() < 0.5,
            )
            for name, one in script.items()
        }


JOINS = (Join.ALL, Join.ALL, Join.ALL, Join.ALL, Join.DONE, Join.ANY, Join.at_least(2))


@examples(150)
@given(graphs(JOINS), orders(), st.integers(0, 1000))
def test_what_is_called_dead_never_runs(graph: Graph, order: list[int], seed: int) -> None:
    claimed = never(graph)
    for problem in dead_joins(plan_of(graph)):
        assert problem.where in claimed
        assert re.match(rf"'{problem.where}' (needs (one of )?'n|is taken only for)", problem.message)
    scripts = list(worlds(graph, 96))
    assert not claimed & ran_in(graph, iter(scripts), order)
    assert not claimed & ran_in(graph, with_trouble(scripts, random.Random(seed)), order)


def test_most_of_what_never_runs_is_found(record_property: Callable[[str, object], None]) -> None:
    """Which share is not promised: it is recorded, and printed under `pytest -s`."""
    chance, count = random.Random(0), Counter[str]()
    for _ in range(600 * SOAK):
        graph = drawn(chance)
        scripts = list(worlds(graph))
        claimed, ran = never(graph), ran_in(graph, iter(scripts))
        ran |= ran_in(graph, with_trouble(scripts, chance))
        assert not claimed & ran
        count["never run"] += len(graph.entries.keys() - ran)
        count["found"] += len(claimed)
    share = count["found"] / count["never run"]
    record_property("dead joins found", share)
    print(f"{count['found']} of {count['never run']} nodes that never run are found: {share:.0%}")
    assert share > 0


WORDS = ["n{}", "n{}", "n{}", "n{}", "n{}", "n{}?", "n{}?", "n{}!", "(n{})"]


def drawn(chance: random.Random) -> Graph:
    """A graph of 4 to 9 nodes, most of which are required, with one to three choices: dead joins are frequent."""
    size = chance.randint(4, 9)
    nodes: dict[str, str] = {}
    needs: dict[str, list[str]] = {}
    for i in range(size):
        parents = chance.sample(range(i), min(i, chance.choice([0, 1, 2, 2, 3])))
        nodes[f"n{i}"] = " ".join(chance.choice(WORDS).format(p) for p in parents)
        if parents and chance.random() < 0.15:
            needs[f"n{i}"] = [f"n{p}" for p in chance.sample(parents, chance.randint(0, len(parents)))]
    choose = []
    for chooser in chance.choices(range(size - 1), k=chance.randint(1, 3)):
        later = [f"n{i}" for i in range(chooser + 1, size)]
        cases = [chance.sample(later, min(len(later), chance.choice([1, 1, 2]))) for _ in LABELS]
        ends = [chance.choice([*[taken] * 4, [], END]) for taken in cases]
        choose.append((f"n{chooser}", dict(zip(LABELS[: chance.randint(2, 3)], ends, strict=False))))
    joins = {f"n{i}": chance.choice(JOINS[:-1]) for i in range(size) if chance.random() < 0.2}
    return sketch(nodes, choose, needs=needs, join=joins)


# -- size


def two_chains(size: int) -> Graph:
    """A choice, two branches, a rejoin."""
    nodes = {**BRANCHES, "a0": "a", "b0": "b"}
    for i in range(1, size // 2):
        nodes |= {f"a{i}": f"a{i - 1}", f"b{i}": f"b{i - 1}"}
    return sketch({**nodes, "end": f"a{size // 2 - 1}? b{size // 2 - 1}?"}, TWO)


def diamonds(size: int) -> Graph:
    """As many choices as fit, one after the other, any of which may go straight on."""
    nodes, choose, last = dict[str, str](), list[tuple[Any, ...]](), ""
    for i in range(size // 4):
        nodes |= {f"c{i}": last, f"a{i}": f"c{i}", f"b{i}": f"c{i}", f"r{i}": f"a{i}? b{i}?"}
        choose.append((f"c{i}", {"x": f"a{i}", "y": f"b{i}", "z": []}))
        last = f"r{i}"
    return sketch(nodes, choose)


def test_many_choices_in_a_row_take_little_beside_their_plan() -> None:
    """A node is a rejoin of every choice before it: that makes the plan quadratic, and must not be made worse here."""
    begun = time.process_time()
    plan = plan_of(diamonds(1_000))
    planned = time.process_time() - begun
    assert min(seconds(plan) for _ in range(3)) <= 2 * planned


def dead_ends(size: int) -> Graph:
    """Everything is dead."""
    return sketch({**BRANCHES, **{f"j{i}": "a b" for i in range(size)}}, TWO)


def in_turn(size: int) -> Graph:
    """Twenty choices, one after the other."""
    nodes, choose, last = dict[str, str](), list[tuple[Any, ...]](), ""
    for i in range(20):
        nodes |= {f"c{i}": last, f"a{i}": f"c{i}", f"b{i}_0": f"c{i}"}
        nodes |= {f"b{i}_{j}": f"b{i}_{j - 1}" for j in range(1, size // 20 - 3)}
        last = f"r{i}"
        nodes[last] = f"a{i}? b{i}_{size // 20 - 4}?"
        choose.append((f"c{i}", {"x": f"a{i}", "y": f"b{i}_0"}))
    return sketch(nodes, choose)


@pytest.mark.parametrize("shape", [two_chains, dead_ends, in_turn])
def test_ten_times_the_nodes_take_about_ten_times_the_time(shape: Callable[[int], Graph]) -> None:
    """Processor time of this process, the least of several tries."""
    few, many = plan_of(shape(1_000)), plan_of(shape(10_000))
    small = large = float("inf")
    gc.collect()
    gc.disable()
    try:
        for _ in range(6):
            small, large = min(small, seconds(few)), min(large, seconds(many))
            if large <= 12 * small:
                break
    finally:
        gc.enable()
    assert large <= 15 * small


def seconds(plan: Any) -> float:
    begun = time.process_time()
    dead_joins(plan)
    return time.process_time() - begun
