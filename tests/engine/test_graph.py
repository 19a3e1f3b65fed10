"""Graphs: names, joins, choices, outputs, and what a graph refuses."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import anyio
import pytest

import flowgraph as fg

pytestmark = pytest.mark.anyio

SUCCEEDED, SKIPPED, FAILED = fg.Status.SUCCEEDED, fg.Status.SKIPPED, fg.Status.FAILED


def statuses(run: fg.Run) -> dict[str, str]:
    return {name: outcome.status.value for name, outcome in run.outcomes.items()}


async def give(value: Any) -> Any:
    return value


# -- names


@pytest.mark.parametrize("name", ["", " ", "a b", "1a", "a.b", "a/b", "a[0]", "a#1", "a~2", "é", "a:b", "-a", 3, None])
async def test_names_are_identifiers(name: Any) -> None:
    with pytest.raises(ValueError, match="cannot be named"):
        fg.Graph("g").add(name, give)
    with pytest.raises(ValueError, match="cannot be named"):
        fg.Graph(name)


@pytest.mark.parametrize("name", ["node", "graph", "self", "ctx", "output", "run", "inputs", "None", "class", "A-b_1"])
async def test_words_that_mean_something_elsewhere_are_names_like_any_other(name: str) -> None:
    graph = fg.Graph(name)
    graph.add(name, give, values={"value": 1})
    graph.add("reader", lambda x: x, bind={"x": name})
    run = await fg.arun(graph)
    assert (run[name], run["reader"]) == (1, 1)


async def test_a_name_is_taken_once_but_the_same_function_may_define_it_again() -> None:
    graph = fg.Graph("g")
    graph.input("x", int)

    def cell() -> None:
        @graph.node
        def again() -> int:
            return len(graph.entries)

    cell()
    cell()
    assert list(graph.entries) == ["again"]
    with pytest.raises(fg.GraphError, match="taken by a node"):
        graph.add("again", give)
    with pytest.raises(fg.GraphError, match="taken by an input"):
        graph.add("x", give)
    with pytest.raises(fg.GraphError, match="taken"):
        graph.input("again")
    graph.add("lambda_", lambda: 1)
    with pytest.raises(fg.GraphError, match="taken"):
        graph.add("lambda_", lambda: 2)


# -- cycles


@pytest.mark.parametrize(
    ("edges", "cycle"),
    [
        ({"a": "c", "b": "a", "c": "b"}, "abc"),
        ({"a": "a"}, "a"),
        ({"a": "b", "b": "a"}, "ab"),
        ({"x": "", "a": "b", "b": "a", "c": "b"}, "ab"),
    ],
)
@pytest.mark.parametrize("kind", ["data", "order", "when"])
async def test_c01_a_cycle_is_refused_naming_its_nodes_and_nothing_runs(
    edges: dict[str, str], cycle: str, kind: str
) -> None:
    calls = 0

    async def node(value: Any = None) -> int:
        nonlocal calls
        calls += 1
        return calls

    graph = fg.Graph("g")
    for name, parent in edges.items():
        options: dict[str, Any] = {
            "data": {"bind": {"value": parent}},
            "order": {"after": parent},
            "when": {"when": f"{parent} == 1"},
        }[kind]
        graph.add(name, node, **(options if parent else {}))
    with pytest.raises(fg.GraphError) as caught:
        await fg.arun(graph)
    assert calls == 0
    for name in cycle:
        assert f"'{name}'" in str(caught.value)
    assert any(problem.severity == "error" for problem in fg.check(graph))


# -- joins


@pytest.mark.parametrize("left", [1, 2, 4])
@pytest.mark.parametrize("right", [1, 3])
@pytest.mark.parametrize("slow", ["left", "right"])
async def test_c06_a_join_of_uneven_branches_runs_once_after_both(left: int, right: int, slow: str) -> None:
    joins = []
    gate = anyio.Event()
    graph = fg.Graph("g")
    graph.add("start", give, values={"value": 0})

    async def step(value: int, side: str, last: bool) -> int:
        if last and side == slow:
            await gate.wait()
        elif last:
            gate.set()
        return value + 1

    for side, length in (("left", left), ("right", right)):
        before = "start"
        for number in range(length):
            values = {"side": side, "last": number == length - 1}
            graph.add(f"{side}{number}", step, bind={"value": before}, values=values)
            before = f"{side}{number}"

    def join(a: int, b: int) -> tuple[int, int]:
        joins.append((a, b))
        return a, b

    graph.add("join", join, bind={"a": f"left{left - 1}", "b": f"right{right - 1}"})
    run = await fg.arun(graph)
    assert joins == [(left, right)]
    assert run.output == (left, right)


@pytest.mark.parametrize("p2", ["ok", "failed", "skipped"])
async def test_c07_a_join_that_needs_one_success_waits_for_all_of_its_parents(p2: str) -> None:
    gate, calls = anyio.Event(), []
    graph = fg.Graph("g")
    graph.add("p1", give, values={"value": 1}, when="False")

    @graph.node
    async def second() -> int:
        await gate.wait()
        if p2 == "failed":
            raise ValueError("no")
        if p2 == "skipped":
            raise fg.Skip("no")
        return 2

    @graph.node
    async def join(p1: fg.Maybe[int], second: fg.Maybe[int]) -> Any:
        calls.append((p1, second))
        return calls

    async with fg.start(graph) as live:
        await anyio.wait_all_tasks_blocked()
        assert live.record.outcomes["p1"].status is SKIPPED
        assert live.record.outcomes["join"].status is fg.Status.PENDING
        gate.set()
        run = await live.result(raise_on_failure=False)
    assert calls == ([(None, 2)] if p2 == "ok" else [])
    expected = {"ok": SUCCEEDED, "failed": fg.Status.UPSTREAM_FAILED, "skipped": SKIPPED}
    assert run.outcomes["join"].status is expected[p2]


@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize("join", [fg.Join.ALL, fg.Join.ANY])
async def test_c09_a_skipped_parent_counts_whichever_finishes_last(first: str, join: fg.Join) -> None:
    done = anyio.Event()

    async def node(name: str, ends: bool) -> str:
        if name == first:
            done.set()
        else:
            await done.wait()
        if not ends:
            raise fg.Skip("not now")
        return name

    graph = fg.Graph("g")
    graph.add("a", node, values={"name": "a", "ends": False})
    graph.add("b", node, values={"name": "b", "ends": True})
    got = []

    @graph.node(join=join)
    def c(a: fg.Maybe[str], b: fg.Maybe[str]) -> str:
        got.append((a, b))
        return "c"

    @graph.node
    def d(a: str, b: str) -> str:
        return "d"

    run = await fg.arun(graph)
    assert got == [(None, "b")]
    assert run.outcomes["d"].status is SKIPPED


async def test_an_any_join_starts_at_the_first_success_and_at_least_at_the_kth() -> None:
    gate = anyio.Event()
    graph = fg.Graph("g")
    graph.add("quick", give, values={"value": "quick"})
    graph.add("fails", _fails)

    @graph.node
    async def slow() -> str:
        await gate.wait()
        return "slow"

    @graph.node(join=fg.Join.ANY)
    async def first(quick: fg.Maybe[str], slow: fg.Maybe[str], fails: fg.Maybe[str]) -> Any:
        gate.set()
        return quick, slow

    @graph.node(join=fg.Join.at_least(2))
    async def two(quick: fg.Maybe[str], slow: fg.Maybe[str], fails: fg.Maybe[str]) -> Any:
        return quick, slow

    run = await fg.arun(graph)
    assert run["first"] == ("quick", None)
    assert run["two"] == ("quick", "slow")
    assert run.status is SUCCEEDED  # the failure feeds joins that had enough without it


async def _fails() -> str:
    raise ValueError("broken")


async def test_a_done_join_runs_whatever_its_parents_did() -> None:
    graph = fg.Graph("g")
    graph.add("fails", _fails)
    graph.add("skipped", give, values={"value": 1}, when="False")

    @graph.node(after=["fails", "skipped"], join=fg.Join.DONE)
    async def clean() -> str:
        return "clean"

    run = await fg.arun(graph)
    assert run["clean"] == "clean"
    assert run.status is SUCCEEDED


async def test_after_orders_without_data() -> None:
    order = []
    graph = fg.Graph("g")
    for name, after in (("c", "b"), ("b", "a"), ("a", ())):

        async def node(name: str) -> None:
            await anyio.lowlevel.checkpoint()
            order.append(name)

        graph.add(name, node, values={"name": name}, after=after)
    await fg.arun(graph)
    assert order == ["a", "b", "c"]


# -- choices


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("label", "cases", "taken"),
    [
        (1, {1: "a", "1": "b"}, "a"),
        ("1", {1: "a", "1": "b"}, "b"),
        (True, {True: "a", "True": "b"}, "a"),
        (1, {True: "a", "x": "b"}, None),
        (None, {None: "a", "None": "b"}, "a"),
        (Colour.RED, {Colour.RED: "a", Colour.BLUE: "b"}, "a"),
        ("red", {Colour.RED: "a", "red": "b"}, "b"),
        (1.0, {1: "a", "x": "b"}, None),
        ("", {"": "a", "x": "b"}, "a"),
        ([1], {"x": "a", "y": "b"}, None),
    ],
)
async def test_labels_match_by_type_and_value(label: Any, cases: dict[Any, str], taken: str | None) -> None:
    graph = fg.Graph("g")
    graph.add("chooser", give, values={"value": label})
    for name in ("a", "b", "other"):
        graph.add(name, give, values={"value": name})
    graph.choose("chooser", cases, default="other")
    run = await fg.arun(graph)
    assert [name for name in ("a", "b", "other") if run.outcomes[name].ok] == [taken or "other"]


@pytest.mark.parametrize(("risk", "legal"), [("low", SKIPPED), ("high", SUCCEEDED)])
async def test_straight_on_or_through_a_target_then_rejoin(risk: str, legal: fg.Status) -> None:
    graph = fg.Graph("g")
    graph.input("risk_in", str)

    @graph.node
    def risk_of(risk_in: str) -> Literal["low", "high"]:
        return risk_in  # type: ignore[return-value]

    graph.add("legal", give, values={"value": "checked"})
    graph.choose("risk_of", {"low": [], "high": "legal"})
    runs = []

    @graph.node
    def brief(risk_of: str, legal: fg.Maybe[str]) -> Any:
        runs.append(legal)
        return legal

    run = await fg.arun(graph, {"risk_in": risk})
    assert run.outcomes["legal"].status is legal
    assert runs == [None if risk == "low" else "checked"]


async def test_a_branch_that_ends_skips_what_only_it_leads_to() -> None:
    graph = fg.Graph("g")
    graph.add("chooser", give, values={"value": "stop"})
    graph.add("work", give, values={"value": 1})
    graph.add("more", lambda work: work)
    graph.add("beside", lambda chooser: chooser)
    graph.choose("chooser", {"go": "work", "stop": fg.END})
    run = await fg.arun(graph)
    assert statuses(run) == {"chooser": "succeeded", "work": "skipped", "more": "skipped", "beside": "succeeded"}
    assert "chooser" in run.explain("more")


async def test_c17_a_label_without_a_case_fails_the_run_and_keeps_the_choosers_output() -> None:
    graph = fg.Graph("g")
    graph.add("chooser", give, values={"value": "odd"})
    graph.add("work", give, values={"value": 1})
    graph.add("beside", give, values={"value": 2})
    graph.choose("chooser", {"even": "work"})
    run = await fg.arun(graph, raise_on_failure=False)
    assert run.status is FAILED
    assert statuses(run) == {"chooser": "succeeded", "work": "upstream_failed", "beside": "succeeded"}
    assert run["chooser"] == "odd"
    error = run.errors["chooser"]
    assert isinstance(error, fg.ChoiceError)
    assert "'odd'" in str(error) and "'even'" in str(error) and "'chooser'" in str(error)
    with pytest.raises(fg.RunFailed) as caught:
        await fg.arun(graph)
    assert list(caught.value.errors) == ["chooser"]


async def test_a_choice_on_a_part_and_one_whose_part_is_not_there() -> None:
    graph = fg.Graph("g")
    chooser = graph.add("chooser", give, values={"value": {"kind": "a"}})
    graph.add("a", give, values={"value": 1})
    graph.add("b", give, values={"value": 2})
    graph.choose(chooser["kind"], {"a": "a"})
    graph.choose(chooser["missing"], {"b": "b"})
    run = await fg.arun(graph, raise_on_failure=False)
    assert statuses(run) == {"chooser": "succeeded", "a": "succeeded", "b": "upstream_failed"}
    assert "missing" in str(run.errors["chooser"])


async def test_labels_that_cannot_be_compared_or_shown_fail_the_choice_not_the_engine() -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no comparing")

        def __repr__(self) -> str:
            raise RuntimeError("no showing")

        __hash__ = object.__hash__

    graph = fg.Graph("g")
    graph.add("chooser", give, values={"value": Odd()})
    graph.add("a", give, values={"value": 1})
    graph.choose("chooser", {Odd(): "a"})
    run = await fg.arun(graph, raise_on_failure=False)
    assert isinstance(run.errors["chooser"], fg.ChoiceError)


# -- conditions


@pytest.mark.parametrize(
    ("when", "runs"),
    [
        ("number > 1", True),
        ("number > 5", False),
        (lambda number: number > 1, True),
        (lambda number: None, False),
        (lambda number: [], False),
        (lambda number: "no", True),
    ],
)
async def test_when_decides(when: Any, runs: bool) -> None:
    graph = fg.Graph("g")
    graph.input("number", int)
    graph.add("node", give, values={"value": 1}, when=when)
    run = await fg.arun(graph, {"number": 3})
    assert run.outcomes["node"].status is (SUCCEEDED if runs else SKIPPED)
    if not runs:
        assert run.outcomes["node"].reason is not None
        assert "number=int 3" in run.outcomes["node"].reason.detail


async def test_an_async_when_is_awaited() -> None:
    async def later(number: int) -> bool:
        await anyio.lowlevel.checkpoint()
        return number > 5

    graph = fg.Graph("g")
    graph.input("number", int)
    graph.add("node", give, values={"value": 1}, when=later)
    assert (await fg.arun(graph, {"number": 3})).outcomes["node"].status is SKIPPED


class NoTruth:
    def __bool__(self) -> bool:
        raise ValueError("ambiguous")


def _raises(number: int) -> bool:
    raise LookupError("gone")


@pytest.mark.parametrize("when", ["number.missing", "number + 'x'", _raises, lambda number: NoTruth(), "1 / 0"])
async def test_a_when_that_raises_fails_the_node_and_is_never_false(when: Any) -> None:
    calls = 0

    async def node() -> int:
        nonlocal calls
        calls += 1
        return calls

    graph = fg.Graph("g")
    graph.input("number", int)
    graph.add("node", node, when=when, retry=fg.Retry(attempts=3))
    graph.add("reader", lambda node: node)
    graph.add("beside", give, values={"value": 1})
    run = await fg.arun(graph, {"number": 3}, raise_on_failure=False)
    assert statuses(run) == {"node": "failed", "reader": "upstream_failed", "beside": "succeeded"}
    assert isinstance(run.errors["node"], fg.ConditionError)
    assert calls == 0


async def test_c49_a_condition_is_evaluated_for_each_item_of_a_batch() -> None:
    item = fg.Graph("item")
    item.input("answer", str)
    item.add("node", lambda answer: f"did {answer}", when="answer == 'yes'")

    @item.node(needs=())
    def report(answer: str, node: fg.Maybe[str]) -> str | None:
        return node

    batch = fg.Graph("batch")
    batch.input("answers", list[str])
    batch.map("all", item, each={"answer": "answers"})
    answers = ["yes", "no", "yes"]
    run = await fg.arun(batch, {"answers": answers})
    singles = [(await fg.arun(item, {"answer": answer})).output for answer in answers]
    assert run.output == singles == ["did yes", None, "did yes"]


# -- outputs


async def test_the_output_is_the_only_sink_several_sinks_or_what_was_named() -> None:
    graph = fg.Graph("g")
    a = graph.add("a", give, values={"value": {"x": 1}})
    graph.add("b", lambda a: 2)
    assert (await fg.arun(graph)).output == 2
    graph.add("c", lambda a: 3)
    assert (await fg.arun(graph)).output == {"b": 2, "c": 3}
    graph.output("a", third="c", part=a["x"])
    assert (await fg.arun(graph)).output == {"a": {"x": 1}, "third": 3, "part": 1}
    graph.output("c")
    assert (await fg.arun(graph)).output == 3


async def test_an_output_that_was_skipped_or_failed_says_why() -> None:
    graph = fg.Graph("g")
    graph.add("a", give, values={"value": 1}, when="False")
    run = await fg.arun(graph)
    with pytest.raises(fg.NoOutput, match="condition was false"):
        _ = run.output
    graph.add("b", _fails)
    graph.output("b")
    with pytest.raises(fg.NoOutput, match="broken"):
        _ = (await fg.arun(graph, raise_on_failure=False)).output


async def test_a_graph_without_nodes_is_refused() -> None:
    with pytest.raises(fg.GraphError, match="no nodes"):
        await fg.arun(fg.Graph("empty"))


# -- fallback and failure


@pytest.mark.parametrize("value", [0, "", None, [], False, "spare"])
async def test_a_fallback_value_stands_for_a_failed_node(value: Any) -> None:
    graph = fg.Graph("g")
    graph.add("node", _broken, fallback=value)
    graph.add("reader", lambda node: node)
    run = await fg.arun(graph)
    assert run["reader"] == value
    assert run.status is SUCCEEDED


async def _broken() -> Any:
    raise ValueError("broken")


async def test_a_fallback_node_gets_the_inputs_and_the_error_as_a_child() -> None:
    async def node(text: str) -> str:
        raise ValueError("broken")

    async def spare(text: str, error: Exception) -> str:
        return f"{text}: {error}"

    graph = fg.Graph("g")
    graph.input("text", str)
    graph.add("node", node, retry=fg.Retry(attempts=2), fallback=spare)
    run = await fg.arun(graph, {"text": "x"}, max_concurrency=1)
    assert run["node"] == "x: broken"
    assert run.nodes["node/fallback"].value == "x: broken"
    assert run.outcomes["node"].attempts == 2


async def test_a_fallback_does_not_take_the_place_of_a_child_of_its_name() -> None:
    async def node(ctx: fg.Context) -> str:
        await ctx.call(give, {"value": "a child"}, name="fallback")
        raise ValueError("broken")

    graph = fg.Graph("g")
    graph.add("node", node, fallback=lambda: "spare")
    run = await fg.arun(graph)
    assert run.output == "spare"
    assert (run["node/fallback"], run["node/fallback~2"]) == ("a child", "spare")


async def test_a_fallback_that_fails_or_cannot_be_called_leaves_the_first_error() -> None:
    async def spare(unknown: int) -> str:
        return "never"

    graph = fg.Graph("g")
    graph.add("a", _broken, fallback=_fails)
    graph.add("b", _broken, fallback=lambda: 1 / 0)
    run = await fg.arun(graph, raise_on_failure=False)
    assert [str(error) for error in run.errors.values()] == ["broken", "broken"]
    assert any("fallback failed too" in note for note in run.errors["a"].__notes__)
    graph = fg.Graph("g")
    graph.add("c", _broken, fallback=spare)
    try:
        run = await fg.arun(graph, raise_on_failure=False)
    except fg.GraphError:
        return  # found before anything ran: just as good
    assert str(run.errors["c"]) == "broken"


@pytest.mark.parametrize("spare", ["seven", lambda: "seven", lambda error: None, None, 7.5])
async def test_a_fallback_must_give_what_the_node_declares(spare: Any) -> None:
    graph = fg.Graph("g")

    @graph.node(fallback=spare)
    async def number() -> int:
        raise ValueError("broken")

    graph.add("reader", lambda number: number)
    run = await fg.arun(graph, raise_on_failure=False)
    assert str(run.errors["number"]) == "broken"
    (note,) = run.errors["number"].__notes__
    assert "its fallback failed too: it gave something else than 'number' declares: expected int, got" in note
    assert [outcome.status for outcome in run.outcomes.values()] == [FAILED, fg.Status.UPSTREAM_FAILED]


@pytest.mark.parametrize("spare", [7, lambda: 7, lambda error: len(str(error)) + 1, True])
async def test_a_fallback_that_fits_is_taken_as_it_is(spare: Any) -> None:
    graph = fg.Graph("g")

    @graph.node(fallback=spare)
    async def number() -> int:
        raise ValueError("broken")

    run = await fg.arun(graph, raise_on_failure=False)
    if spare is True:  # strictly, a bool is no int
        assert run.status is FAILED
    else:
        assert run.output == 7


@pytest.mark.parametrize("limit", [1, 2])
async def test_a_fallback_runs_after_a_timeout_and_under_any_limit(limit: int) -> None:
    async def forever() -> str:
        await anyio.sleep_forever()
        return "never"

    graph = fg.Graph("g")
    for name in "abc":
        graph.add(name, forever, timeout=0.01, fallback=lambda: "spare")
    run = await fg.arun(graph, max_concurrency=limit)
    assert run.output == dict.fromkeys("abc", "spare")


async def test_c04_every_node_is_in_exactly_one_state_and_what_was_produced_is_kept() -> None:
    graph = fg.Graph("g")
    graph.add("s1", give, values={"value": "s1"})
    graph.add("ok", lambda s1: "ok")
    graph.add("bad", lambda s1: 1 / 0)
    graph.add("s2", lambda ok, bad: "s2")
    run = await fg.arun(graph, raise_on_failure=False)
    assert statuses(run) == {"s1": "succeeded", "ok": "succeeded", "bad": "failed", "s2": "upstream_failed"}
    assert (run["s1"], run["ok"]) == ("s1", "ok")
    finished = [event.path for event in run.events if type(event).__name__ == "NodeFinished"]
    assert sorted(finished) == sorted(graph.entries)


async def test_c05_one_graph_runs_again_and_equal_names_do_not_meet() -> None:
    def build(base: int) -> fg.Graph:
        graph = fg.Graph("same")
        graph.input("x", int)
        graph.add("a", lambda x: x + base)
        graph.add("b", lambda a: a * 2)
        return graph

    one, other = build(1), build(100)
    assert [(await fg.arun(one, {"x": x}))["b"] for x in (1, 2)] == [4, 6]
    assert (await fg.arun(other, {"x": 1}))["b"] == 202
    assert (await fg.arun(one, {"x": 1}))["b"] == 4


async def test_a_graph_may_grow_between_runs() -> None:
    graph = fg.Graph("g")
    graph.add("a", give, values={"value": 1})
    assert (await fg.arun(graph)).output == 1
    graph.add("b", lambda a: a + 1)
    assert (await fg.arun(graph)).output == 2
