"""Inputs that nobody sends on purpose: errors that cannot be told, odd exceptions, expressions that reach too far."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import anyio
import pytest

import flowgraph as fg
from flowgraph.cli.jsonl import json_text
from flowgraph.expressions import Expression

pytestmark = pytest.mark.anyio


class Untold(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError


class Odd(BaseException):
    pass


class Point(NamedTuple):
    x: int


class Walks(Protocol):
    def walk(self) -> int: ...


async def good() -> int:
    await anyio.lowlevel.checkpoint()
    return 1


@pytest.mark.parametrize(
    "error", [Untold(), Odd("odd"), BaseExceptionGroup("g", [Odd()]), StopIteration(1), fg.Skip(Untold())], ids=repr
)
async def test_whatever_a_node_raises_fails_that_node_alone(error: BaseException) -> None:
    graph = fg.Graph("g")
    graph.add("good", good)

    @graph.node(fallback=7)
    async def saved() -> int:
        raise error

    @graph.node
    async def bad() -> int:
        raise error

    run = await fg.arun(graph, raise_on_failure=False)
    assert run["good"] == 1
    assert str(run.outcomes["bad"].status) in ("failed", "skipped")
    assert "bad" in str(run)
    if not isinstance(error, fg.Skip):
        assert run["saved"] == 7


async def test_an_interrupt_in_a_group_still_interrupts() -> None:
    graph = fg.Graph("g")

    @graph.node
    async def bad() -> int:
        raise BaseExceptionGroup("g", [KeyboardInterrupt()])

    with pytest.raises(BaseException) as raised:
        await fg.arun(graph)
    assert isinstance(raised.value, KeyboardInterrupt | BaseExceptionGroup)


async def test_a_condition_that_raises_what_cannot_be_told_is_a_condition_error() -> None:
    graph = fg.Graph("g")

    def refuses() -> bool:
        raise Untold

    graph.add("node", good, when=refuses)
    run = await fg.arun(graph, raise_on_failure=False)
    assert isinstance(run.outcomes["node"].error, fg.ConditionError)


async def test_text_that_no_screen_can_show_is_escaped_in_reasons() -> None:
    graph = fg.Graph("g")

    @graph.node
    async def bad() -> int:
        raise ValueError("half \ud83d an emoji")

    run = await fg.arun(graph, raise_on_failure=False)
    assert "half \\ud83d an emoji" in str(run).encode().decode()


@pytest.mark.parametrize("backend", ["asyncio"])
def test_a_node_that_cancels_its_own_task_harms_no_other(backend: str) -> None:
    graph = fg.Graph("g")

    @graph.node
    async def rash() -> int:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return 1

    @graph.node
    async def after(rash: int) -> int:
        await anyio.sleep(0)
        return rash + 1

    async def main() -> fg.Run:
        return await fg.arun(graph, raise_on_failure=False)

    run = anyio.run(main, backend=backend)
    assert str(run.outcomes["after"].status) == "succeeded"


# expressions


@pytest.mark.parametrize("name", ["all", "any", "sum", "min", "len", "str", "lower"])
async def test_a_node_named_like_a_function_is_a_node(name: str) -> None:
    graph = fg.Graph("g")
    graph.add(name, lambda: 0)
    graph.add("after", good, when=f"{name} == 0")
    graph.add("never", good, when=name)
    run = await fg.arun(graph)
    assert (run["after"], str(run.outcomes["never"].status)) == (1, "skipped")


@pytest.mark.parametrize("text", ["items.pop()", "p.unlink()", "''.join(items)", "(lambda: 1)()", "open('x')", "f()()"])
def test_an_expression_calls_functions_of_its_list_and_nothing_else(text: str) -> None:
    with pytest.raises(ValueError, match=r"calls|not an expression"):
        Expression(text)


def test_names_of_comprehensions_hide_others_inside_them_only() -> None:
    expression = Expression("any([x > 1 for x in xs if x > y]) and x > 3")
    assert expression.names == ("xs", "y", "x")
    assert expression({"xs": [5], "y": 0, "x": 4}) is True


@pytest.mark.parametrize("text", ["-" * 1500 + "1", "+".join(["1"] * 5000), "(" * 300 + "1" + ")" * 300])
def test_expressions_without_end_are_refused_when_they_are_read(text: str) -> None:
    with pytest.raises(ValueError, match="expression"):
        Expression(text)


def test_formatting_is_no_part_of_the_language() -> None:
    with pytest.raises(TypeError, match="for numbers"):
        Expression("text % 1")({"text": "%999999999s"})
    assert Expression("7 % 4")({}) == 3


# types


@pytest.mark.parametrize("value", [[1], {"x": 1}])
async def test_a_named_tuple_is_wanted_as_itself(value: Any) -> None:
    graph = fg.Graph("g")

    @graph.node
    async def node() -> Point:
        return value  # type: ignore[no-any-return]

    run = await fg.arun(graph, raise_on_failure=False)
    assert isinstance(run.outcomes["node"].error, fg.OutputError)


async def test_a_protocol_that_cannot_be_checked_is_not_checked() -> None:
    graph = fg.Graph("g")

    @graph.node
    async def node() -> Walks:
        return "anything"  # type: ignore[return-value]

    assert (await fg.arun(graph)).output == "anything"


def test_a_bare_awaitable_is_any() -> None:
    def node() -> Awaitable: ...  # type: ignore[type-arg,empty-body]

    graph = fg.Graph("g")
    graph.add("node", node)
    assert graph.entries["node"].node.output_type is Any


def test_a_function_whose_name_is_no_node_name_asks_for_one() -> None:
    graph = fg.Graph("g")

    def ünï() -> int:
        return 1

    with pytest.raises(ValueError, match="'ünï'"):
        graph.node(ünï)
    graph.node(name="uni")(ünï)


# graphs, runs


def test_a_graph_that_contains_itself_is_refused_and_still_draws() -> None:
    graph = fg.Graph("g")
    graph.add("me", graph)
    assert "digraph" in fg.draw(graph, format="dot")
    assert any("itself" in str(problem) or "me" in problem.where for problem in fg.check(graph))


async def test_a_part_of_the_output_that_is_not_there_is_no_output() -> None:
    graph = fg.Graph("g")
    graph.add("a", lambda: {"x": 1})
    graph.output("a.y")
    run = await fg.arun(graph)
    with pytest.raises(fg.NoOutput, match="'y'"):
        run.output  # noqa: B018 - reading it is the test


async def test_a_live_run_is_entered_once() -> None:
    graph = fg.Graph("g")
    graph.add("good", good)
    live = fg.start(graph)
    async with live:
        await live.result()
        with pytest.raises(fg.FlowgraphError, match="entered before"):
            await live.__aenter__()


async def test_two_tasks_share_one_reader_without_hanging() -> None:
    graph = fg.Graph("g")
    graph.add("good", good)
    seen: list[Any] = []
    async with fg.start(graph) as live:
        reader = aiter(live)

        async def read() -> None:
            seen.extend([event async for event in reader])

        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(read)
                group.start_soon(read)
    assert len(seen) == 4


# threads


async def test_a_sync_node_calls_sync_nodes_on_the_only_thread() -> None:
    def one() -> int:
        return 1

    def node(ctx: fg.SyncContext) -> int:
        return int(ctx.call(one)) + sum(ctx.gather(ctx.branch(one), ctx.branch(one)))

    graph = fg.Graph("g")
    graph.add("node", node)
    with anyio.fail_after(10):
        assert (await fg.arun(graph, threads=1)).output == 3


# the command line


def test_any_value_prints_as_json() -> None:
    ring: list[Any] = []
    ring.append(ring)

    class Mute:
        def __repr__(self) -> str:
            raise ZeroDivisionError

    for value in ("\ud83d half", {"b": b"\xff"}, ring, Mute(), {"m": Mute()}, float("nan"), Path("x"), {1: 2}):
        assert json_text(value).encode(), "there is a text, and it can be printed"
