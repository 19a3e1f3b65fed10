"""What is wrong with a graph, said before it runs: where, what, and what to do about it."""

from __future__ import annotations

import enum
import gc
import itertools
import subprocess
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flowgraph as fg
from flowgraph.checks import check, checked
from flowgraph.plan import plan_of

Build = Callable[[fg.Graph], object]


class Level(enum.StrEnum):
    LOW = "low"
    HIGH = "high"


class Draft(TypedDict):
    title: str
    score: int


class Page(pydantic.BaseModel):
    title: str


@dataclass
class Agent:
    """A node with problems of its own."""

    name: str = "agent"
    kind: str = "agent"
    output_type: Any = str
    inner: Any = None

    @property
    def parameters(self) -> dict[str, fg.Parameter]:
        return {}

    def problems(self) -> list[str]:
        return ["no key for its model: set MODEL_KEY"]

    async def call(self, ctx: Any, inputs: dict[str, Any]) -> str:
        return ""


def number() -> int:
    return 1


def text() -> str:
    return ""


def anything() -> Any: ...
def level() -> Level: ...
def risk() -> Literal["low", "high"]: ...
def flag() -> bool: ...
def maybe() -> str | None: ...
def draft() -> Draft: ...
def page() -> Page: ...
def texts() -> list[str]: ...
def numbers() -> list[int]: ...
def takes_text(x: str) -> str: ...
def takes_float(x: float) -> float: ...
def takes_texts(x: list[str]) -> str: ...
def takes_tuple(x: tuple[str, ...]) -> str: ...
def takes_outcome(x: fg.Outcome[str]) -> str: ...
def takes_maybe(x: fg.Maybe[str]) -> str: ...
def takes_optional(x: str | None) -> str: ...
def takes_default(x: str = "") -> str: ...
def takes_anything(x): ...
def takes_two(x: str, y: str) -> str: ...
def takes_two_maybe(x: fg.Maybe[str], y: fg.Maybe[str]) -> str: ...
def unhashable(x: Annotated[str, ["not hashable"]]) -> str: ...


def built(build: Build) -> fg.Graph:
    graph = fg.Graph("g")
    build(graph)
    return graph


def said(graph: fg.Graph, severity: str = "error") -> list[str]:
    return [str(problem) for problem in check(graph) if problem.severity == severity]


def fed(source: Callable[..., Any], reader: Callable[..., Any], **options: Any) -> Build:
    """`b` reads `a`."""

    def build(graph: fg.Graph) -> None:
        graph.add("a", source)
        graph.add("b", reader, **{"bind": {"x": "a"}, **options})

    return build


def chosen(source: Callable[..., Any], cases: dict[Any, Any], **options: Any) -> Build:
    """`choose` on `a`, with the targets `b` and `c`."""

    def build(graph: fg.Graph) -> None:
        graph.add("a", source)
        graph.add("b", text)
        graph.add("c", text)
        graph.choose(options.pop("on", "a"), cases, **options)

    return build


def joined(reader: Callable[..., Any], join: fg.Join, **options: Any) -> Build:
    """`z` reads `a` and `b` under a join."""

    def build(graph: fg.Graph) -> None:
        graph.add("a", text)
        graph.add("b", text)
        graph.add("z", reader, join=join, **{"bind": {"x": "a", "y": "b"}, **options})

    return build


# -- names


def test_an_unknown_name_is_reported_with_the_one_that_was_meant() -> None:
    graph = fg.Graph("g")
    graph.input("topic", str)
    graph.add("facts", lambda topik: topik)
    assert said(graph) == [("facts: parameter 'topik' needs 'topik', which is neither a node nor an input: "
                           "did you mean 'topic'?")]  # fmt: skip
    assert said(graph, "warning") == ["topic: the input is not used: remove it, or name a parameter after it"]


