"""What can be a node, and how it is called: sync and async, partials, methods, objects, classes, annotations."""

from __future__ import annotations

import functools
import threading
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, Unpack

import anyio
import pytest
from pydantic import BaseModel

import flowgraph as fg
from flowgraph.node import FunctionNode, Kind, as_node

if TYPE_CHECKING:
    from decimal import Decimal as OnlyForCheckers

pytestmark = pytest.mark.anyio


class Item(BaseModel):
    name: str


@dataclass
class Point:
    x: int
    y: int = 0


class Movie(TypedDict):
    title: str
    item: Item


async def output_of(node: Any, **values: Any) -> Any:
    graph = fg.Graph("g")
    graph.add("it", node, values=values)
    return (await fg.arun(graph)).output


# -- what can be a node


async def test_functions_partials_methods_objects_and_classes_are_nodes() -> None:
    def plain(a: int) -> int:
        return a + 1

    async def later(a: int) -> int:
        await anyio.lowlevel.checkpoint()
        return a + 2

    class Adder:
        def __init__(self, by: int) -> None:
            self.by = by

        def method(self, a: int) -> int:
            return a + self.by

        def __call__(self, a: int) -> int:
            return a + self.by

        @classmethod
        def of_class(cls, a: int) -> str:
            return f"{cls.__name__} {a}"

        @staticmethod
        def static(a: int) -> int:
            return -a

    class AsyncAdder:
        async def __call__(self, a: int) -> int:
            return a + 7

    def two(a: int, b: int) -> int:
        return a * b

    assert await output_of(plain, a=1) == 2
    assert await output_of(later, a=1) == 3
    assert await output_of(Adder(3).method, a=1) == 4
    assert await output_of(Adder(4), a=1) == 5
    assert await output_of(Adder.of_class, a=1) == "Adder 1"
    assert await output_of(Adder.static, a=1) == -1
    assert await output_of(AsyncAdder(), a=1) == 8
    assert await output_of(functools.partial(two, b=5), a=2) == 10
    assert await output_of(functools.partial(later), a=2) == 4
    assert await output_of(functools.partial(AsyncAdder()), a=1) == 8
    assert await output_of(Point, x=1) == Point(1)
    assert await output_of(Item, name="x") == Item(name="x")
    assert await output_of(lambda a: a, a=3) == 3


async def test_keyword_only_parameters_bind_like_others() -> None:
    def keyed(*, a: int, b: int = 2) -> int:
        return a * b

    assert await output_of(keyed, a=3) == 6


async def test_a_wrapped_function_keeps_its_signature() -> None:
    def timed(function: Any) -> Any:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return inner

    @timed
    async def add(a: int, b: int) -> int:
        return a + b

    assert await output_of(add, a=1, b=2) == 3


