"""Inputs that broke other systems, where no file of `engine/` or `nodes/` says it already; named by their numbers.

Here: executing, skipping and joining. The others are in `test_cases_running.py`.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph import events as ev
from flowgraph_nodes import LoopFlow
from tests.engine.cutting import look_at_record
from tests.engine.playing import cancel_itself

pytestmark = pytest.mark.anyio

SUCCEEDED, FAILED, SKIPPED = fg.Status.SUCCEEDED, fg.Status.FAILED, fg.Status.SKIPPED


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def give(value: Any = 1) -> Any:
    await anyio.lowlevel.checkpoint()
    return value


# -- executor


class Ring:
    """A graph with a cycle of another kind than plain parameters; `ran` says what was called."""

    def __init__(self, kind: str) -> None:
        self.ran: list[str] = []
        self.graph = fg.Graph("ring")
        getattr(self, kind.replace(" ", "_"))()

    def add(self, name: str, on: Any = None, **options: Any) -> None:
        async def node(value: Any = None) -> str:
            self.ran.append(name)
            return "yes"

        self.graph.add(name, node, **options, **({"bind": {"value": on}} if on else {}))

    def mixed(self) -> None:
        self.add("a", on="c")
        self.add("b", after="a")
        self.add("c", when="b == 'yes'")

    def choice(self) -> None:
        self.add("a", on="b")
        self.add("b")
        self.graph.choose("a", {"yes": "b"}, default=[])

    def chooses_itself(self) -> None:
        self.add("a")
        self.graph.choose("a", {"yes": "a"}, default=[])

    def in_a_list(self) -> None:
        self.add("a", on=["b", "a"])
        self.add("b")

    def map(self) -> None:
        self.graph.map("a", give, each={"value": "b"})
        self.add("b", on="a")

    def part(self) -> None:
        self.add("a", on="b.text")
        self.add("b", on="a")

    def long(self) -> None:
        for number in range(300):
            self.add(f"n{number}", on=f"n{(number - 1) % 300}")

    def inside(self) -> None:
        self.add("before")
        inner = Ring("mixed")
        self.ran = inner.ran
        self.graph.add("inner", inner.graph, after="before")


@pytest.mark.parametrize(
    ("kind", "cycle"),
    [
        ("mixed", "abc"),
        ("choice", "ab"),
        ("chooses itself", "a"),
        ("in a list", "a"),
        ("map", "ab"),
        ("part", "ab"),
        ("long", ["n0"]),
        ("inside", "abc"),
    ],
)
async def test_c01_cycles_of_every_kind_are_refused_and_nothing_runs(kind: str, cycle: Sequence[str]) -> None:
    ring = Ring(kind)
    with pytest.raises(fg.GraphError, match=" is a cycle: ") as caught:
        await fg.arun(ring.graph)
    assert ring.ran == []
    shown = str(caught.value).partition(" is a cycle")[0].splitlines()[-1]
    assert [name for name in cycle if not re.search(rf"\b{name}\b", shown)] == []
    assert fg.check(ring.graph)[0].severity == "error"


async def test_c01_two_cycles_are_both_named() -> None:
    graph = fg.Graph("g")
    for name, on in {"a": "b", "b": "a", "c": "d", "d": "c", "e": "e"}.items():
        graph.add(name, give, bind={"value": on})
    text = "\n".join(str(problem) for problem in fg.check(graph))
    for cycle in ("a → b → a", "c → d → c", "e → e"):
        assert cycle in text


@pytest.mark.parametrize("missing", [*"abc", "ab", "bc", "ac", "abc"])
@pytest.mark.parametrize("how", ["when", "skips", "fails", "not chosen"])
async def test_c02_in_a_list_of_parents_nothing_is_shifted_or_lost(missing: str, how: str) -> None:
    async def node(name: str) -> str:
        if name in missing and how in ("skips", "fails"):
            raise fg.Skip("no") if how == "skips" else ValueError("no")
        return name.upper()

    graph = fg.Graph("g")
    graph.add("gate", give, values={"value": "go"})
    for name in "abc":
        graph.add(name, node, values={"name": name}, when=f"{name not in missing}" if how == "when" else None)
    if how == "not chosen":
        graph.choose("gate", {"go": [name for name in "abc" if name not in missing], "stay": list(missing)})

    @graph.node(bind={"parts": list("abc")})
    def join(parts: fg.Outcome[list[str]]) -> list[tuple[str, str | None, bool]]:
        return [(part.path, part.value, part.ok) for part in parts]

    run = await fg.arun(graph, raise_on_failure=False)
    assert run["join"] == [(n, None if n in missing else n.upper(), n not in missing) for n in "abc"]


@pytest.mark.parametrize("value", [0, 0.0, False, "", [], {}, None])
async def test_c03_falsy_values_pass_through_calls_loops_choices_fallbacks_and_outcomes(value: Any) -> None:
    graph = fg.Graph("g")

    @graph.node
    async def source() -> Any:
        return value

    @graph.node
    async def calls(ctx: fg.Context, source: Any) -> list[Any]:
        first = await ctx.call(give, {"value": source})
        return [first, *await ctx.gather(ctx.call(give, {"value": source})), await ctx.call(give, {"value": first})]

    @graph.node
    async def threads(ctx: fg.Context, source: Any) -> Any:
        return await ctx.call(lambda value: value, {"value": source})

    @graph.node(fallback=value)
    async def mended(source: Any) -> Any:
        raise ValueError("no")

    graph.add("loop", LoopFlow(give, until="iteration == 1", stall=None), bind={"value": "source"})
    graph.add("sees", lambda outcome: outcome.value, bind={"outcome": "source"})
    graph.add("part", lambda value: value, bind={"value": "calls.0"})
    graph.add("last", lambda **all_: [all_[name] for name in sorted(all_)], values={"all_": {"x": value, "y": value}})
    if value is not None and value != [] and value != {}:
        graph.choose("source", {value: "taken"}, default="other")
        graph.add("taken", give)
        graph.add("other", give)
    run = await fg.arun(graph, raise_on_failure=False)
    for name in ("source", "threads", "mended", "loop", "part"):
        assert (run[name], type(run[name])) == (value, type(value)), name
        assert run.outcomes[name].status is SUCCEEDED
    assert run["calls"] == run["last"] + [value] == [value] * 3
    if "taken" in run.outcomes:
        assert (run.outcomes["taken"].status, run.outcomes["other"].status) == (SUCCEEDED, SKIPPED)


async def _times_out() -> None:
    await anyio.sleep_forever()


async def _fails() -> None:
    raise ValueError("no")


async def _calls_a_failure(ctx: fg.Context) -> None:
    await ctx.call(_fails)


BAD: dict[str, tuple[Any, dict[str, Any], str]] = {
    "raises": (_fails, {}, "failed"),
    "retries": (_fails, {"retry": fg.Retry(attempts=2, delay=0)}, "failed"),
    "times out": (_times_out, {"timeout": 0.01}, "timed_out"),
    "cancels itself": (cancel_itself, {}, "cancelled"),
    "its condition": (give, {"when": "s1.nothing > 1"}, "failed"),
    "its fallback, too": (_fails, {"fallback": lambda: 1 / 0}, "failed"),
    "its child": (_calls_a_failure, {}, "failed"),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("on_failure", ["isolate", "stop"])
async def test_c04_whatever_fails_every_node_has_one_end_and_earlier_results_stay(bad: str, on_failure: Any) -> None:
    node, options, status = BAD[bad]
    graph = fg.Graph("g")
    graph.add("s1", give, values={"value": {"kept": 1}})
    graph.add("ok", lambda s1: [s1])
    graph.add("bad", node, after=["s1", "ok"], **options)
    graph.add("beside", lambda ok: "beside", after="ok")
    graph.add("s2", lambda ok, bad: "never")
    graph.add("s3", lambda s2: "never")
    run = await fg.arun(graph, raise_on_failure=False, on_failure=on_failure)
    assert str(run.outcomes["bad"].status) == status
    assert (run["s1"], run["ok"]) == ({"kept": 1}, [{"kept": 1}])
    assert str(run.outcomes["s2"].status) == str(run.outcomes["s3"].status)
    assert run.outcomes["s3"].status in (fg.Status.UPSTREAM_FAILED, fg.Status.CANCELLED)
    finished = Counter(e.path for e in run.events if isinstance(e, ev.NodeFinished))
    assert finished == Counter(run.nodes.keys())
    look_at_record(run)
    assert run.status is FAILED
    if on_failure == "isolate":
        assert run["beside"] == "beside"


async def test_c05_runs_of_one_graph_and_of_equal_names_never_meet_one_after_the_other_or_at_once() -> None:
    calls = Counter[str]()

    def build(base: int) -> fg.Graph:
        async def leaf(x: int) -> int:
            calls["leaf"] += 1
            await anyio.sleep(0.001 * (x % 3))
            if x == 5:
                raise ValueError("five")
            return x + base

        inner = fg.Graph("same")
        inner.input("x", int)
        inner.add("a", leaf)
        graph = fg.Graph("same")
        graph.input("x", int)
        graph.add("a", inner)
        graph.add("b", LoopFlow(leaf, until="iteration == 1"), bind={"x": "a"})
        graph.map("c", leaf, each={"x": "items"})
        graph.add("items", lambda a: [a, a])
        graph.output("b", "c")
        return graph

    one, other = build(10), build(100)
    results: dict[tuple[int, int], Any] = {}

    async def run(graph: fg.Graph, base: int, x: int) -> None:
        results[base, x] = (await fg.arun(graph, {"x": x}, raise_on_failure=False)).outcomes["b"].value

    for x in (1, 5, 1):  # also after a failure, and after a run that was cancelled
        await run(one, 10, x)
    assert [results[10, 1], results[10, 5]] == [31, None]
    async with fg.start(one, {"x": 1}) as live:
        live.cancel()
    async with anyio.create_task_group() as group:
        for x in (1, 2, 3, 4):
            group.start_soon(run, one, 10, x)
            group.start_soon(run, other, 100, x)
    assert {key: value for key, value in results.items() if key[1] != 5} == {
        (base, x): x + 3 * base for base in (10, 100) for x in (1, 2, 3, 4)
    }
    before = calls["leaf"]
    await run(one, 10, 1)
    assert calls["leaf"] - before == 5


# -- skip and join


@pytest.mark.parametrize("sync", [False, True])
async def test_c06_joins_of_branches_of_all_lengths_run_once(sync: bool) -> None:
    async def step(value: int) -> int:
        await anyio.lowlevel.checkpoint()
        return value + 1

    for lengths in [*itertools.product(range(1, 5), repeat=2), (1, 2, 3, 4), (4, 1, 1, 3)]:
        joins: list[Any] = []
        graph = fg.Graph("g")
        graph.add("start", give, values={"value": 0})
        for side, length in enumerate(lengths):
            before = "start"
            for number in range(length):
                name = f"s{side}_{number}"
                graph.add(name, (lambda value: value + 1) if sync else step, bind={"value": before})
                before = name
        ends = [f"s{side}_{length - 1}" for side, length in enumerate(lengths)]
        graph.add("join", lambda values, joins=joins: joins.append(values) or len(joins), bind={"values": ends})
        run = await fg.arun(graph)
        assert joins == [list(lengths)]
        assert [e.path for e in run.events if isinstance(e, ev.NodeStarted)].count("join") == 1


@pytest.mark.parametrize("rule", ["default", "any", "needs", "at least 1"])
@pytest.mark.parametrize("last", ["ok", "failed", "skipped"])
@pytest.mark.parametrize("early", ["when", "skip", "choice"])
async def test_c07_a_join_on_one_success_is_not_decided_by_an_early_skip(rule: str, last: str, early: str) -> None:
    gate, calls = anyio.Event(), []
    graph = fg.Graph("g")
    graph.add("gate", give, values={"value": "go"})

    async def skips() -> int:
        raise fg.Skip("early")

    graph.add("p1", skips if early == "skip" else give, when="False" if early == "when" else None)
    if early == "choice":
        graph.add("instead", give)
        graph.choose("gate", {"go": "instead", "stay": "p1"})

    @graph.node
    async def p2() -> int:
        await gate.wait()
        if last == "ok":
            return 2
        raise ValueError("no") if last == "failed" else fg.Skip("late")

    joins = {"any": fg.Join.ANY, "at least 1": fg.Join.at_least(1)}

    @graph.node(join=joins.get(rule, fg.Join.ALL), needs=("p1", "p2") if rule == "needs" else None)
    async def join(p1: fg.Maybe[int], p2: fg.Maybe[int]) -> None:
        calls.append((p1, p2))

    async with fg.start(graph) as live:
        await anyio.wait_all_tasks_blocked()
        assert live.record.outcomes["p1"].status is SKIPPED
        assert live.record.outcomes["join"].status is fg.Status.PENDING
        gate.set()
        run = await live.result(raise_on_failure=False)
    assert calls == ([(None, 2)] if last == "ok" else [])
    expected = {"ok": SUCCEEDED, "failed": fg.Status.UPSTREAM_FAILED, "skipped": SKIPPED}
    if early == "choice" and last == "failed" and rule in ("default", "needs"):
        expected["failed"] = SKIPPED  # nothing came of what was chosen: rule 0 comes before rule 1
    assert run.outcomes["join"].status is expected[last]
    assert run.status is (FAILED if last == "failed" else SUCCEEDED)


@pytest.mark.parametrize("rows", [[], [[]], [[], [1]], [[1, 2], [], [3]]])
async def test_c08_maps_in_maps_of_graphs_with_empty_lists_join_once(rows: list[list[int]]) -> None:
    inner = fg.Graph("row")
    inner.input("row", list[int])
    inner.map("doubled", lambda value: value * 2, each={"value": "row"})
    inner.add("total", lambda doubled: sum(doubled))
    graph = fg.Graph("g")
    graph.input("rows", list[list[int]])
    graph.map("rows_done", inner, each={"row": "rows"})
    joins: list[Any] = []

    @graph.node
    def join(rows_done: list[int]) -> int:
        joins.append(rows_done)
        return sum(rows_done)

    run = await fg.arun(graph, {"rows": rows})
    assert joins == [[2 * sum(row) for row in rows]]
    assert run.output == 2 * sum(itertools.chain(*rows))


@pytest.mark.parametrize("how", ["fail", "keep", "drop"])
@pytest.mark.parametrize("empty", [True, False])
async def test_c08_two_maps_of_which_one_is_empty_or_skipped_meet_in_one_join(how: Any, empty: bool) -> None:
    graph = fg.Graph("g")
    graph.input("some", list[int])
    graph.input("none", list[int])
    graph.map("a", give, each={"value": "some"}, on_item_failure=how)
    graph.map("b", give, each={"value": "none"}, on_item_failure=how, when=None if empty else "len(none) > 0")
    joins = 0

    @graph.node
    def join(a: fg.Maybe[Any], b: fg.Maybe[Any]) -> int:
        nonlocal joins
        joins += 1
        return len(a or []) + len(b or [])

    assert (await fg.arun(graph, {"some": [1, 2], "none": []})).output == 2
    assert joins == 1


@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize("rule", ["all", "any"])
async def test_c09_a_false_condition_on_the_way_of_one_parent_counts_in_either_order(first: str, rule: str) -> None:
    done = anyio.Event()

    async def node(name: str) -> str:
        if name == first:
            done.set()
        else:
            await done.wait()
        return name

    calls = []
    graph = fg.Graph("g")
    graph.add("a", node, values={"name": "a"})
    graph.add("b", node, values={"name": "b"})
    graph.add("edge", lambda a: a, when="a == 'never'")  # the edge a → c, with its condition

    async def c(edge: Any, b: str) -> str:
        calls.append((edge, b))
        return b

    async def c_any(edge: fg.Maybe[Any], b: fg.Maybe[str]) -> str:
        return await c(edge, b or "")

    graph.add("c", c if rule == "all" else c_any, join=fg.Join.ALL if rule == "all" else fg.Join.ANY)
    run = await fg.arun(graph)
    assert calls == ([] if rule == "all" else [(None, "b")])
    assert run.outcomes["c"].status is (SKIPPED if rule == "all" else SUCCEEDED)
    assert "'edge'" in run.explain("c") or rule == "any"


@pytest.mark.parametrize("slow", ["a", "b"])
async def test_c10_a_wired_parameter_with_a_default_waits_for_its_node(slow: str) -> None:
    fast = anyio.Event()

    async def node(name: str) -> int:
        if name == slow:
            await fast.wait()
            await anyio.sleep(0.005)
        fast.set()
        return {"a": 1, "b": 20}[name]

    seen = []

    async def third(a: int, b: int = 2, c: int = 3) -> None:
        seen.append((a, b, c))

    for names in itertools.permutations(["a", "b", "third"]):
        fast = anyio.Event()
        graph = fg.Graph("g")
        for name in names:
            if name == "third":
                graph.add("third", third, bind={"b": "b"})
            else:
                graph.add(name, node, values={"name": name})
        run = await fg.arun(graph)
        ended = [e.path for e in run.events if isinstance(e, ev.NodeFinished)]
        assert (seen.pop(), ended[-1]) == ((1, 20, 3), "third")