@pytest.mark.parametrize(
    ("build", "where", "words"),
    [
        (lambda g: g.add("a", text, after=["b"]), "a", ["after=", "'b'", "not a node"]),
        (lambda g: g.add("a", takes_text, bind={"y": "a"}), "a", ["'y'", "no parameter of it", "it has x"]),
        (lambda g: g.add("a", takes_text, values={"x": "", "z": 1}), "a", ["values=", "'z'"]),
        (lambda g: g.add("a", takes_text, bind={"x": "n"}, values={"x": ""}), "a", ["'x'", "leave one out"]),
        (lambda g: (g.add("a", text), g.output("aa")), "", ["output()", "'aa'", "did you mean 'a'?"]),
        (lambda g: (g.input("n"), g.add("a", takes_text, values={"x": ""}), g.choose("n", {"x": "a"})), "n",
         ["'n'", "not a node, but an input"]),
        (lambda g: g.add("a", text, when="risk > 1"), "a", ["the condition's parameter 'risk'"]),
        (lambda g: None, "", ["no nodes", "graph.add"]),
        (lambda g: (g.input("n"), g.add("a", takes_text, bind={"x": "n"}, needs=["n"])), "a",
         ["needs=", "'n'", "an input"]),
        (lambda g: (g.add("a", text), g.add("b", text), g.add("c", takes_text, bind={"x": "a"}, needs=["b"])), "c",
         ["needs=", "'b'", "does not wait for"]),
    ],
)  # fmt: skip
def test_names_that_are_wrong(build: Build, where: str, words: list[str]) -> None:
    problems = [problem for problem in check(built(build)) if problem.severity == "error"]
    assert where in [problem.where for problem in problems]
    for word in words:
        assert word in "\n".join(map(str, problems))


def test_a_default_that_is_nearly_a_name_is_a_warning() -> None:
    graph = built(lambda g: (g.input("limits"), g.add("a", lambda limit=3, limits=4: limit)))
    assert said(graph) == []
    warnings = said(graph, "warning")
    assert any("'limit' has a default and so is not bound to 'limits'" in warning for warning in warnings)


# -- cycles (C01)


def test_c01_a_cycle_names_its_nodes_in_order_and_nothing_runs() -> None:
    ran: list[str] = []
    graph = fg.Graph("g")
    graph.add("a", lambda c: ran.append("a"))
    graph.add("b", lambda a: ran.append("b"))
    graph.add("c", lambda b: ran.append("c"))
    (problem,) = check(graph)
    assert problem.where == "a"
    assert problem.message.startswith("a → b → c → a is a cycle: 'b' reads 'a' (parameter 'a')")
    assert "'a' reads 'c' (parameter 'c')" in problem.message
    with pytest.raises(fg.GraphError, match="a → b → c → a"):
        fg.run(graph)
    assert ran == []


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda g: g.add("a", lambda a: a), ["a → a", "(parameter 'a')"]),
        (lambda g: g.add("a", text, after=["a"]), ["a → a", "(after=)"]),
        (lambda g: g.add("a", text, when="a"), ["a → a", "(its condition's parameter 'a')"]),
        (lambda g: (g.add("a", text), g.choose("a", {"x": "a"})), ["a → a", "'a' chooses 'a'", "cannot lead back"]),
        (lambda g: (g.add("a", text), g.add("b", lambda a: a), g.choose("b", {"again": "a"}, default=[])),
         ["a → b → a", "'b' chooses 'a' (choose)", "a choice cannot lead back up", "loop"]),
        (lambda g: (g.add("a", text, after=["b"]), g.add("b", text, when="len(a) > 1")),
         ["'b' reads 'a' (its condition's parameter 'a')", "'a' comes after 'b' (after=)"]),
        (lambda g: (g.add("z", text), g.add("a", lambda z, b: z), g.add("b", lambda a: a), g.add("c", lambda b: b)),
         ["a → b → a is a cycle"]),
    ],
)  # fmt: skip
def test_what_closes_a_cycle_is_said(build: Build, words: list[str]) -> None:
    (problem,) = [problem for problem in check(built(build)) if "cycle" in problem.message]
    for word in words:
        assert word in problem.message


def test_each_knot_of_cycles_is_reported_once() -> None:
    graph = fg.Graph("g")
    for one, other in ("ab", "ba", "cd", "dc"):
        graph.add(one, text, after=[other])
    graph.add("e", text, after=["b", "c"])
    assert [problem.where for problem in check(graph)] == ["a", "c"]


