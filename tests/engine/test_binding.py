"""Binding: where a parameter's value comes from, and what happens when its parent was skipped or failed."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import flowgraph as fg

pytestmark = pytest.mark.anyio


def with_parent(ends: str, node: Any, **options: Any) -> fg.Graph:
    """A parent that succeeds, skips itself or fails, beside one that always succeeds, and the node that reads it."""
    graph = fg.Graph("g")

    @graph.node
    async def parent() -> str:
        if ends == "skipped":
            raise fg.Skip("no need")
        if ends == "failed":
            raise ValueError("broken")
        return "value"

    @graph.node
    async def other() -> str:
        return "other"

    graph.add("node", node, **options)
    return graph


def required(parent: Any, other: str) -> Any:
    return ("ran", parent)


def maybe(parent: fg.Maybe[str], other: str) -> Any:
    return ("ran", parent)


def outcome(parent: fg.Outcome[str], other: str) -> Any:
    return ("ran", parent.status.value, parent.value, parent.ok)


def default(other: str, parent: str = "default") -> Any:
    return ("ran", parent)


BOUND = {"bind": {"parent": "parent"}}


@pytest.mark.parametrize(
    ("node", "options", "ends", "expected"),
    [
        (required, {}, "ok", ("ran", "value")),
        (required, {}, "skipped", fg.Status.SKIPPED),
        (required, {}, "failed", fg.Status.UPSTREAM_FAILED),
        (maybe, {}, "ok", ("ran", "value")),
        (maybe, {}, "skipped", ("ran", None)),
        (maybe, {}, "failed", fg.Status.UPSTREAM_FAILED),
        (outcome, {}, "ok", ("ran", "succeeded", "value", True)),
        (outcome, {}, "skipped", ("ran", "skipped", None, False)),
        (outcome, {}, "failed", ("ran", "failed", None, False)),
        (default, BOUND, "ok", ("ran", "value")),
        (default, BOUND, "skipped", ("ran", "default")),
        (default, BOUND, "failed", fg.Status.UPSTREAM_FAILED),
        (default, {}, "ok", ("ran", "default")),
        (default, {}, "skipped", ("ran", "default")),
        (default, {}, "failed", ("ran", "default")),
    ],
)
async def test_the_table_of_kinds(node: Any, options: Any, ends: str, expected: Any) -> None:
    run = await fg.arun(with_parent(ends, node, **options), raise_on_failure=False)
    if isinstance(expected, fg.Status):
        assert run.outcomes["node"].status is expected
        with pytest.raises(fg.NoOutput):
            run["node"]
        assert run.outcomes["node"].reason is not None
        assert run.outcomes["node"].reason.node == "parent"
    else:
        assert run["node"] == expected


@pytest.mark.parametrize("missing", ["a", "b", "c"])
@pytest.mark.parametrize("how", ["skipped", "failed"])
async def test_c02_values_stay_under_their_own_names_when_one_parent_is_missing(missing: str, how: str) -> None:
    graph = fg.Graph("g")
    for name in "abc":

        async def give(name: str) -> str:
            if name != missing:
                return f"value of {name}"
            raise fg.Skip("no") if how == "skipped" else ValueError("no")

        graph.add(name, give, values={"name": name})

    @graph.node
    def join(a: fg.Outcome[str], b: fg.Outcome[str], c: fg.Outcome[str]) -> dict[str, Any]:
        return {"a": a.value, "b": b.value, "c": c.value}

    run = await fg.arun(graph, raise_on_failure=False)
    assert run["join"] == {name: None if name == missing else f"value of {name}" for name in "abc"}


@pytest.mark.parametrize("missing", ["a", "b", "c"])
async def test_c02_maybes_stay_under_their_own_names_when_one_parent_was_skipped(missing: str) -> None:
    graph = fg.Graph("g")
    for name in "abc":
        graph.add(name, lambda name: name * 2, values={"name": name}, when=f"{name != missing}")

    @graph.node
    def join(a: fg.Maybe[str], b: fg.Maybe[str], c: fg.Maybe[str]) -> list[str | None]:
        return [a, b, c]

    assert (await fg.arun(graph))["join"] == [None if name == missing else name * 2 for name in "abc"]


# -- bind=, values=, handles


async def test_bind_renames_and_takes_lists_parts_and_inputs() -> None:
    graph = fg.Graph("g")
    topic = graph.input("topic", str)

    @graph.node
    def one() -> dict[str, Any]:
        return {"title": "One", "list": [10, 20]}

    @graph.node
    def two() -> str:
        return "two"

    def join(text: str, parts: list[str], number: int, again: int) -> tuple[Any, ...]:
        return text, parts, number, again

    handle = graph.add(
        "join",
        join,
        bind={"text": topic, "parts": [two, "one.title", "topic"], "number": one["list"][1], "again": "one.list.0"},
    )
    run = await fg.arun(graph, {"topic": "bees"})
    assert run[handle] == ("bees", ["two", "One", "bees"], 20, 10)
    assert run[one["title"]] == "One"


async def test_a_list_binding_keeps_its_order_and_length_whatever_finishes_first_or_is_skipped() -> None:
    graph = fg.Graph("g")
    graph.add("a", lambda: "a")
    graph.add("b", lambda: "b", when="False")
    graph.add("c", lambda: "c")
    graph.add("join", lambda parts: parts, bind={"parts": ["c", "b", "a"]}, needs=("a",))
    graph.add("maybe", _maybe_list, bind={"parts": ["c", "b", "a"]})
    run = await fg.arun(graph)
    assert run["maybe"] == ["c", None, "a"]
    assert run.outcomes["join"].status is fg.Status.SKIPPED


def _maybe_list(parts: fg.Maybe[list[str]]) -> Any:
    return parts


@pytest.mark.parametrize("value", [0, False, "", [], None, {}])
async def test_c48_constants_are_values_even_when_they_are_falsy(value: Any) -> None:
    graph = fg.Graph("g")

    @graph.node(values={"a": value, "b": value})
    def echo(a: Any, b: Any = "default") -> tuple[Any, Any]:
        return a, b

    assert (await fg.arun(graph)).output == (value, value)


@pytest.mark.parametrize("value", [0, False, "", [], None, {}])
async def test_c48_a_falsy_input_replaces_its_default(value: Any) -> None:
    graph = fg.Graph("g")
    graph.input("a", Any, default="default")
    graph.add("echo", lambda a: a)
    assert (await fg.arun(graph, {"a": value})).output == value
    assert (await fg.arun(graph)).output == "default"


async def test_a_part_that_is_not_there_fails_the_reader_and_says_what_there_is() -> None:
    graph = fg.Graph("g")
    graph.add("one", lambda: {"title": "x"})
    graph.add("two", lambda text: text, bind={"text": "one.titel"}, retry=fg.Retry(attempts=3), fallback="none")
    graph.add("three", lambda text: text, bind={"text": "one.titel"})
    run = await fg.arun(graph, raise_on_failure=False)
    assert run["two"] == "none"
    error = run.outcomes["three"].error
    assert isinstance(error, fg.InputError)
    assert "titel" in str(error)
    assert "title" in str(error)


async def test_a_part_of_an_object_is_its_field_but_never_a_private_one() -> None:
    class Thing:
        public = 1
        _private = 2

    graph = fg.Graph("g")
    graph.add("thing", lambda: Thing())
    graph.add("good", lambda x: x, bind={"x": "thing.public"})
    graph.add("bad", lambda x: x, bind={"x": "thing._private"})
    run = await fg.arun(graph, raise_on_failure=False)
    assert run["good"] == 1
    assert run.outcomes["bad"].status is fg.Status.FAILED


# -- what is refused


def problems(graph: fg.Graph) -> str:
    with pytest.raises(fg.GraphError) as caught:
        fg.run(graph, {})
    return str(caught.value)


def test_a_name_that_nothing_provides_is_an_error_with_a_hint() -> None:
    graph = fg.Graph("g")
    graph.add("draft", lambda: "x")
    graph.add("brief", lambda drfat: drfat)
    graph.add("other", lambda text: text, bind={"text": "draught"})
    graph.add("third", lambda text: text, bind={"txt": "draft"}, values={"text": 1, "style": 2})
    text = problems(graph)
    assert "did you mean 'draft'" in text
    assert "'draught'" in text
    assert "bind= names 'txt'" in text
    assert "values= names 'style'" in text


def test_a_default_is_never_captured_by_a_node_of_nearly_that_name() -> None:
    graph = fg.Graph("g")
    graph.add("language", lambda: "German")

    @graph.node
    def write(language: str = "English") -> str:
        return language

    assert fg.run(graph)["write"] == "English"
    assert any("language" in problem.message and problem.severity == "warning" for problem in fg.check(graph))


def test_a_name_given_by_bind_and_values_is_an_error() -> None:
    graph = fg.Graph("g")
    graph.add("a", lambda: 1)
    graph.add("b", lambda x: x, bind={"x": "a"}, values={"x": 2})
    assert "leave one out" in problems(graph)


# -- order of building


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
async def test_c10_results_do_not_depend_on_the_order_of_adding(order: tuple[int, ...]) -> None:
    def third(a: int, b: int = 2) -> int:
        return a * 10 + b

    graph = fg.Graph("g")
    adds = [
        lambda: graph.add("a", lambda start: start + 1),
        lambda: graph.add("start", lambda: 0),
        lambda: graph.add("b", lambda a: a + 4),
        lambda: graph.add("third", third, bind={"b": "b"}),
    ]
    for index in order:
        adds[index]()
    run = await fg.arun(graph)
    assert run["third"] == 15
    finished = [e.path for e in run.events if type(e).__name__ == "NodeFinished"]
    assert finished == ["start", "a", "b", "third"]