async def test_c52_a_sync_function_that_returns_an_awaitable_is_awaited() -> None:
    async def later(a: int) -> int:
        return a + 1

    def gives(a: int) -> Awaitable[int]:
        return later(a)

    assert await output_of(gives, a=1) == 2
    assert await output_of(lambda a: later(a), a=1) == 2


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda *args: 1, "args"),
        (lambda **kwargs: 1, "kwargs"),
        (lambda a, /: a, "positional-only"),
        (3, "cannot be a node"),
        ("draft", "cannot be a node"),
        (None, "cannot be a node"),
    ],
)
async def test_what_cannot_be_called_by_name_is_refused_when_it_is_added(bad: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        fg.Graph("g").add("it", bad)


class Options(TypedDict):
    b: int


def odd(a: int, b: int = 2, /, c: int = 3, *args: int, d: int, e: int = 5, **kwargs: int) -> list[Any]:
    return [a, b, c, args, d, e, kwargs]


async def async_odd(a: int, b: int = 2, /, c: int = 3, *args: int, d: int, e: int = 5, **kwargs: int) -> list[Any]:
    return odd(a, b, c, *args, d=d, e=e, **kwargs)


@pytest.mark.parametrize("function", [odd, async_odd])
@pytest.mark.parametrize("inline", [False, True])
async def test_parameters_of_every_kind_can_be_bound_when_they_are_named(function: Any, inline: bool) -> None:
    graph = fg.Graph("g")
    graph.input("d", int)
    graph.input("many", list[int])
    graph.add("one", lambda: 1)
    bound = {"a": "one", "b": "d", "args": ["one", "d"]}
    graph.node(function, name="both", inline=inline, bind=bound, values={"kwargs": {"a": 7, "x": 8}})
    graph.node(function, name="list", inline=inline, bind={"a": "d", "args": "many"}, values={"kwargs": {}, "b": 0})
    run = await fg.arun(graph, {"d": 4, "many": [5, 6]})
    assert run["both"] == [1, 4, 3, (1, 4), 4, 5, {"a": 7, "x": 8}]
    assert run["list"] == [4, 0, 3, (5, 6), 4, 5, {}]


@pytest.mark.parametrize(("left_out", "why"), [("a", "positional-only"), ("b", "positional-only"), ("args", r"\*args")])
async def test_parameters_that_bind_to_nothing_by_themselves_must_be_named(left_out: str, why: str) -> None:
    graph = fg.Graph("g")
    graph.input("a", int)
    values = {name: value for name, value in {"a": 1, "b": 2, "args": [], "kwargs": {}}.items() if name != left_out}
    with pytest.raises(TypeError, match=f"node 'it': parameter '{left_out}' of 'odd' is {why}.*name it in bind="):
        graph.add("it", odd, values=values)
    assert graph.entries == {}
    with pytest.raises(TypeError, match=left_out):
        graph.map("it", odd, each={"d": "a"}, values=values)
    with pytest.raises(TypeError, match=left_out):
        graph.node(odd, values=values)


async def test_odd_parameters_of_builtins_contexts_partials_methods_and_items() -> None:
    def with_context(ctx: fg.Context, text: str, /, *more: str) -> str:
        return f"{ctx.path}: {text} {more}"

    def blocking(ctx: fg.SyncContext, text: str, /, **more: Unpack[Options]) -> list[Any]:
        return [ctx.call(len, {"obj": text}), more]

    class Adder:
        def add(self, *numbers: int) -> int:
            return sum(numbers)

    graph = fg.Graph("g")
    graph.input("texts", list[str])
    graph.add("count", len, bind={"obj": "texts"})
    graph.add("context", with_context, bind={"text": "first", "more": ["first", "first"]})
    graph.add("first", lambda texts: texts[0])
    graph.add("blocking", blocking, bind={"text": "first"}, values={"more": {"b": 2}})
    graph.add("partial", functools.partial(odd, 1, d=2), values={"b": 3, "args": [], "kwargs": {}})
    graph.add("method", Adder().add, bind={"numbers": ["count", "count"]})
    graph.map("items", str.upper, each={"self": "texts"})
    run = await fg.arun(graph, {"texts": ["a", "bc"]})
    assert (run["count"], run["method"], run["items"]) == (2, 4, ["A", "BC"])
    assert run["context"] == "context: a ('a', 'a')"
    assert run["blocking"] == [1, {"b": 2}]
    assert run["partial"] == [1, 3, 3, (), 2, 5, {}]


async def test_values_for_odd_parameters_are_checked_and_calls_name_them_too() -> None:
    async def calls(ctx: fg.Context) -> list[Any]:
        with pytest.raises(fg.InputError, match="needs a value for 'a'"):
            ctx.call(odd, {"d": 1})
        return await ctx.call(odd, {"a": 1, "args": [2], "kwargs": {"z": 3}, "d": 4})

    graph = fg.Graph("g")
    graph.add("calls", calls)
    assert (await fg.arun(graph))["calls"] == [1, 2, 3, (2,), 4, 5, {"z": 3}]
    graph.add("wrong", odd, values={"a": "x", "b": 2, "args": ["y"], "kwargs": {"z": "z"}, "d": 1})
    wrong = [problem.message for problem in fg.check(graph)]
    assert [name for name in ("'a'", "'args'", "'kwargs'") if any(name in text for text in wrong)] == [
        "'a'",
        "'args'",
        "'kwargs'",
    ]


async def test_a_condition_takes_values_by_name_only() -> None:
    graph = fg.Graph("g")
    for when, name in ((lambda *a: True, "a"), (lambda b, /: True, "b"), (lambda **c: True, "c")):
        with pytest.raises(TypeError, match=f"a condition cannot take '{name}'"):
            graph.add("it", lambda: 1, when=when)


async def test_generator_functions_are_refused() -> None:
    def gen() -> Any:
        yield 1

    async def agen() -> Any:
        yield 1

    for function in (gen, agen):
        with pytest.raises(TypeError, match="generator"):
            as_node(function)


# -- annotations


async def test_kinds_are_read_from_annotations_postponed_or_not() -> None:
    def postponed(a: int, b: fg.Maybe[str], c: fg.Outcome[int], ctx: fg.Context[dict[str, int]], d: str = "d") -> None:
        pass

    here: dict[str, Any] = {}
    declared = "a: int, b: fg.Maybe[str], c: fg.Outcome[int], ctx: fg.Context[dict[str, int]], d: str = 'd'"
    exec(compile(f"def direct({declared}) -> None: ...", "direct", "exec", dont_inherit=True), {"fg": fg}, here)
    for function in (postponed, here["direct"]):
        parameters = FunctionNode(function).parameters
        kinds = [p.kind for p in parameters.values()]
        assert kinds == [Kind.REQUIRED, Kind.MAYBE, Kind.OUTCOME, Kind.CONTEXT, Kind.DEFAULT]
        assert parameters["a"].type is int
        assert parameters["c"].type is int
        assert parameters["d"].default == "d"


async def test_annotations_may_name_what_the_function_closes_over() -> None:
    class Local(BaseModel):
        x: int

    def gives(value: Local) -> Local:
        return Local(x=value.x + 1)

    assert FunctionNode(gives).output_type is Local
    assert await output_of(gives, value=Local(x=1)) == Local(x=2)


async def test_an_annotation_that_cannot_be_resolved_counts_as_any_with_a_warning() -> None:
    def loose(value: OnlyForCheckers, other: int) -> OnlyForCheckers:
        return value

    with pytest.warns(UserWarning, match="of 'loose' cannot be resolved"):
        node = FunctionNode(loose)
    assert node.parameters["value"].type is Any
    assert node.parameters["other"].type is int
    assert await output_of(node, value="x", other=1) == "x"


async def test_the_context_is_given_whatever_its_name() -> None:
    def named(c: fg.Context, a: int) -> str:
        return f"{c.path} {a}"

    assert await output_of(named, a=1) == "it 1"


# -- outputs


@pytest.mark.parametrize("value", [0, 0.0, False, "", [], {}, None, (), b"", set()])
async def test_c03_a_falsy_output_is_an_output(value: Any) -> None:
    graph = fg.Graph("g")
    graph.add("give", lambda: value)

    @graph.node
    def echo(give: Any) -> Any:
        return give

    for which in ("give", "echo"):
        graph.output(which)
        run = await fg.arun(graph)
        assert run.output is value
        assert run[which] is value
        assert run.outcomes[which] == fg.Outcome(fg.Status.SUCCEEDED, value, attempts=1, path=which)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, "1"),
        (int, True),
        (str, 1),
        (str, None),
        (float, "1.0"),
        (list[int], ["1"]),
        (list[int], (1,)),
        (dict[str, int], {"a": "b"}),
        (Item, {"name": "x"}),
        (Item | None, {"name": "x"}),
        (list[Item], [Item(name="x"), {"name": "y"}]),
        (dict[str, list[Item]], {"a": [{"name": "y"}]}),
        (Point, (1, 2)),
        (Point, {"x": 1}),
        (int | None, "x"),
        (None, 3),
    ],
)
async def test_an_output_that_is_not_what_was_declared_fails_the_node_naming_both(annotation: Any, value: Any) -> None:
    def give() -> Any:
        return value

    give.__annotations__["return"] = annotation
    graph = fg.Graph("g")
    graph.add("give", give)
    run = await fg.arun(graph, raise_on_failure=False)
    error = run.outcomes["give"].error
    assert isinstance(error, fg.OutputError)
    assert "'give'" in str(error)
    assert f"got {type(value).__name__}" in str(error)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (float, 1),
        (int | None, None),
        (list[Item], [Item(name="a")]),
        (dict[str, list[int]], {"a": [1]}),
        (tuple[int, str], (1, "a")),
        (Point, Point(1)),
        (Movie, {"title": "x", "item": Item(name="y")}),
        (object, 3),
        (Any, 3),
        (threading.Lock, None),
    ],
)
async def test_a_valid_output_passes_as_the_very_same_object(annotation: Any, value: Any) -> None:
    if annotation is threading.Lock:

        class Plain:
            pass

        annotation, value = Plain, Plain()

    def give() -> Any:
        return value

    give.__annotations__["return"] = annotation
    assert await output_of(give) is value


async def test_handles_of_nodes_are_still_functions() -> None:
    graph = fg.Graph("g")

    @graph.node
    def double(a: int) -> int:
        return a * 2

    @graph.node
    async def triple(a: int) -> int:
        return a * 3

    assert double(4) == 8
    assert await triple(4) == 12
    assert await output_of(double, a=5) == 10  # and a handle is a node for another graph


async def test_a_class_of_your_own_is_a_node() -> None:
    class Constant:
        name = "constant"
        kind = "constant"
        parameters: ClassVar[dict[str, fg.Parameter]] = {}
        output_type = int

        async def call(self, ctx: fg.Context, inputs: dict[str, Any]) -> int:
            return 42

    assert isinstance(Constant(), fg.Node)
    assert await output_of(Constant()) == 42