def test_a_long_cycle_is_cut_short() -> None:
    graph = fg.Graph("g")
    for index in range(10_000):
        graph.add(f"n{index}", text, after=[f"n{(index - 1) % 10_000}"])
    (problem,) = check(graph)
    assert "and 9990 more" in problem.message
    assert len(problem.message) < 1_000


# -- types


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (fed(number, takes_text), ["b: parameter 'x' wants str, but 'a' gives int"]),
        (fed(texts, takes_text), ["wants str, but 'a' gives list[str]"]),
        (fed(numbers, takes_texts), ["wants list[str], but 'a' gives list[int]"]),
        (fed(draft, takes_text), ["wants str, but 'a' gives Draft"]),
        (fed(number, takes_outcome), ["wants str, but 'a' gives int"]),
        (fed(number, takes_maybe), ["'a' gives int"]),
        (fed(number, takes_default), ["'a' gives int"]),
        (fed(number, unhashable), ["'a' gives int"]),
        (fed(draft, takes_text, bind={"x": "a.score"}), ["wants str, but 'a['score']' gives int"]),
        (fed(draft, takes_text, bind={"x": "a.titel"}), ["'a['titel']' is never there", "it has title, score"]),
        (fed(page, takes_text, bind={"x": "a.titel"}), ["Page has no field 'titel'"]),
        (fed(number, takes_texts, bind={"x": ["a"]}), ["wants str, but 'a' gives int"]),
        (fed(text, takes_text, bind={"x": ["a"]}), ["wants str, but bind= gives it a list"]),
        (fed(text, takes_tuple, bind={"x": ["a"]}), ["bind= gives it a list"]),
        (fed(text, takes_text, bind={}, values={"x": 3}), ["values= gives what does not fit", "expected str, got int"]),
        (fed(text, takes_text, bind={}, values={"x": None}), ["expected str, got NoneType"]),
        (fed(number, text, bind={}, when=lambda a: a, values={}), []),
        (lambda g: (g.input("n", int), g.add("a", takes_text, bind={"x": "n"})), ["'n' gives int"]),
        (lambda g: (g.add("a", number), g.add("b", text, when=takes_text, bind={"x": "a"})),
         ["the condition's parameter 'x' wants str, but 'a' gives int"]),
        (lambda g: (g.input("n", list[int]), g.map("a", takes_text, each={"x": "n"})), ["wants list[str]"]),
        (lambda g: (g.add("a", number), g.map("b", takes_float, each={"x": "a"})), ["wants list[float]"]),
    ],
)  # fmt: skip
def test_types_that_cannot_fit(build: Build, words: list[str]) -> None:
    found = said(built(build))
    assert bool(found) == bool(words)
    for word in words:
        assert word in "\n".join(found)


@pytest.mark.parametrize(
    "build",
    [
        fed(number, takes_float),
        fed(maybe, takes_text),
        fed(text, takes_optional),
        fed(text, takes_outcome),
        fed(text, takes_maybe),
        fed(text, unhashable),
        fed(anything, takes_text),
        fed(number, takes_anything),
        fed(risk, takes_text),
        fed(level, takes_text),
        fed(draft, takes_text, bind={"x": "a.title"}),
        fed(page, takes_text, bind={"x": "a.title"}),
        fed(texts, takes_text, bind={"x": "a.0"}),
        fed(anything, takes_text, bind={"x": "a.what.ever"}),
        fed(text, takes_texts, bind={"x": ["a", "a"]}),
        fed(text, takes_float, bind={}, values={"x": 0}),
        fed(text, takes_optional, bind={}, values={"x": None}),
        fed(text, takes_outcome, bind={}, values={"x": "a constant"}),
    ],
)
def test_types_that_may_fit(build: Build) -> None:
    assert said(built(build)) == []


def test_a_comparison_is_made_once_for_each_pair_of_types(monkeypatch: pytest.MonkeyPatch) -> None:
    import flowgraph.disjoint as module

    asked: list[tuple[Any, Any]] = []
    monkeypatch.setattr(module, "disjoint", lambda a, b: bool(asked.append((a, b))))
    graph = built(fed(number, takes_float))
    for index in range(5):
        graph.add(f"n{index}", takes_float, bind={"x": "a"})
    assert said(graph) == []
    assert asked == [(int, float)]


