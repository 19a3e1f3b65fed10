"""LoopFlow: rounds, what they carry, how they end."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from pydantic import BaseModel

import flowgraph as fg
from flowgraph_nodes import LoopExhausted, LoopFlow, sequence

pytestmark = pytest.mark.anyio


def looped(loop: LoopFlow, **types: Any) -> fg.Graph:
    graph = fg.Graph("g")
    for name in loop.parameters:
        graph.input(name, types.get(name, Any))
    graph.add("loop", loop)
    graph.output("loop")
    return graph


async def inc(number: int) -> int:
    return number + 1


class Draft(BaseModel):
    text: str
    score: int


async def test_the_one_parameter_of_a_body_gets_the_output_of_the_round_before() -> None:
    run = await fg.arun(looped(LoopFlow(inc, until="output >= 5")), {"number": 1})
    assert run.output == 5
    assert [node.path for node in run.root.walk()][1:] == ["loop", "loop#0", "loop#1", "loop#2", "loop#3"]
    assert run.nodes["loop"].detail == {"iterations": 4, "ended": "until"}


async def test_carry_takes_parts_and_leaves_the_other_parameters_as_they_were() -> None:
    seen = []

    async def improve(draft: str, style: str) -> Draft:
        seen.append((draft, style))
        return Draft(text=draft + "!", score=len(draft))

    loop = LoopFlow(improve, until="output.score >= 4", carry={"draft": "output.text"})
    run = await fg.arun(looped(loop), {"draft": "ab", "style": "dry"})
    assert run.output == Draft(text="ab!!!", score=4)
    assert seen == [("ab", "dry"), ("ab!", "dry"), ("ab!!", "dry")]


async def test_a_part_that_is_not_there_fails_the_loop_and_names_it() -> None:
    async def body(draft: Any) -> dict[str, Any]:
        return {"txt": draft}

    loop = LoopFlow(body, until="False", carry={"draft": "output.text"})
    run = await fg.arun(looped(loop), {"draft": "x"}, raise_on_failure=False)
    assert isinstance(run.errors["loop"], fg.InputError)
    assert "output.text" in str(run.errors["loop"])
    assert "txt" in str(run.errors["loop"])


async def test_a_parameter_with_a_default_does_not_hinder_the_default_carry() -> None:
    def body(number: int, by: int = 2) -> int:
        return number + by

    run = await fg.arun(looped(LoopFlow(body, until="output > 5"), by=int), {"number": 0, "by": 2})
    assert run.output == 6


@pytest.mark.parametrize("kind", ["sync", "async", "expression"])
async def test_until_is_sync_async_or_an_expression_on_output_iteration_history(kind: str) -> None:
    seen: list[tuple[int, list[int]]] = []

    def until(history: list[int], iteration: int) -> bool:
        seen.append((iteration, list(history)))
        return iteration == 2

    async def later(history: list[int], iteration: int) -> bool:
        await anyio.lowlevel.checkpoint()
        return until(history, iteration)

    rule: Any = {"sync": until, "async": later, "expression": "iteration == 2 and len(history) == 3"}[kind]
    run = await fg.arun(looped(LoopFlow(inc, until=rule)), {"number": 0})
    assert run.output == 3
    assert kind == "expression" or seen == [(0, [1]), (1, [1, 2]), (2, [1, 2, 3])]


async def test_until_that_raises_fails_the_loop_and_is_never_read_as_false() -> None:
    rounds = 0

    async def body(number: int) -> int:
        nonlocal rounds
        rounds += 1
        return number

    loop = looped(LoopFlow(body, until="output.score > 1"))
    with pytest.raises(fg.RunFailed) as caught:
        await fg.arun(loop, {"number": 1})
    assert isinstance(caught.value.errors["loop"], fg.ConditionError)
    assert rounds == 1


# -- how it ends


async def test_exhaustion_is_an_error_that_holds_the_last_output_and_the_count() -> None:
    with pytest.raises(fg.RunFailed) as caught:
        await fg.arun(looped(LoopFlow(inc, until="output > 99", max_iterations=3)), {"number": 0})
    error = caught.value.errors["loop"]
    assert isinstance(error, LoopExhausted)
    assert (error.last, error.iterations, error.stalled) == (3, 3, False)
    assert caught.value.run.nodes["loop#2"].value == 3


async def test_on_exhausted_last_gives_the_last_output() -> None:
    run = await fg.arun(looped(LoopFlow(inc, max_iterations=3, on_exhausted="last")), {"number": 0})
    assert run.output == 3
    assert run.nodes["loop"].detail["ended"] == "exhausted"


@pytest.mark.parametrize("score", ["output['score']", lambda output: output["score"]])
async def test_on_exhausted_best_gives_the_output_with_the_highest_score(score: Any) -> None:
    scores = iter([1, 9, float("nan"), 9, 3])

    async def body() -> dict[str, float]:
        return {"score": next(scores), "round": 0}

    loop = LoopFlow(body, max_iterations=5, on_exhausted="best", score=score, stall=None)
    run = await fg.arun(looped(loop), {})
    assert run.output == run.nodes["loop#1"].value  # the first of equals


async def test_score_may_be_async_and_is_not_asked_when_until_held() -> None:
    asked = 0

    async def score(output: int) -> int:
        nonlocal asked
        asked += 1
        return -output

    loop = LoopFlow(inc, until="output == 3", score=score, on_exhausted="best", max_iterations=4)
    assert (await fg.arun(looped(loop), {"number": 0})).output == 3
    assert asked == 0
    assert (await fg.arun(looped(loop), {"number": 7})).output == 8
    assert asked == 4


async def test_a_score_that_is_no_number_fails_the_loop() -> None:
    loop = LoopFlow(inc, score="str(output)", on_exhausted="best", max_iterations=1)
    assert (await fg.arun(looped(loop), {"number": 7})).output == 8  # a text that is a number will do
    loop = LoopFlow(inc, score="'good'", on_exhausted="best", max_iterations=1)
    with pytest.raises(fg.RunFailed, match="not a number"):
        await fg.arun(looped(loop), {"number": 7})


@pytest.mark.parametrize("stall", [2, 3, None])
async def test_the_same_output_again_and_again_is_a_stall(stall: int | None) -> None:
    async def body(number: int) -> int:
        return min(number + 1, 3)

    run = await fg.arun(looped(LoopFlow(body, stall=stall, max_iterations=9)), {"number": 0}, raise_on_failure=False)
    error = run.errors["loop"]
    assert isinstance(error, LoopExhausted)
    assert (error.stalled, error.iterations) == ((True, stall + 2) if stall else (False, 9))
    assert error.last == 3


async def test_a_stall_takes_the_last_output_when_told_so() -> None:
    async def body(number: int) -> int:
        return 3

    run = await fg.arun(looped(LoopFlow(body, on_exhausted="last")), {"number": 0})
    assert (run.output, run.nodes["loop"].detail) == (3, {"iterations": 2, "ended": "stalled"})


async def test_outputs_that_are_equal_but_of_another_type_or_cannot_be_compared_do_not_stall() -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError("not comparable")

        __hash__ = None  # type: ignore[assignment]

    outputs = iter([0, False, 0, Odd(), Odd()])

    async def body() -> Any:
        return next(outputs)

    run = await fg.arun(looped(LoopFlow(body, max_iterations=5, on_exhausted="last")), {})
    assert isinstance(run.output, Odd)


async def test_a_round_that_fails_fails_the_loop_and_keeps_the_rounds_before() -> None:
    async def body(number: int) -> int:
        if number == 2:
            raise ValueError("no further")
        return number + 1

    run = await fg.arun(looped(LoopFlow(body)), {"number": 0}, raise_on_failure=False)
    assert isinstance(run.errors["loop"], ValueError)
    assert [run.nodes[f"loop#{i}"].status for i in range(3)] == ["succeeded", "succeeded", "failed"]
    assert run["loop#1"] == 2


async def test_retries_in_the_body_try_only_the_failing_node() -> None:
    calls = {"first": 0, "second": 0}
    body = fg.Graph("body")
    body.input("number", int)

    @body.node
    async def first(number: int) -> int:
        calls["first"] += 1
        return number

    @body.node(retry=fg.Retry(attempts=2))
    async def second(first: int) -> int:
        calls["second"] += 1
        if calls["second"] % 2:
            raise OSError("once in a while")
        return first + 1

    run = await fg.arun(looped(LoopFlow(body, until="output == 3")), {"number": 0})
    assert run.output == 3
    assert calls == {"first": 3, "second": 6}
    assert run.nodes["loop#1/second"].attempt == 2


async def test_a_retry_of_the_loop_starts_again_from_its_inputs() -> None:
    calls = 0

    async def body(number: int) -> int:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise OSError("the first time")
        return number + 1

    graph = fg.Graph("g")
    graph.input("number", int)
    graph.add("loop", LoopFlow(body, until="output == 3"), retry=fg.Retry(attempts=2))
    run = await fg.arun(graph, {"number": 0})
    assert (run["loop"], calls) == (3, 5)
    assert len(run.nodes["loop"].children) == 3
    assert len(run.nodes["loop"].earlier[0]) == 2


# -- Break


async def test_break_ends_the_loop_with_its_value() -> None:
    async def body(number: int) -> int:
        if number == 2:
            raise fg.Break(99)
        return number + 1

    run = await fg.arun(looped(LoopFlow(body)), {"number": 0})
    assert run.output == 99
    assert run.nodes["loop"].detail == {"iterations": 3, "ended": "break"}


@pytest.mark.parametrize("value", [0, False, "", [], {}, 0.0, None])
async def test_break_with_a_falsy_value_gives_that_value(value: Any) -> None:
    async def body(number: Any) -> Any:
        if number == 2:
            raise fg.Break(value)
        return number + 1

    output = (await fg.arun(looped(LoopFlow(body)), {"number": 0})).output
    assert output == value
    assert type(output) is type(value)


async def test_break_without_a_value_gives_the_output_of_the_round_before() -> None:
    async def body(number: int) -> int | None:
        if number == 2:
            raise fg.Break
        return number + 1

    assert (await fg.arun(looped(LoopFlow(body)), {"number": 0})).output == 2
    assert (await fg.arun(looped(LoopFlow(body)), {"number": 2})).output is None
    assert (fg.Break().args, fg.Break(None).args) == ((), (None,))


@pytest.mark.parametrize("on_item_failure", ["fail", "keep", "drop"])
async def test_a_break_in_an_item_of_a_map_ends_the_loop_around_the_map(on_item_failure: Any) -> None:
    rounds: list[int] = []

    async def item(value: int) -> int:
        rounds.append(value)
        if value == 3:
            raise fg.Break("enough")
        return value + 1

    body = fg.Graph("body")
    body.input("values", list[int])
    body.map("next", item, each={"value": "values"}, on_item_failure=on_item_failure)

    @body.node
    def out(next: Any) -> Any:
        return [o.value if isinstance(o, fg.Outcome) else o for o in next]

    graph = fg.Graph("g")
    graph.input("values", list[int])
    graph.add("loop", LoopFlow(body, max_iterations=9))
    run = await fg.arun(graph, {"values": [1, 0]})
    assert run.output == "enough"
    assert sorted(rounds) == [0, 1, 1, 2, 2, 3]  # the other items of the last round have ended
    assert run.nodes["loop"].detail == {"iterations": 3, "ended": "break"}


async def test_break_is_an_error_where_there_is_no_loop() -> None:
    graph = fg.Graph("g")

    @graph.node
    async def lone() -> None:
        raise fg.Break(1)

    with pytest.raises(fg.RunFailed, match="outside of a loop"):
        await fg.arun(graph)


async def test_break_is_never_retried_and_needs_no_fallback() -> None:
    calls = 0

    async def body() -> int:
        nonlocal calls
        calls += 1
        raise fg.Break(7)

    graph = fg.Graph("body")
    graph.add("only", body, retry=fg.Retry(attempts=3), fallback=1)
    assert (await fg.arun(looped(LoopFlow(graph)), {})).output == 7
    assert calls == 1


async def test_a_break_in_a_fallback_ends_the_loop_too() -> None:
    async def fails() -> int:
        raise ValueError("broken")

    async def spare() -> int:
        raise fg.Break(7)

    body = fg.Graph("body")
    body.add("only", fails, fallback=spare)
    run = await fg.arun(looped(LoopFlow(body)), {})
    assert run.output == 7
    assert run.nodes["loop"].detail == {"iterations": 1, "ended": "break"}


async def test_c41_after_a_break_the_rest_of_the_body_does_not_run() -> None:
    calls = {"check": 0, "work": 0}

    async def check(number: int) -> int:
        calls["check"] += 1
        if calls["check"] == 2:
            raise fg.Break(number)
        return number

    async def work(check: int) -> int:
        calls["work"] += 1
        return check + 1

    run = await fg.arun(looped(LoopFlow(sequence(check, work))), {"number": 0})
    assert calls == {"check": 2, "work": 1}
    assert run.output == 1
    assert run.outcomes["loop"].ok
    assert run.nodes["loop#1/work"].status is fg.Status.CANCELLED


async def test_c41_a_break_ends_what_runs_beside_it_after_its_clean_up() -> None:
    ended = []
    body = fg.Graph("body")

    @body.node
    async def slow() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("slow")

    @body.node
    async def quick() -> None:
        await anyio.lowlevel.checkpoint()
        raise fg.Break({"quick": "done"})

    body.output("slow", "quick")
    run = await fg.arun(looped(LoopFlow(body)), {})
    assert run.output == {"quick": "done"}
    assert ended == ["slow"]
    assert run.status is fg.Status.SUCCEEDED


async def test_a_break_from_deep_inside_a_body_ends_the_loop() -> None:
    async def leaf() -> None:
        raise fg.Break("deep")

    inner = fg.Graph("inner")
    inner.add("leaf", leaf)

    async def caller(ctx: fg.Context) -> Any:
        await ctx.gather(ctx.call(inner))
        raise AssertionError("not reached")

    outer = fg.Graph("outer")
    outer.add("caller", caller)
    assert (await fg.arun(looped(LoopFlow(outer)), {})).output == "deep"


# -- nesting


async def test_c40_a_break_ends_the_innermost_loop_only() -> None:
    calls = {"inner": 0, "z": 0}

    async def body(number: int) -> int:
        calls["inner"] += 1
        if calls["inner"] % 2 == 0:
            raise fg.Break(number)
        return number + 1

    inner = LoopFlow(body, name="inner", stall=None)
    outer = LoopFlow(sequence(inner, name="round"), name="outer", until="iteration == 2")
    graph = fg.Graph("g")
    graph.input("number", int)
    graph.add("outer", outer)

    @graph.node
    async def z(outer: int) -> str:
        calls["z"] += 1
        return f"after {outer}"

    run = await fg.arun(graph, {"number": 0})
    assert calls == {"inner": 6, "z": 1}
    assert run["z"] == "after 3"
    assert len(run.nodes["outer"].children) == 3
    assert run.nodes["outer#2/inner#1"].status is fg.Status.SUCCEEDED


async def test_c42_two_loops_beside_one_node_and_a_loop_that_meets_a_branch_in_a_join() -> None:
    joins = []
    graph = fg.Graph("g")
    graph.input("number", int)

    @graph.node
    async def start(number: int) -> int:
        return number

    graph.add("left", LoopFlow(inc, until="output >= 3"), bind={"number": "start"})
    graph.add("right", LoopFlow(inc, until="output >= 5"), bind={"number": "start"})

    @graph.node
    async def side(start: int) -> str:
        return "side"

    @graph.node
    async def join(left: int, right: int, side: str) -> tuple[int, int, str]:
        joins.append(side)
        return left, right, side

    run = await fg.arun(graph, {"number": 0})
    assert run["join"] == (3, 5, "side")
    assert joins == ["side"]
    assert (len(run.nodes["left"].children), len(run.nodes["right"].children)) == (3, 5)


async def test_c18_a_loop_of_five_rounds_then_an_exit_node() -> None:
    calls = []

    async def body(number: int) -> int:
        calls.append(number)
        return number + 1

    graph = fg.Graph("g")
    graph.input("number", int)
    graph.add("loop", LoopFlow(body, until="iteration == 4"))

    @graph.node
    async def leave(loop: int) -> int:
        return loop * 10

    run = await fg.arun(graph, {"number": 0})
    assert calls == [0, 1, 2, 3, 4]
    assert run["leave"] == 50


async def test_loops_in_a_map_run_side_by_side_each_with_its_own_rounds() -> None:
    graph = fg.Graph("g")
    graph.input("numbers", list[int])
    graph.map("loops", LoopFlow(inc, until="output >= 3"), each={"number": "numbers"})
    run = await fg.arun(graph, {"numbers": [0, 2, 5]})
    assert run["loops"] == [3, 3, 6]
    assert "loops[0]#2" in run
    assert "loops[1]#1" not in run


async def test_a_map_in_a_graph_in_a_loop() -> None:
    body = fg.Graph("body")
    body.input("numbers", list[int])
    body.map("more", inc, each={"number": "numbers"})
    run = await fg.arun(looped(LoopFlow(body, until="sum(output) >= 9")), {"numbers": [1, 2]})
    assert run.output == [4, 5]
    assert run.nodes["loop#2/more[1]"].value == 5


async def test_one_loop_object_serves_several_places_and_runs_at_once() -> None:
    loop = LoopFlow(inc, until="output >= 3")
    graph = fg.Graph("g")
    graph.input("number", int)
    graph.add("a", loop)
    graph.add("b", loop, bind={"number": "a"})
    results: list[int] = []

    async def one() -> None:
        results.append((await fg.arun(graph, {"number": 0}))["b"])

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(one)
    assert results == [4, 4, 4]


async def test_a_loop_works_under_a_limit_of_one_node_at_a_time() -> None:
    body = sequence(inc, LoopFlow(inc, until="True"))
    run = await fg.arun(looped(LoopFlow(body, until="output >= 6")), {"number": 0}, max_concurrency=1)
    assert run.output == 6


# -- built wrong


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"carry": {"nmber": "output"}}, "nmber"),
        ({"carry": {"number": "result"}}, "output"),
        ({"carry": {"number": "output."}}, "output"),
        ({"until": lambda draft: True}, "draft"),
        ({"until": "score > 1"}, "score"),
        ({"until": "output >"}, "expression"),
        ({"until": "exit()"}, "exit"),
        ({"score": "points", "on_exhausted": "best"}, "points"),
        ({"score": "output"}, "together"),
        ({"on_exhausted": "best"}, "together"),
        ({"on_exhausted": "first"}, "on_exhausted"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"max_iterations": True}, "max_iterations"),
        ({"max_iterations": 2.5}, "max_iterations"),
        ({"stall": 1}, "stall"),
        ({"stall": 0}, "stall"),
        ({"name": "no name"}, "no name"),
    ],
)
async def test_what_does_not_fit_is_refused_when_the_loop_is_built(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LoopFlow(inc, **options)


async def test_what_is_no_node_or_no_callable_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot be a node"):
        LoopFlow("body")
    with pytest.raises(TypeError, match="until="):
        LoopFlow(inc, until=3)  # type: ignore[arg-type]


async def test_a_loop_has_the_parameters_of_its_body_but_for_the_context() -> None:
    def body(ctx: fg.Context, draft: str, legal: fg.Maybe[str], style: str = "dry") -> str:
        return draft

    loop = LoopFlow(body, carry={"draft": "output"})
    assert list(loop.parameters) == ["draft", "legal", "style"]
    assert (loop.kind, loop.name, loop.output_type) == ("loop", "body", str)
    assert loop.inner.name == "body"
