"""The rules of joins, choices and skips: one small graph for each sentence.

A row says what ends how, as "status", "status kind" or "status kind node" (the reason's). Each row is played in
several orders, and the reference interpreter must say the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import pytest

from flowgraph.entry import END
from flowgraph.outcome import Status
from flowgraph.policy import Join
from tests.engine.reference import End, Reference, Script
from tests.engine.strategies import Player, Story, scripted, sketch

FAILED, SKIPPED, TIMED_OUT, CANCELLED = Status.FAILED, Status.SKIPPED, Status.TIMED_OUT, Status.CANCELLED
FALSE, RAISES = Script(when=False), Script(when=None)
EITHER = ("a", {"left": "b", "right": "c", "on": [], "stop": END})


@dataclass(frozen=True)
class Row:
    """A graph, how its nodes end when they run, and what becomes of those that matter."""

    gist: str
    nodes: dict[str, str]
    ends: dict[str, Any]
    expected: dict[str, str]
    choose: tuple[tuple[Any, ...], ...] = ()
    options: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def story(self) -> Story:
        return scripted(sketch(self.nodes, self.choose, **self.options), **self.ends)


DIAMOND = {"a": "", "b": "(a)", "c": "(a)", "d": "b? c?"}
ROUTE = {"z": "", "a": "z", "b": "a", "c": "a", "d": "z b? c?"}
NESTED = {"a": "", "b": "", "c": "", "u": "", "d": "u?"}

EDGES = [
    Row("inputs are no parents", {"a": "topic"}, {}, {"a": "succeeded"}),
    Row(
        "required if any use is: a parameter",
        {"a": "", "b": "a (a)"},
        {"a": SKIPPED},
        {"b": "skipped parent_skipped a"},
    ),
    Row(
        "required if any use is: the condition",
        {"a": "", "b": "a?"},
        {"a": SKIPPED},
        {"b": "skipped parent_skipped a"},
        options={"when": {"b": "a > 1"}},
    ),
    Row("an Outcome tolerates a failure", {"a": "", "b": "a!"}, {"a": FAILED}, {"b": "succeeded"}),
    Row("an Outcome tolerates a skip", {"a": "", "b": "a!"}, {"a": SKIPPED}, {"b": "succeeded"}),
    Row(
        "tolerant only when every parameter of the edge is",
        {"a": "", "b": "a!"},
        {"a": FAILED},
        {"b": "upstream_failed parent_failed a"},
        options={"when": {"b": "a"}},
    ),
    Row(
        "DONE tolerates on every edge",
        {"a": "", "b": "", "c": "", "d": "a b? (c)"},
        {"a": FAILED, "b": SKIPPED, "c": CANCELLED},
        {"d": "succeeded"},
        options={"join": {"d": Join.DONE}},
    ),
    Row(
        "a default waits for what it is bound to, and passes a skip",
        {"a": "", "b": "", "c": "a b="},
        {"b": SKIPPED},
        {"c": "succeeded"},
    ),
    Row(
        "a default does not pass a failure",
        {"a": "", "b": "", "c": "a b="},
        {"b": FAILED},
        {"c": "upstream_failed parent_failed b"},
    ),
]

RULE_0_TARGETS = [
    Row(
        "taken",
        {"a": "", "b": "a", "c": "a"},
        {"a": "left"},
        {"b": "succeeded", "c": "skipped not_chosen a"},
        (EITHER,),
    ),
    Row(
        "not chosen, whatever its other parents did",
        {"a": "", "b": "", "w": "", "c": "w"},
        {"a": "left", "w": FAILED},
        {"c": "skipped not_chosen a"},
        (EITHER,),
    ),
    Row(
        "straight on takes no target",
        DIAMOND,
        {"a": "on"},
        {"b": "skipped not_chosen a", "c": "skipped not_chosen a"},
        (EITHER,),
    ),
    Row(
        "the end takes no target",
        DIAMOND,
        {"a": "stop"},
        {"b": "skipped not_chosen a", "c": "skipped not_chosen a"},
        (EITHER,),
    ),
    Row(
        "live through a succeeded parent that is another target which was taken",
        {"a": "", "b": "", "c": "b?"},
        {"a": "left"},
        {"b": "succeeded", "c": "succeeded"},
        (EITHER,),
    ),
    Row(
        "live through a succeeded parent below another target which was taken",
        {"a": "", "b": "", "m": "b", "c": "m?"},
        {"a": "left"},
        {"c": "succeeded"},
        (EITHER,),
    ),
    Row(
        "a direct choice that is the rejoin of the other branch runs when chosen directly",
        {"a": "", "b": "", "c": "b?"},
        {"a": "right"},
        {"b": "skipped not_chosen a", "c": "succeeded"},
        (EITHER,),
    ),
    Row(
        "not live through a taken target that did not succeed",
        {"a": "", "b": "", "c": "b?"},
        {"a": "left", "b": SKIPPED},
        {"c": "skipped not_chosen a"},
        (EITHER,),
    ),
    Row(
        "the chooser itself never activates",
        {"a": "", "b": "", "c": "a b?"},
        {"a": "stop"},
        {"c": "skipped not_chosen a"},
        (EITHER,),
    ),
    Row(
        "several choosers: any of them",
        {"a": "", "x": "", "b": "", "c": ""},
        {"a": "right", "x": "left"},
        {"b": "succeeded"},
        (EITHER, ("x", {"left": "b", "right": []})),
    ),
    Row(
        "several choosers: none of them, the first is the reason",
        {"a": "", "x": "", "b": "", "c": ""},
        {"a": "right", "x": "right"},
        {"b": "skipped not_chosen a"},
        (EITHER, ("x", {"left": "b", "right": []})),
    ),
    Row(
        "a failed chooser fails its targets",
        {"a": "", "b": "", "c": ""},
        {"a": TIMED_OUT},
        {"b": "upstream_failed parent_failed a", "c": "upstream_failed parent_failed a"},
        (EITHER,),
    ),
    Row(
        "a failed chooser fails its targets, though another took them",
        {"a": "", "x": "", "b": "", "c": ""},
        {"a": FAILED, "x": "left"},
        {"b": "upstream_failed parent_failed a"},
        (EITHER, ("x", {"left": "b", "right": []})),
    ),
    Row(
        "a failed chooser fails even a target that tolerates everything",
        {"a": "", "b": "a!", "c": ""},
        {"a": FAILED},
        {"b": "upstream_failed parent_failed a"},
        (EITHER,),
        {"join": {"b": Join.DONE}},
    ),
    Row(
        "a skipped chooser takes nothing",
        {"a": "", "b": "", "c": ""},
        {"a": SKIPPED},
        {"b": "skipped not_chosen a"},
        (EITHER,),
    ),
    Row(
        "an unknown label: the chooser keeps its success, its targets fail",
        {"a": "", "b": "", "c": ""},
        {"a": "nobody knows"},
        {"a": "succeeded", "b": "upstream_failed choice_error a"},
        (EITHER,),
    ),
    Row(
        "a default takes what no label takes",
        {"a": "", "b": "", "c": ""},
        {"a": "nobody knows"},
        {"b": "skipped not_chosen a", "c": "succeeded"},
        (("a", {"left": "b"}, "c"),),
    ),
]

RULE_0_REJOINS = [
    Row("one branch arrives", ROUTE, {"a": "right"}, {"b": "skipped not_chosen a", "d": "succeeded"}, (EITHER,)),
    Row("the choice ended", ROUTE, {"a": "stop"}, {"d": "skipped choice_ended a"}, (EITHER,)),
    Row("the choice was skipped", ROUTE, {"a": SKIPPED}, {"d": "skipped choice_ended a"}, (EITHER,)),
    Row("its targets produced nothing", ROUTE, {"a": "left", "b": SKIPPED}, {"d": "skipped choice_ended a"}, (EITHER,)),
    Row(
        "an independent parent succeeded",
        {**ROUTE, "w": "", "d": "z w b? c?"},
        {"a": "stop"},
        {"d": "succeeded"},
        (EITHER,),
    ),
    Row(
        "the independent parent was skipped as well",
        {**ROUTE, "w": "", "d": "z w? b? c?"},
        {"a": "stop", "w": SKIPPED},
        {"d": "skipped choice_ended a"},
        (EITHER,),
    ),
    Row("straight on: the rejoin runs", ROUTE, {"a": "on"}, {"b": "skipped not_chosen a", "d": "succeeded"}, (EITHER,)),
    Row(
        "straight on: the rejoin runs, with no other parent at all",
        {"a": "", "b": "", "c": "", "d": "b? c?"},
        {"a": "on"},
        {"d": "succeeded"},
        (EITHER,),
    ),
    Row(
        "straight on does not give what is required",
        {"a": "", "b": "", "c": "", "d": "a b"},
        {"a": "on"},
        {"d": "skipped parent_skipped b"},
        (EITHER,),
    ),
    Row(
        "tolerance is no arrival",
        {"a": "", "b": "", "c": "", "d": "a b! c!"},
        {"a": "stop"},
        {"d": "skipped choice_ended a"},
        (EITHER,),
    ),
    Row(
        "its own branch failed: rule 1",
        ROUTE,
        {"a": "left", "b": FAILED},
        {"d": "upstream_failed parent_failed b"},
        (EITHER,),
    ),
    Row(
        "its own branch failed and it tolerates that",
        {"a": "", "b": "", "c": "", "d": "a b! c?"},
        {"a": "left", "b": FAILED},
        {"d": "succeeded"},
        (EITHER,),
    ),
    Row(
        "a chooser that failed did not end the branch",
        {"z": "", "a": "z", "b": "", "c": "", "m": "b!", "d": "z m?"},
        {"a": FAILED, "m": SKIPPED},
        {"b": "upstream_failed parent_failed a", "d": "succeeded"},
        (EITHER,),
        {"join": {"m": Join.DONE}},
    ),
    Row(
        "a choice that failed did not end the branch",
        {"z": "", "a": "z", "b": "", "c": "", "m": "b!", "d": "z m?"},
        {"a": "nobody knows", "m": SKIPPED},
        {"b": "upstream_failed choice_error a", "d": "succeeded"},
        (EITHER,),
    ),
]

INNER = ("b", {"more": "u", "on": [], "stop": END})
MEETING = [
    Row(
        "the inner choice goes straight on: the rejoin runs, though no target of the outer one is its parent",
        NESTED,
        {"a": "left", "b": "on"},
        {"u": "skipped not_chosen b", "d": "succeeded"},
        (EITHER, INNER),
    ),
    Row(
        "the inner choice ended: its chooser does not activate",
        {**NESTED, "d": "b u?"},
        {"a": "left", "b": "stop"},
        {"d": "skipped choice_ended b"},
        (EITHER, INNER),
    ),
    Row(
        "the inner choice was never asked: the outer one goes straight on",
        {**NESTED, "d": "a u?"},
        {"a": "on"},
        {"b": "skipped not_chosen a", "u": "skipped not_chosen b", "d": "succeeded"},
        (EITHER, INNER),
    ),
    Row(
        "the inner choice was never asked: the outer one ended",
        {**NESTED, "d": "a u?"},
        {"a": "stop"},
        {"d": "skipped choice_ended a"},
        (EITHER, INNER),
    ),
    Row(
        "the outer choice went straight on, the inner one then ended",
        {"a": "", "t": "", "b": "t?", "u": "", "d": "b u?"},
        {"a": "on", "b": "stop"},
        {"b": "succeeded", "d": "skipped choice_ended b"},
        (("a", {"left": "t", "on": []}), INNER),
    ),
    Row(
        "one choice ended, another one beside it goes straight on",
        {"a": "", "b": "", "t": "", "u": "", "d": "t? u?"},
        {"a": "stop", "b": "on"},
        {"d": "succeeded"},
        (("a", {"left": "t", "stop": END}), INNER),
    ),
    Row(
        "taken by name by the outer choice, and the inner one ended",
        {"a": "", "b": "", "u": "", "d": "u?"},
        {"a": "left", "b": "stop"},
        {"d": "succeeded"},
        (("a", {"left": ["b", "d"], "right": []}), INNER),
    ),
    Row(
        "waits for a choice that its parents did not wait for",
        {"z": "", "w": "", "a": "z", "x": "", "v": "", "t": "", "u": "t?", "d": "z u?"},
        {"a": "stop", "x": "right"},
        {"u": "skipped not_chosen x", "d": "skipped choice_ended a"},
        (("a", {"left": "t", "stop": END}), ("x", {"left": "u", "right": "v"})),
    ),
]

RULES_1_TO_5 = [
    Row(
        "1: a parent failed",
        {"a": "", "b": "a"},
        {"a": FAILED},
        {"a": "failed error", "b": "upstream_failed parent_failed a"},
    ),
    Row("1: a parent timed out", {"a": "", "b": "a?"}, {"a": TIMED_OUT}, {"b": "upstream_failed parent_failed a"}),
    Row("1: a parent was cancelled", {"a": "", "b": "(a)"}, {"a": CANCELLED}, {"b": "upstream_failed parent_failed a"}),
    Row(
        "1: a parent is upstream_failed",
        {"a": "", "b": "a", "c": "b"},
        {"a": FAILED},
        {"c": "upstream_failed parent_failed b"},
    ),
    Row(
        "1: the first in declared order",
        {"b": "", "a": "", "c": "a b"},
        {"a": FAILED, "b": FAILED},
        {"c": "upstream_failed parent_failed a"},
    ),
    Row(
        "1: failure outranks skip",
        {"a": "", "b": "", "c": "a b"},
        {"a": SKIPPED, "b": FAILED},
        {"c": "upstream_failed parent_failed b"},
    ),
    Row(
        "2: a required parent was skipped",
        {"a": "", "b": "", "c": "a b"},
        {"b": SKIPPED},
        {"c": "skipped parent_skipped b"},
    ),
    Row("2: a Maybe passes a skip", {"a": "", "b": "", "c": "a b?"}, {"b": SKIPPED}, {"c": "succeeded"}),
    Row("2: order passes a skip", {"a": "", "b": "", "c": "a (b)"}, {"b": SKIPPED}, {"c": "succeeded"}),
    Row(
        "3: no parent succeeded",
        {"a": "", "b": "", "c": "a? b?"},
        {"a": SKIPPED, "b": SKIPPED},
        {"c": "skipped parents_skipped a"},
    ),
    Row("3: nor the only one that orders", {"a": "", "b": "(a)"}, {"a": SKIPPED}, {"b": "skipped parents_skipped a"}),
    Row("3: one of them is enough", {"a": "", "b": "", "c": "a? b?"}, {"a": SKIPPED}, {"c": "succeeded"}),
    Row(
        "3: unless an edge tolerates",
        {"a": "", "b": "", "c": "a? b!"},
        {"a": SKIPPED, "b": SKIPPED},
        {"c": "succeeded"},
    ),
    Row(
        "3: unless a choice took it",
        {"a": "", "b": "w?", "c": "", "w": ""},
        {"a": "left", "w": SKIPPED},
        {"b": "succeeded"},
        (EITHER,),
        {"needs": {"b": ["w"]}},
    ),
    Row(
        "3: needs wants at least one of these",
        {"a": "", "b": "", "c": "", "d": "a? b? c?"},
        {"a": SKIPPED, "b": SKIPPED},
        {"d": "skipped parents_skipped a"},
        options={"needs": {"d": ["a", "b"]}},
    ),
    Row(
        "3: and is content with one",
        {"a": "", "b": "", "c": "", "d": "a? b? c?"},
        {"a": SKIPPED, "c": SKIPPED},
        {"d": "succeeded"},
        options={"needs": {"d": ["a", "b"]}},
    ),
    Row(
        "3: needs=() runs with Nones and defaults",
        {"a": "", "b": "", "c": "a? b="},
        {"a": SKIPPED, "b": SKIPPED},
        {"c": "succeeded"},
        options={"needs": {"c": ()}},
    ),
    Row(
        "4: a false condition",
        {"a": "", "b": "a", "c": "b"},
        {"b": FALSE},
        {"b": "skipped condition", "c": "skipped parent_skipped b"},
        options={"when": {"b": "a > 1"}},
    ),
    Row(
        "4: a condition that raises is never false",
        {"a": "", "b": "a", "c": "b?"},
        {"b": RAISES},
        {"b": "failed condition_error", "c": "upstream_failed parent_failed b"},
        options={"when": {"b": "a > 1"}},
    ),
    Row(
        "4: is not asked when rule 1 to 3 has spoken",
        {"a": "", "b": "a"},
        {"a": FAILED, "b": RAISES},
        {"b": "upstream_failed parent_failed a"},
        options={"when": {"b": "a > 1"}},
    ),
    Row("5: else it runs", {"a": "", "b": "a"}, {}, {"b": "succeeded"}),
    Row("5: and may skip itself", {"a": "", "b": "a"}, {"b": SKIPPED}, {"b": "skipped skip"}),
]

ROWS = [*EDGES, *RULE_0_TARGETS, *RULE_0_REJOINS, *MEETING, *RULES_1_TO_5]


def shown(end: End) -> str:
    """An outcome as the rows write it."""
    return f"{end.status} {end.reason.kind} {end.reason.node}".rstrip() if end.reason else str(end.status)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.gist)
def test_rule(row: Row) -> None:
    for order in ([], [-1] * 40, [0, -1] * 20, [1, 2, 0] * 15):
        player = Player(row.story).play(order)
        assert {name: shown(player.ends[name]) for name in row.expected} == row.expected


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.gist)
def test_the_reference_says_the_same(row: Row) -> None:
    reference = Reference(*row.story)
    assert {name: shown(reference.ends[name]) for name in row.expected} == row.expected
    assert Player(row.story).play().ends == reference.ends


@pytest.mark.parametrize("order", list(permutations("aw")), ids="".join)
def test_a_target_is_settled_as_soon_as_its_choices_are_made(order: tuple[str, ...]) -> None:
    graph = sketch({"a": "", "w": "", "b": "", "c": "w"}, [EITHER])
    player = Player(scripted(graph, a="left"))
    player.end(order[0])
    assert (player.status("c") is SKIPPED) == (order[0] == "a")
    player.end(order[1])
    assert player.status("c") is SKIPPED


def test_a_target_waits_for_the_branch_that_may_make_it_live() -> None:
    graph = sketch({"a": "", "b": "", "m": "b", "c": "m?"}, [EITHER])
    player = Player(scripted(graph, a="left"))
    player.end("a", "b")
    assert player.status("c") is Status.PENDING
    player.end("m")
    assert player.running == ["c"]


def test_a_rejoin_with_all_its_parents_does_not_wait_for_the_choice() -> None:
    """A slow node delays nothing that does not depend on it: `u` did not wait for the branch, nor need `d`."""
    graph = sketch(
        {"a": "", "w": "", "t": "", "u": "t? w?", "d": "u"}, [("a", {"left": "t", "stop": END})], join={"u": Join.ANY}
    )
    player = Player(scripted(graph, a="stop"))
    player.end("w", "u")
    assert player.running == ["a", "d"]