# -- joins


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (joined(takes_two, fg.Join.ANY), ["z: parameter 'x' may get nothing from 'a' under Join 'any'", "fg.Maybe"]),
        (joined(takes_two, fg.Join.DONE), ["parameter 'y' may get nothing from 'b' under Join 'done'", "fg.Outcome"]),
        (joined(lambda x, y: x, fg.Join.ANY), ["parameter 'x'"]),
        (joined(takes_texts, fg.Join.ANY, bind={"x": ["a", "b"]}), ["from 'a', 'b'"]),
        (joined(takes_two_maybe, fg.Join.at_least(3)), ["when 3 of the nodes", "they read only 2"]),
        (joined(text, fg.Join.ANY, bind={}, after=["a"]), ["when 1 of the nodes", "they read only 0"]),
    ],
)
def test_joins_that_cannot_work(build: Build, words: list[str]) -> None:
    found = "\n".join(said(built(build)))
    for word in words:
        assert word in found


@pytest.mark.parametrize(
    "build",
    [
        joined(takes_two, fg.Join.ALL),
        joined(takes_two, fg.Join.at_least(2)),  # both must have succeeded, then
        joined(takes_two_maybe, fg.Join.ANY),
        joined(takes_two_maybe, fg.Join.DONE),
        joined(takes_optional, fg.Join.DONE, bind={"x": "a"}),
        joined(takes_default, fg.Join.DONE, bind={"x": "a"}),
        joined(takes_outcome, fg.Join.DONE, bind={"x": "a"}),
        joined(takes_text, fg.Join.ANY, bind={"x": "a"}),
        joined(lambda parts: parts, fg.Join.ANY, bind={"parts": ["a", "b"]}),
        joined(takes_text, fg.Join.DONE, bind={}, values={"x": ""}),
    ],
)
def test_joins_that_work(build: Build) -> None:
    assert said(built(build)) == []


# -- choices


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (chosen(risk, {"low": "b"}), ["a: choose() has no case for 'high'", "add a case", "default"]),
        (
            chosen(risk, {"low": "b", "hihg": "c"}, default=[]),
            ["'hihg', which 'a' never gives", "did you mean 'high'?"],
        ),
        (chosen(flag, {True: "b"}), ["no case for False"]),
        (chosen(flag, {"yes": "b"}, default=[]), ["a case for 'yes', which 'a' never gives: it gives True, False"]),
        (chosen(level, {Level.LOW: "b"}), ["no case for <Level.HIGH: 'high'>"]),
        (chosen(level, {"low": "b"}, default=[]), ["such as <Level.LOW: 'low'>", "match by type and value"]),
        (chosen(lambda: None, {}), ["no case: give it one"]),
        (chosen(number, {"1": "b"}, default=[]), ["a case for str '1', but 'a' gives int", "match by type and value"]),
        (chosen(draft, {"x": "b"}, default=[], on="a.score"), ["'a['score']' gives int"]),
        (chosen(draft, {"x": "b"}, default=[], on="a.titel"), ["'a['titel']' is never there"]),
        (chosen(risk, {"low": "b", "high": "cc"}), ["choose() names 'cc', which is not a node", "did you mean 'c'?"]),
    ],
)
def test_choices_that_cannot_work(build: Build, words: list[str]) -> None:
    found = "\n".join(said(built(build)))
    for word in words:
        assert word in found


@pytest.mark.parametrize(
    "build",
    [
        chosen(risk, {"low": "b", "high": "c"}),
        chosen(risk, {"low": "b"}, default="c"),
        chosen(risk, {"low": [], "high": fg.END}),
        chosen(flag, {True: "b", False: "c"}),
        chosen(level, {Level.LOW: "b", Level.HIGH: "c"}),
        chosen(text, {"x": "b"}),
        chosen(anything, {"x": "b", 1: "c", None: []}),
        chosen(maybe, {"x": "b", None: "c"}),
        chosen(draft, {1: "b"}, on="a.score"),
    ],
)
def test_choices_that_work(build: Build) -> None:
    assert said(built(build)) == []


def test_a_target_that_is_named_twice_is_a_warning() -> None:
    graph = built(chosen(risk, {"low": ["b", "b"], "high": "c"}))
    assert "a: choose() names 'b' twice for 'low': leave one out" in said(graph, "warning")


