"""More of `test_cases.py`: retries, loops, drawing, settings, secrets and slots."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections import Counter
from typing import Any

import anyio
import pytest
from pydantic import SecretStr

import flowgraph as fg
from flowgraph import events as ev
from flowgraph.cli.jsonl import line_of
from flowgraph_nodes import LoopFlow
from tests.engine.cutting import look_at_record, look_at_services
from tests.engine.playing import cancel_itself

pytestmark = pytest.mark.anyio

SUCCEEDED, FAILED, SKIPPED = fg.Status.SUCCEEDED, fg.Status.FAILED, fg.Status.SKIPPED
MARKER = "marker-7c41"


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def give(value: Any = 1) -> Any:
    await anyio.lowlevel.checkpoint()
    return value


# -- retry, time, cancellation


@pytest.mark.parametrize("where", ["node", "call", "map", "graph", "agentless loop"])
async def test_c11_attempts_are_counted_and_spaced_wherever_a_node_runs(where: str) -> None:
    seen: list[tuple[int, float]] = []

    async def always(ctx: fg.Context, value: int = 0) -> int:
        seen.append((ctx.attempt, anyio.current_time()))
        raise OSError(f"down {ctx.attempt}")

    async def caller(ctx: fg.Context) -> int:
        return int(await ctx.call(always, retry=policy))

    policy = fg.Retry(attempts=3, delay=0.01, factor=2, jitter=0)
    graph, inner = fg.Graph("g"), fg.Graph("inner")
    inner.add("always", always, retry=policy)
    if where == "map":
        graph.map("node", always, each={"value": "items"}, retry=policy)
        graph.add("items", lambda: [1])
    elif where == "node":
        graph.add("node", always, retry=policy)
    else:
        graph.add("node", {"call": caller, "graph": inner}.get(where) or LoopFlow(inner))
    run = await fg.arun(graph, raise_on_failure=False)
    assert [attempt for attempt, _ in seen] == [1, 2, 3]
    gaps = [later - earlier for (_, earlier), (_, later) in itertools.pairwise(seen)]
    assert gaps[0] >= 0.0099
    assert gaps[1] >= 0.0199
    told = [(event.attempt, event.delay) for event in run.events if isinstance(event, ev.NodeRetrying)]
    assert told == [(1, 0.01), (2, 0.02)]
    assert "down 3" in str(run.errors["node"])


@pytest.mark.parametrize("kind", ["interrupt", "exit", "cancelled", "itself"])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_c12_interrupts_and_cancellation_are_never_retried(kind: str, backend: str) -> None:
    calls = 0

    async def node() -> None:
        nonlocal calls
        calls += 1
        if kind == "interrupt":
            raise KeyboardInterrupt
        if kind == "exit":
            raise SystemExit(3)
        if kind == "itself":
            await cancel_itself()
        await anyio.sleep_forever()

    graph = fg.Graph("g")
    for on in (Exception, BaseException, lambda error: True):
        graph.add(f"node{len(graph.entries)}", node, retry=fg.Retry(attempts=5, on=on))

    async def main() -> fg.Run | None:
        with anyio.move_on_after(0.02 if kind == "cancelled" else None):
            return await fg.arun(graph, raise_on_failure=False, max_concurrency=1 if kind != "cancelled" else 3)
        return None

    if kind in ("interrupt", "exit"):
        with pytest.raises(KeyboardInterrupt if kind == "interrupt" else SystemExit):
            anyio.run(main, backend=backend)
        assert calls == 1
    else:
        run = anyio.run(main, backend=backend)
        assert calls == 3
        assert run is None or {str(outcome.status) for outcome in run.outcomes.values()} == {"cancelled"}


BLOCKED = """
import time, anyio, flowgraph as fg
from flowgraph_nodes import Toolbox, ToolCall, tool

def forever():
    time.sleep(600)

graph = fg.Graph("g")
graph.add("node", forever, timeout=0.2)
started = time.monotonic()
run = fg.run(graph, raise_on_failure=False)
print(run.outcomes["node"].status, time.monotonic() - started < 2)

async def main():
    box = Toolbox([tool(forever, timeout=0.2)])
    (result,) = await box.execute([ToolCall("1", "forever", "{}")])
    print(result.failure.kind)

