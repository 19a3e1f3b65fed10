"""Drawn stories as graphs that really run: each node behaves as its script says, and waits a little before it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as changed
from typing import Any

import anyio

import flowgraph as fg
from flowgraph.condition import Condition
from flowgraph.handle import Ref
from flowgraph.node import Node
from flowgraph.outcome import MISSING, Reason, Status
from tests.engine.reference import End, Reference, Script
from tests.engine.strategies import Story

NODE_SAYS = {"error", "condition", "condition_error", "choice_error", "cancelled"}
"""Reasons whose detail is in the words of a node, or of an error: a script knows them not."""


class Played:
    """A node that ends as its script says. breaths: how often it lets others run first, or -1 for a worker thread."""

    kind = "function"
    output_type: Any = Any

    def __init__(self, stub: Node, script: Script, breaths: int) -> None:
        self.name, self.parameters = stub.name, stub.parameters
        self._script, self._breaths = script, breaths

    async def call(self, ctx: fg.Context, inputs: dict[str, Any]) -> Any:
        for _ in range(self._breaths):
            await anyio.lowlevel.checkpoint()
        if self._breaths < 0:
            await ctx.in_thread(int)
        if ctx.attempt <= self._script.failures:
            raise OSError("boom")
        match self._script.end:
            case Status.FAILED:
                raise OSError("boom")
            case Status.SKIPPED:
                raise fg.Skip("nothing to do")
            case Status.TIMED_OUT:
                await anyio.sleep_forever()
            case Status.CANCELLED:
                await cancel_itself()
        return labelled(self._script)


def labelled(script: Script) -> dict[str, Any]:
    """The output of a node: under `c0`, `c1`, … its label for each choice of the graph."""
    return {f"c{number}": label for number, label in script.labels.items()}


async def cancel_itself() -> None:
    """Raise the exception of a cancellation that nobody asked for."""
    with anyio.CancelScope() as scope:
        scope.cancel()
        try:
            await anyio.lowlevel.checkpoint()
        except anyio.get_cancelled_exc_class() as error:
            own = error
    raise own


class PlayedCondition(Condition):
    """A condition that says what the script has it say."""

    def __init__(self, original: Condition, verdict: bool | None) -> None:
        self.text, self.parameters = original.text, original.parameters
        self._verdict = verdict

    def holds(self, values: dict[str, Any]) -> bool:
        if self._verdict is None:
            raise LookupError("it raised")
        return self._verdict


async def broken() -> None:
    raise OSError("the fallback, too")


def playable(story: Story, breaths: Sequence[int]) -> fg.Graph:
    """The graph of a story, with nodes that play their part."""
    graph = fg.replace(story.graph, {})
    graph.choices = [
        changed(choice, on=Ref(choice.on.name, (f"c{number}",))) for number, choice in enumerate(graph.choices)
    ]
    for index, (name, entry) in enumerate(graph.entries.items()):
        script = story.script[name]
        limit = fg.Policy(timeout=1) if script.end is Status.TIMED_OUT else fg.Policy()
        graph.entries[name] = changed(
            entry,
            node=Played(entry.node, script, max(-1, breaths[index % len(breaths)] if breaths else 0)),
            when=entry.when and PlayedCondition(entry.when, script.when),
            policy=limit.over(entry.policy),
            fallback=MISSING if entry.fallback is MISSING else labelled(script) if script.fallback else broken,
        )
    graph.revision += 1
    return graph


def ends_of(run: fg.Run | Reference) -> dict[str, End]:
    """How each node ended and why, without what only one of the two can know."""
    ends = run.ends if isinstance(run, Reference) else run.outcomes
    return {name: End(end.status, _without_words(end.reason)) for name, end in ends.items()}


def _without_words(reason: Reason | None) -> Reason | None:
    return changed(reason, detail="") if reason is not None and reason.kind in NODE_SAYS else reason