# -- outputs


def test_an_output_that_a_choice_may_skip_is_a_warning() -> None:
    graph = built(chosen(risk, {"low": "b", "high": "c"}))
    assert said(graph, "warning") == [
        (
            "b: an output of the graph, it is skipped when 'a' gives 'high': let a later node join the branches with "
            "fg.Maybe"
        ),
        (
            "c: an output of the graph, it is skipped when 'a' gives 'low': let a later node join the branches with "
            "fg.Maybe"
        ),
    ]
    graph.add("z", takes_two_maybe, bind={"x": "b", "y": "c"})
    assert check(graph) == []


@pytest.mark.parametrize(
    ("reader", "options", "skipped"),
    [
        (takes_text, {"bind": {"x": "b"}}, "'high'"),
        (takes_two, {"bind": {"x": "b", "y": "a"}}, "'high'"),
        (takes_maybe, {"bind": {"x": "b"}}, ""),
        (takes_outcome, {"bind": {"x": "b"}}, ""),
        (takes_optional, {"bind": {"x": "b"}, "join": fg.Join.DONE}, ""),
    ],
)
def test_a_skip_is_followed_through_required_parameters(reader: Any, options: Any, skipped: str) -> None:
    graph = built(chosen(risk, {"low": "b", "high": []}))
    graph.add("z", reader, **options)
    graph.output("z")
    found = said(graph, "warning")
    assert bool(found) == bool(skipped)
    assert all(problem.startswith("z: ") and f"'a' gives {skipped}" in problem for problem in found)


def test_a_graph_with_several_ends_must_say_what_it_gives_when_it_runs_as_a_node() -> None:
    inner = built(lambda g: (g.add("a", text), g.add("b", text)))
    assert check(inner) == []
    outer = fg.Graph("outer")
    outer.add("part", inner)
    outer.add("c", takes_anything, bind={"x": "part"})
    assert said(outer) == [
        (
            "part: graph 'g' runs as a node, but ends in several nodes ('a', 'b'): "
            "say with g.output(...) which of them it gives"
        )
    ]
    inner.output("a", "b")
    assert check(outer) == []


# -- graphs inside graphs


def test_problems_inside_are_reported_with_their_path() -> None:
    inner = built(fed(number, takes_text))
    middle = fg.Graph("middle")
    middle.add("inner", inner)
    outer = fg.Graph("outer")
    outer.add("first", takes_text, bind={"x": "topik"})
    outer.add("middle", middle)
    outer.add("items", texts)
    outer.map("all", built(lambda g: (g.input("x", str), g.add("n", lambda y: y))), each={"x": "items"})
    outer.add("safe", text, fallback=built(fed(text, takes_float)))
    assert [problem.where for problem in check(outer)] == [
        "first",
        "middle/inner/b",
        "all/n",
        "safe/fallback/b",
        "all/x",
    ]


def test_what_a_node_says_of_itself_is_reported_with_its_path() -> None:
    graph = fg.Graph("g")
    graph.add("one", Agent())
    graph.add("loop", Agent(kind="loop", inner=built(lambda g: g.add("deep", Agent()))))
    graph.add("safe", text, fallback=Agent())
    assert said(graph) == [
        f"{path}: no key for its model: set MODEL_KEY" for path in ("one", "loop", "loop/deep", "safe/fallback")
    ]


def test_a_graph_that_is_used_in_many_places_is_checked_once() -> None:
    graph = built(fed(number, takes_text))
    for level_ in range(30):  # 2 to the 30th places
        outer = fg.Graph(f"level{level_}")
        outer.add("left", graph)
        outer.add("right", graph, after=["left"])
        graph = outer
    assert len(check(graph)) == 1


def test_a_graph_that_contains_itself_is_an_error() -> None:
    one, other = fg.Graph("one"), fg.Graph("other")
    one.add("a", text)
    other.add("b", one)
    one.add("c", other, after=["a"])
    assert said(one) == ["c/b: graph 'one' contains itself: put what is repeated into a loop"]
    with pytest.raises(fg.GraphError, match="contains itself"):
        checked(one)


# -- order, caching, size