anyio.run(main)
"""


def test_c15_a_program_whose_threads_are_stuck_can_exit() -> None:
    command = [sys.executable, "-c", BLOCKED]
    paths = os.pathsep.join([os.getcwd(), os.path.join(os.getcwd(), "nodes")])
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": paths}, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["timed_out", "True", "Timeout"]), done.stderr


# -- loops


async def test_c40_breaks_end_one_loop_however_deep_they_are_raised() -> None:
    """Three loops in each other; the break comes out of a call, a map and a graph in the innermost body."""
    calls = Counter[str]()

    async def leaf(value: int) -> int:
        calls["leaf"] += 1
        if calls["leaf"] % 2 == 0:
            raise fg.Break(value)
        return value + 1

    async def calling(ctx: fg.Context, value: int) -> int:
        (result,) = await ctx.gather(ctx.call(leaf, {"value": value}))
        calls["after"] += 1
        return int(result)

    inner = fg.Graph("body")
    inner.input("value", int)
    inner.add("calling", calling)
    innermost = LoopFlow(inner, name="innermost", stall=None)
    middle = LoopFlow(innermost, name="middle", until="iteration == 1", stall=None)
    outer = LoopFlow(middle, name="outer", until="iteration == 2", stall=None)
    graph = fg.Graph("g")
    graph.input("value", int)
    graph.add("outer", outer)
    graph.add("z", lambda outer: calls.update(["z"]) or outer)
    run = await fg.arun(graph, {"value": 0})
    assert calls == {"leaf": 12, "after": 6, "z": 1}
    assert run["z"] == 6
    assert [len(run.nodes[path].children) for path in ("outer", "outer#0", "outer#2#1")] == [3, 2, 2]
    look_at_record(run)


async def test_c41_a_break_stops_what_would_come_after_it_on_every_way() -> None:
    after: list[str] = []

    async def check(value: int) -> int:
        if value == 1:
            raise fg.Break("out")
        return value + 1

    body = fg.Graph("body")
    body.input("value", int)
    body.add("check", check)
    body.add("work", lambda check: after.append("work") or check)
    body.add("done", lambda check: after.append("done"), after="check", join=fg.Join.DONE, bind={"check": "value"})
    body.add("outcome", lambda it: after.append("outcome"), bind={"it": "check"})
    body.map("items", lambda value: after.append("item"), each={"value": "listed"})
    body.add("listed", lambda check: [check])
    body.output("work")
    graph = fg.Graph("g")
    graph.input("value", int)
    graph.add("loop", LoopFlow(body, stall=None))
    run = await fg.arun(graph, {"value": 0})
    assert (run.output, run.status) == ("out", SUCCEEDED)
    assert sorted(after) == ["done", "item", "outcome", "work"]
    assert len(run.nodes["loop"].children) == 2
    look_at_record(run)


# -- rendering, configuration, security


def test_c47_a_drawing_is_the_same_text_in_every_process() -> None:
    code = (
        "import flowgraph as fg\n"
        "g = fg.Graph('graph')\n"
        "for name in ('node', 'edge', 'graph', 'digraph', 'subgraph', 'strict', 'end', 'default', 'style', 'a_b',"
        " 'node_1', 'node_2', 'A', 'a'):\n"
        "    g.add(name, lambda: 1, title='' if name != 'a_b' else 'a b')\n"
        "g.add('last', lambda **all_: 1, bind={'all_': 'node'}, after=list(g.entries))\n"
        "print(fg.draw(g, format='dot'), fg.draw(g, format='mermaid'), fg.draw(g))\n"
    )
    drawn = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(drawn) == 1
    assert all(name in drawn.copy().pop() for name in ("digraph", "subgraph", "strict", "node_2"))


async def test_c48_the_smallest_legal_settings_are_taken_as_they_are() -> None:
    now = most = 0

    async def leaf(ctx: fg.Context) -> int:
        nonlocal now, most
        now += 1
        most = max(now, most)
        await anyio.sleep(0.002)
        now -= 1
        return ctx.attempt

    graph = fg.Graph("g", policy=fg.Policy(priority=5, retry=fg.Retry(attempts=3), timeout=60))
    for number in range(4):
        graph.add(f"leaf{number}", leaf, policy=fg.Policy(priority=0), retry=fg.Retry(attempts=1, delay=0))

    @graph.node(timeout=0)
    async def late() -> None:
        await anyio.sleep(0.001)

    @graph.node
    async def calls(ctx: fg.Context) -> str:
        return str(
            (await ctx.call(anyio.sleep_forever, timeout=0.001, retry=fg.Retry(attempts=1), outcome=True)).status
        )

    run = await fg.arun(graph, max_concurrency=1, threads=1, raise_on_failure=False)
    assert most == 1
    assert run.outcomes["late"].status is fg.Status.TIMED_OUT
    assert run["calls"] == "timed_out"
    assert [run.outcomes[f"leaf{number}"].attempts for number in range(4)] == [1] * 4
    graph = fg.Graph("g")
    graph.add("forever", anyio.sleep_forever)
    run = await fg.arun(graph, limits=fg.Limits(run_timeout=0.001), raise_on_failure=False)
    assert run.status is FAILED


async def test_c49_a_condition_and_a_choice_are_asked_for_each_of_many_runs_and_items() -> None:
    asked: list[str] = []

    def holds(answer: str) -> bool:
        asked.append(answer)
        return answer == "yes"

    item = fg.Graph("item")
    item.input("answer", str)
    item.add("node", lambda answer: f"did {answer}", when=holds)
    item.add("kind", lambda answer: answer)
    item.choose("kind", {"yes": "left"}, default="right")
    item.add("left", lambda: "left")
    item.add("right", lambda: "right")

    @item.node(needs=())
    def report(node: fg.Maybe[str], left: fg.Maybe[str], right: fg.Maybe[str]) -> tuple[Any, ...]:
        return node, left, right

    item.output("report")
    answers = ["yes", "no", "yes", "no", "no"]
    expected = [("did yes", "left", None) if answer == "yes" else (None, None, "right") for answer in answers]
    batch = fg.Graph("batch")
    batch.input("answers", list[str])
    batch.map("all", item, each={"answer": "answers"}, max_concurrency=2)
    assert (await fg.arun(batch, {"answers": answers})).output == expected
    assert sorted(asked) == sorted(answers)
    found: dict[int, Any] = {}

    async def single(number: int, answer: str) -> None:
        found[number] = (await fg.arun(item, {"answer": answer})).output

    async with anyio.create_task_group() as group:
        for number, answer in enumerate(answers):
            group.start_soon(single, number, answer)
    assert [found[number] for number in range(len(answers))] == expected


class Deps:
    def __init__(self) -> None:
        self.key = MARKER


async def test_c51_secrets_of_deps_and_inputs_are_in_no_event_drawing_line_or_error() -> None:
    graph = fg.Graph("g")
    graph.input("key", SecretStr)
    graph.input("items", list[SecretStr])

    @graph.node(title="uses it")
    async def uses(ctx: fg.Context[Deps], key: SecretStr) -> bool:
        ctx.log("used", key=key)
        ctx.emit("custom", {"key": key})
        return ctx.deps.key == key.get_secret_value()

    @graph.node
    async def passes(key: SecretStr) -> SecretStr:
        return key

    @graph.node
    async def wrong(passes: SecretStr) -> int:
        return passes  # type: ignore[return-value]  # what the error says of it is looked at below

    graph.add("off", give, when="passes == 'x'")
    graph.add("raises", give, when="key.nothing > 1")
    graph.add("misfit", lambda key: key, values={"key": SecretStr(MARKER)}, fallback=SecretStr(MARKER))
    graph.map("mapped", wrong, each={"passes": "items"}, on_item_failure="keep")
    shown: list[str] = []
    async with fg.start(graph, {"key": SecretStr(MARKER), "items": [SecretStr(MARKER)]}, deps=Deps()) as live:
        async for event in live:
            shown += [repr(event), line_of(event)]
        run = await live.result(raise_on_failure=False)
    assert run["uses"] is True
    shown += [str(run), repr(run), repr(run.spec), *(run.explain(name) for name in run.outcomes)]
    for format_ in ("svg", "dot", "mermaid"):
        shown += [str(fg.draw(run, format=format_)), str(fg.draw(graph, format=format_))]
    for error in [*run.errors.values(), *(node.error for node in run.nodes.values() if node.error)]:
        shown += [str(error), repr(error), *getattr(error, "__notes__", [])]
    assert {name: str(outcome.status) for name, outcome in run.outcomes.items() if not outcome.ok} == {
        "wrong": "failed",
        "off": "skipped",
        "raises": "failed",
    }
    assert [text for text in shown if MARKER in text] == []
    with pytest.raises(fg.InputError) as caught:
        await fg.arun(graph, {"key": SecretStr(MARKER), "items": SecretStr(MARKER)})
    assert MARKER not in str(caught.value)


# -- concurrency


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_c53_every_way_of_having_children_under_a_limit_comes_to_its_end(limit: int) -> None:
    now = most = total = 0

    async def leaf(value: int = 0) -> int:
        nonlocal now, most, total
        now, total = now + 1, total + 1
        most = max(most, now)
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        now -= 1
        return value + 1

    def blocking(ctx: fg.SyncContext) -> int:
        return int(ctx.call(leaf)) + sum(ctx.gather(*(ctx.branch(leaf) for _ in range(2))))

    async def background(ctx: fg.Context) -> int:
        async with ctx.background() as scope:
            started = [scope.start(ctx.call(leaf)) for _ in range(2)]
        return len(started)

    async def fails(ctx: fg.Context) -> list[int]:
        return [await ctx.call(leaf, {"value": "no number"})]

    async def breaks(ctx: fg.Context) -> int:
        raise fg.Break(await ctx.call(leaf))

    inner = fg.Graph("inner")
    inner.add("one", leaf)
    inner.add("two", leaf, bind={"value": "one"})
    inner.map("items", leaf, each={"value": "listed"})
    inner.add("listed", lambda two: [two] * 3)
    inner.output("items")
    graph = fg.Graph("g")
    for number in range(2):
        graph.add(f"inner{number}", inner)
        graph.add(f"blocking{number}", blocking)
        graph.add(f"background{number}", background)
        graph.add(f"loop{number}", LoopFlow(leaf, until="iteration == 2", stall=None), values={"value": 0})
        graph.add(f"breaks{number}", LoopFlow(breaks))
        graph.add(f"mended{number}", fails, fallback=inner)
    graph.output(**{name: name for name in graph.entries})
    with anyio.fail_after(60):
        async with fg.start(graph, max_concurrency=limit) as live:
            run = await live.result()
            look_at_services(live)
    assert run.status is SUCCEEDED
    assert most <= limit
    assert total == 2 * (5 + 3 + 2 + 3 + 1 + 5)
