"""Graphs and runs, as type checkers see them: handles know what comes out, decorated functions stay what they were."""

from collections.abc import Coroutine
from typing import Any, Literal, assert_type

import flowgraph as fg

graph = fg.Graph("typed")

# Inputs.

topic = graph.input("topic", str)
number = graph.input("number", int, default=3)
anything = graph.input("anything")
assert_type(topic, fg.Handle[str])
assert_type(number, fg.Handle[int])
assert_type(anything, fg.Handle[Any])
graph.input("optional", str | None)


# Functions.


@graph.node
async def words(topic: str, count: int = 1) -> list[str]:
    return topic.split()[:count]


@graph.node(retry=fg.Retry(attempts=3), timeout=1)
async def label(words: list[str]) -> Literal["low", "high"]:
    return "low" if words else "high"


@graph.node
def longest(words: list[str]) -> str:
    return max(words)


@graph.node(inline=True, name="total")
def size(words: list[str]) -> int:
    return len(words)


coroutine = words("a b", count=2)
coroutine = assert_type(coroutine, Coroutine[Any, Any, list[str]])
assert_type(longest(["a"]), str)
assert_type(size(words=["a"]), int)
wrong = words(1)  # type: ignore[arg-type]
longest(["a"], 2)  # type: ignore[call-arg]
size(wrong=["a"])  # type: ignore[call-arg]


# What is skipped, and what failed.


@graph.node
def reader(label: fg.Maybe[str], words: fg.Outcome[list[str]], ctx: fg.SyncContext[Any]) -> str:
    assert_type(label, str | None)
    assert_type(words, fg.Outcome[list[str]])
    assert_type(words.value, list[str] | None)
    assert_type(words.unwrap(), list[str])
    assert_type(words.status, fg.Status)
    assert_type(words.ok, bool)
    label.upper()  # type: ignore[union-attr]
    return label or ""


# Building: a handle stands wherever a name does.

added = graph.add("added", longest, bind={"words": words}, after=[label, "longest"], when=lambda label: bool(label))
mapped = graph.map("mapped", longest, each={"words": "lists"}, bind={}, max_concurrency=2, on_item_failure="keep")
assert_type(added, fg.Handle[Any])
assert_type(mapped, fg.Handle[list[Any]])
assert_type(words["key"][0], fg.Handle[Any])
graph.choose(label, {"low": [], "high": added, "none": fg.END}, default=[added, "mapped"])
graph.output(longest, text=added)
graph.add("wrong", longest, after=3)  # type: ignore[arg-type]
graph.add("wrong", longest, unknown=1)  # type: ignore[call-arg]
graph.map("wrong", longest, each="words", on_item_failure="never")  # type: ignore[arg-type]
graph.input("wrong", default=1, unknown=2)  # type: ignore[call-overload]

# Running.

run = fg.run(graph, {"topic": "tea"}, deps=object(), limits=fg.Limits(run_timeout=3), on_failure="stop", threads=3)
assert_type(run, fg.Run)
assert_type(run[topic], str)
assert_type(run[words], list[str])
assert_type(run[label], Literal["low", "high"])
assert_type(run[longest], str)
assert_type(run[size], int)
assert_type(run[mapped], list[Any])
assert_type(run[words["key"]], Any)
assert_type(run["words"], Any)
assert_type(run.outcomes["words"], fg.Outcome[Any])
assert_type(run.nodes["words"], fg.NodeRun)
assert_type(run.errors, dict[str, BaseException])
run[3]  # type: ignore[call-overload]
fg.run(graph, {}, on_failure="never")  # type: ignore[arg-type]
fg.run(graph, {}, unknown=1)  # type: ignore[call-arg]
fg.run(graph, {}, threads="many")  # type: ignore[arg-type]
fg.run("graph")  # type: ignore[arg-type]


async def live() -> None:
    assert_type(await fg.arun(graph, {"topic": "tea"}, max_concurrency=2), fg.Run)
    async with fg.start(graph, {"topic": "tea"}, groups={"model": 2}) as live:
        assert_type(live, fg.LiveRun)
        assert_type(await live.result(), fg.Run)
        assert_type((await live.result())[words], list[str])
        async for piece in live.text(words):
            assert_type(piece, str)
    fg.start(graph, unknown=1)  # type: ignore[call-arg]


assert_type(fg.check(graph), list[fg.Problem])
assert_type(fg.replace(graph, {"words": longest}), fg.Graph)