def test_errors_come_first_and_both_kinds_in_declared_order() -> None:
    graph = fg.Graph("g")
    graph.input("unused")
    graph.add("a", lambda missing: missing)
    graph.add("b", risk)
    graph.add("c", lambda gone, topic="x": gone, when="b")
    graph.input("topic")
    graph.choose("b", {"low": "c"})
    graph.output("nowhere")
    assert [(problem.severity, problem.where) for problem in check(graph)] == [
        ("error", ""),
        ("error", "a"),
        ("error", "b"),
        ("error", "c"),
        ("warning", "unused"),
        ("warning", "topic"),
        ("warning", "c"),
    ]


def test_all_errors_are_raised_at_once_and_warnings_never() -> None:
    graph = built(chosen(risk, {"low": "b", "high": "c"}))
    assert checked(graph) is plan_of(graph)
    graph.add("x", lambda gone: gone)
    graph.add("y", lambda missing: missing)
    with pytest.raises(fg.GraphError, match="graph 'g' has 2 problems") as caught:
        checked(graph)
    assert [problem.where for problem in caught.value.problems] == ["x", "y"]


def test_a_graph_that_passed_is_not_checked_again_until_it_or_one_inside_changes() -> None:
    asked: list[int] = []

    class Asked(Agent):
        def problems(self) -> list[str]:
            asked.append(1)
            return []

    inner, outer = fg.Graph("inner"), fg.Graph("outer")
    inner.add("a", Asked())
    outer.add("b", inner)
    for _ in range(3):
        checked(outer)
    assert len(asked) == 1
    inner.add("c", lambda a, gone: a)
    with pytest.raises(fg.GraphError, match="b/c"):
        checked(outer)


def test_checking_holds_on_to_no_graph() -> None:
    def gone() -> list[weakref.ref[fg.Graph]]:
        inner, outer = built(fed(text, takes_text)), fg.Graph("outer")
        outer.add("part", inner)
        checked(outer)
        return [weakref.ref(inner), weakref.ref(outer)]

    graphs_ = gone()
    gc.collect()
    assert [graph() for graph in graphs_] == [None, None]


