"""Loops: what counts as the same output again, and verdicts that are neither true nor false."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import flowgraph as fg
from flowgraph_nodes.flows import LoopFlow
from flowgraph_nodes.flows.errors import LoopExhausted

pytestmark = pytest.mark.anyio


async def ran(loop: LoopFlow, value: Any) -> Any:
    graph = fg.Graph("g")
    graph.input("state", Any)
    graph.add("loop", loop)
    return (await fg.arun(graph, {"state": value}, raise_on_failure=True)).output


async def test_an_object_that_is_changed_and_returned_again_is_no_stall() -> None:
    async def grow(state: Any) -> Any:
        state["items"].append(len(state["items"]))
        return state

    assert await ran(LoopFlow(grow, until=lambda output: len(output["items"]) == 4), {"items": []}) == {
        "items": [0, 1, 2, 3]
    }


async def test_an_object_that_is_returned_as_it_was_is_a_stall() -> None:
    async def same(state: Any) -> Any:
        return state

    with pytest.raises(fg.FlowgraphError) as caught:
        await ran(LoopFlow(same, stall=3), {"items": [1]})
    cause = caught.value if isinstance(caught.value, LoopExhausted) else caught.value.__cause__
    assert isinstance(cause, LoopExhausted)
    assert (cause.stalled, cause.iterations) == (True, 3)


async def test_what_cannot_be_copied_is_no_stall() -> None:
    async def same(state: Any) -> Any:
        return state

    lock = [threading.Lock()]
    assert await ran(LoopFlow(same, max_iterations=4, until="iteration == 3"), lock) is lock


class Array:
    def __bool__(self) -> bool:
        raise ValueError("the truth value of an array is ambiguous")


async def test_an_until_that_is_neither_true_nor_false_is_named() -> None:
    async def body(state: Any) -> Any:
        return state

    def vague(output: Any) -> Any:
        return Array()

    with pytest.raises(fg.FlowgraphError, match=r"until= \(vague\) gave a Array in round 0, .* ambiguous"):
        await ran(LoopFlow(body, until=vague), 1)