def test_a_plain_graph_is_checked_without_the_costly_libraries() -> None:
    code = """
import sys, flowgraph as fg
from flowgraph.checks import checked
graph = fg.Graph("g")
graph.input("topic", str)
def a(topic: str) -> str: ...
def b(a: str, anything, n: int = 1) -> dict[str, int]: ...
def c(b: dict[str, int]): ...
for node in (a, b, c):
    graph.add(node.__name__, node, **({"bind": {"anything": "topic"}} if node is b else {}))
graph.choose("c", {"x": []})
checked(graph)
print(*{"networkx", "beartype", "pydantic", "flowgraph.disjoint"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=".")
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("shape", ["chain", "wide", "layers"])
def test_ten_thousand_nodes(shape: str) -> None:
    limit = sys.getrecursionlimit()
    graph = fg.Graph(shape)
    graph.add("n0", takes_float, values={"x": 1})
    for index in range(1, 10_000):
        parent = {"chain": index - 1, "wide": 0, "layers": max(0, index - 50)}[shape]
        graph.add(f"n{index}", takes_float if index % 2 else lambda x: 1, bind={"x": f"n{parent}"})
    graph.add("end", takes_anything, bind={"x": [f"n{index}" for index in range(10_000)]})
    assert limit < 10_000
    assert check(graph) == []
    graph.add("wrong", takes_text, bind={"x": "n1"})
    assert [problem.where for problem in check(graph)] == ["wrong"]


# -- order of adding (C10)


def third(a: int, b: int = 2) -> int:
    return a + b


def steps() -> list[tuple[str, Any, dict[str, Any]]]:
    return [
        ("a", number, {}),
        ("b", lambda a: a + 10, {}),
        ("third", third, {"bind": {"b": "b"}}),
        ("end", takes_maybe_number, {"bind": {"x": "third", "y": "b"}, "after": ["a"]}),
    ]


def takes_maybe_number(x: fg.Maybe[int], y: fg.Maybe[int]) -> tuple[int | None, int | None]:
    return x, y


def shown(graph: fg.Graph) -> dict[str, Any]:
    """The plan, without the numbers that follow from the order of adding."""
    plan = plan_of(graph)
    names = plan.names
    return {
        node.name: (
            [(names[e.parent], e.required, e.tolerant, e.data, e.control) for e in node.parents],
            sorted(names[child] for child in node.children),
            sorted((plan.choices[t.choice].chooser == names.index("b"), t.through) for t in node.targeted),
            sorted([names[p] for p in r.branch] for r in node.rejoins),
        )
        for node in plan.nodes
    }


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_c10_the_order_of_adding_changes_neither_plan_nor_checks_nor_results(order: tuple[int, ...]) -> None:
    plans = []
    for numbers_ in (range(4), order):
        graph = fg.Graph("g")
        for number_ in numbers_:
            name, node, options = steps()[number_]
            graph.add(name, node, **options)
        graph.choose("b", {11: "third"}, default=[])
        plan = checked(graph)
        place = {plan.names[index]: position for position, index in enumerate(plan.order)}
        assert place["a"] < place["b"] < place["third"] < place["end"]
        assert check(graph) == []
        plans.append(shown(graph))
    assert plans[0] == plans[1]
    assert fg.run(graph).output == (12, 11)


# -- any graph at all


@st.composite
def graphs(draw: st.DrawFn) -> fg.Graph:
    """A graph with any names anywhere, right or wrong."""
    names = st.sampled_from(["a", "b", "c", "d", "topic", "gone"])
    nodes = st.sampled_from(
        [
            number,
            text,
            risk,
            draft,
            takes_text,
            takes_two,
            takes_two_maybe,
            takes_texts,
            takes_outcome,
            Agent(),
            takes_default,
            takes_anything,
            lambda a: a,
            lambda b, topic: b,
            fg.Graph("empty"),
        ]
    )
    joins = st.sampled_from([fg.Join.ALL, fg.Join.ANY, fg.Join.DONE, fg.Join.at_least(2)])
    ref = st.one_of(names, names.map(lambda name: f"{name}.title"))
    graph = fg.Graph("drawn")
    graph.input("topic", draw(st.sampled_from([str, int, Any])))
    for name in draw(st.permutations(["a", "b", "c", "d"])):
        graph.add(
            name,
            draw(nodes),
            bind=draw(st.dictionaries(st.sampled_from("xyz"), st.one_of(ref, st.lists(ref, max_size=3)), max_size=2)),
            values=draw(st.dictionaries(st.sampled_from("xyz"), st.sampled_from([0, "", None]), max_size=1)),
            after=draw(st.lists(names, max_size=1)),
            needs=draw(st.none() | st.lists(names, max_size=2)),
            when=draw(st.sampled_from([None, None, "a", "topic", "gone > 1"])),
            join=draw(joins),
        )
    targets = st.one_of(st.lists(names, max_size=2), st.just(fg.END))
    labels = st.sampled_from(["low", "high", 1, None, True])
    for on in draw(st.lists(ref, max_size=2)):
        graph.choose(on, draw(st.dictionaries(labels, targets, max_size=3)))
    if draw(st.booleans()):
        graph.output(draw(ref))
    return graph


@given(graphs())
def test_checks_never_raise_and_without_errors_everything_has_its_turn(graph: fg.Graph) -> None:
    problems = check(graph)
    assert problems == sorted(problems, key=lambda problem: problem.severity == "warning")
    assert problems == check(graph)
    plan = plan_of(graph)
    if any(problem.severity == "error" for problem in problems):
        with pytest.raises(fg.GraphError):
            checked(graph)
        return
    assert checked(graph) is plan
    assert sorted(plan.order) == list(range(len(plan.nodes)))
    place = {index: position for position, index in enumerate(plan.order)}
    for index, node in enumerate(plan.nodes):
        assert all(place[edge.parent] < place[index] for edge in node.parents)


@given(st.permutations(range(12)), st.data())
def test_a_graph_that_reads_only_upwards_has_no_cycle(order: list[int], data: st.DataObject) -> None:
    graph = fg.Graph("drawn")
    for index in order:
        graph.add(f"n{index}", text, after=[f"n{i}" for i in data.draw(st.sets(st.integers(0, 11))) if i < index])
    assert check(graph) == []
    assert len(checked(graph).order) == 12
