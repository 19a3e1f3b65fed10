"""Maps: one child per item, order, failures, nesting."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import flowgraph as fg

pytestmark = pytest.mark.anyio


async def double(number: int) -> int:
    return number * 2


async def picky(number: int) -> int:
    if number == 2:
        raise ValueError("not two")
    if number == 4:
        raise fg.Skip("not four")
    return number


def mapped(node: Any = double, **options: Any) -> fg.Graph:
    graph = fg.Graph("g")
    graph.input("numbers", list[int])
    graph.map("each", node, each={"number": "numbers"}, **options)
    return graph


@pytest.mark.parametrize("numbers", [[], [1], [1, 2, 3], list(range(50))])
async def test_c08_a_join_after_a_map_runs_once_with_the_results_in_order(numbers: list[int]) -> None:
    joins = []
    graph = mapped()

    @graph.node
    def join(each: list[int]) -> int:
        joins.append(each)
        return sum(each)

    run = await fg.arun(graph, {"numbers": numbers})
    assert joins == [[number * 2 for number in numbers]]
    assert [node.path for node in run.nodes["each"].children] == [f"each[{index}]" for index in range(len(numbers))]


async def test_c08_two_maps_one_of_them_empty_and_an_outer_join() -> None:
    graph = fg.Graph("g")
    graph.input("some", list[int])
    graph.input("none", list[int])
    graph.map("a", double, each={"number": "some"})
    graph.map("b", double, each={"number": "none"})
    graph.add("sum_a", lambda a: sum(a))
    graph.add("sum_b", lambda b: sum(b))
    joins = []

    @graph.node
    def outer(sum_a: int, sum_b: int) -> int:
        joins.append(1)
        return sum_a + sum_b

    assert (await fg.arun(graph, {"some": [1, 2], "none": []})).output == 6
    assert joins == [1]


async def test_c08_a_skipped_map_is_a_skipped_parent() -> None:
    graph = mapped(when="len(numbers) > 0")

    @graph.node(needs=())
    def join(each: fg.Maybe[list[int]]) -> Any:
        return each

    assert (await fg.arun(graph, {"numbers": []})).output is None
    assert (await fg.arun(graph, {"numbers": [1]})).output == [2]


async def test_results_are_in_the_order_of_the_items_whichever_ends_first() -> None:
    events = [anyio.Event() for _ in range(4)]
    events[3].set()

    async def backwards(number: int) -> int:
        await events[number].wait()
        if number:
            events[number - 1].set()
        return number

    assert (await fg.arun(mapped(backwards), {"numbers": [0, 1, 2, 3]})).output == [0, 1, 2, 3]


@pytest.mark.parametrize("value", [0, False, "", None, [], {}])
async def test_c03_falsy_items_and_falsy_results_are_values(value: Any) -> None:
    graph = fg.Graph("g")
    graph.input("items", list[Any])
    graph.map("each", lambda item: item, each={"item": "items"})
    assert (await fg.arun(graph, {"items": [value, value]})).output == [value, value]


async def test_several_lists_go_in_step_and_must_be_equally_long() -> None:
    graph = fg.Graph("g")
    graph.input("a", list[int])
    graph.input("b", list[str])
    graph.input("c", str)
    graph.map("each", lambda x, y, c: f"{x}{y}{c}", each={"x": "a", "y": "b"})
    assert (await fg.arun(graph, {"a": [1, 2], "b": ["p", "q"], "c": "!"})).output == ["1p!", "2q!"]
    run = await fg.arun(graph, {"a": [1, 2], "b": ["p"], "c": "!"}, raise_on_failure=False)
    assert isinstance(run.errors["each"], fg.InputError)
    assert "'x' has 2, 'y' has 1" in str(run.errors["each"])


@pytest.mark.parametrize("value", ["text", b"bytes", {"a": 1}, 3, None])
async def test_what_is_no_list_is_refused(value: Any) -> None:
    graph = fg.Graph("g")
    graph.input("items", Any)
    graph.map("each", lambda item: item, each={"item": "items"})
    run = await fg.arun(graph, {"items": value}, raise_on_failure=False)
    assert isinstance(run.errors["each"], fg.InputError)


async def test_an_item_of_the_wrong_type_fails_that_item_alone() -> None:
    graph = fg.Graph("g")
    graph.input("items", Any)
    graph.map("each", double, each={"number": "items"}, on_item_failure="keep")
    run = await fg.arun(graph, {"items": [1, 2]})
    assert [outcome.value for outcome in run.output] == [2, 4]
    graph = fg.Graph("h")
    graph.add("items", lambda: [1, "x", 3])
    graph.map("each", double, each={"number": "items"}, on_item_failure="keep")
    run = await fg.arun(graph, raise_on_failure=False)
    statuses = [node.status.value for node in run.nodes["each"].children]
    assert statuses in (["succeeded", "failed", "succeeded"], [])


# -- failures


async def test_fail_lets_the_others_finish_first() -> None:
    run = await fg.arun(mapped(picky), {"numbers": [1, 2, 3]}, raise_on_failure=False)
    assert run.outcomes["each"].status is fg.Status.FAILED
    assert str(run.errors["each"]) == "not two"
    assert "each[1]" in run.errors["each"].__notes__[0]
    assert [run.nodes[f"each[{index}]"].status.value for index in range(3)] == ["succeeded", "failed", "succeeded"]


async def test_keep_gives_outcomes() -> None:
    run = await fg.arun(mapped(picky, on_item_failure="keep"), {"numbers": [1, 2, 3, 4]})
    assert run.status is fg.Status.SUCCEEDED
    assert [(outcome.status.value, outcome.value) for outcome in run.output] == [
        ("succeeded", 1),
        ("failed", None),
        ("succeeded", 3),
        ("skipped", None),
    ]
    assert str(run.output[1].error) == "not two"


async def test_drop_leaves_out_what_failed_or_was_skipped() -> None:
    assert (await fg.arun(mapped(picky, on_item_failure="drop"), {"numbers": [1, 2, 3, 4]})).output == [1, 3]


async def test_retries_and_fallbacks_are_for_items_and_for_the_map() -> None:
    calls: dict[int, int] = {}

    async def flaky(number: int) -> int:
        calls[number] = calls.get(number, 0) + 1
        if number == 2 and calls[number] < 3:
            raise OSError("once more")
        return number

    run = await fg.arun(mapped(flaky, retry=fg.Retry(attempts=3)), {"numbers": [1, 2]})
    assert run.output == [1, 2]
    assert calls == {1: 1, 2: 3}
    assert (await fg.arun(mapped(picky, fallback=[0]), {"numbers": [2]})).output == [0]


async def test_the_graphs_own_policy_is_for_items_too() -> None:
    calls = []

    async def bad(number: int) -> int:
        calls.append(number)
        raise OSError("no")

    graph = fg.Graph("g", policy=fg.Policy(retry=fg.Retry(attempts=2)))
    graph.input("numbers", list[int])
    graph.map("each", bad, each={"number": "numbers"})
    await fg.arun(graph, {"numbers": [1, 2]}, raise_on_failure=False)
    assert sorted(calls) == [1, 1, 2, 2]


# -- limits


@pytest.mark.parametrize("limit", [1, 2, 5])
async def test_max_concurrency_is_never_passed(limit: int) -> None:
    now = most = 0

    async def busy(number: int) -> int:
        nonlocal now, most
        now += 1
        most = max(most, now)
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        now -= 1
        return number

    run = await fg.arun(mapped(busy, max_concurrency=limit), {"numbers": list(range(10))})
    assert run.output == list(range(10))
    assert most == limit


@pytest.mark.parametrize(
    "options", [{"max_concurrency": 0}, {"max_concurrency": -1}, {"on_item_failure": "ignore"}, {"each": {}}]
)
async def test_settings_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    graph = fg.Graph("g")
    with pytest.raises(ValueError):
        graph.map("each", double, **{"each": {"number": "numbers"}, **options})


async def test_each_that_names_no_parameter_is_an_error_before_anything_runs() -> None:
    graph = fg.Graph("g")
    graph.input("numbers", list[int])
    graph.map("each", lambda: 1, each={"nmber": "numbers"})
    with pytest.raises(fg.GraphError, match="nmber"):
        await fg.arun(graph, {"numbers": [1]})


# -- nesting


async def test_maps_in_maps_and_maps_of_graphs() -> None:
    row = fg.Graph("row")
    row.input("numbers", list[int])
    row.map("cells", double, each={"number": "numbers"})
    row.add("total", lambda cells: sum(cells))
    table = fg.Graph("table")
    table.input("rows", list[list[int]])
    table.map("totals", row, each={"numbers": "rows"})
    run = await fg.arun(table, {"rows": [[1, 2], [], [3]]}, max_concurrency=2)
    assert run.output == [6, 0, 6]
    assert run.nodes["totals[0]/cells[1]"].value == 4


async def test_an_item_that_fails_in_a_graph_keeps_what_the_graph_produced() -> None:
    item = fg.Graph("item")
    item.input("number", int)
    item.add("good", double)
    item.add("bad", picky)
    item.add("join", lambda good, bad: good + bad)
    run = await fg.arun(mapped(item, on_item_failure="keep"), {"numbers": [1, 2]})
    assert [outcome.ok for outcome in run.output] == [True, False]
    assert run.nodes["each[1]/good"].value == 4
    assert isinstance(run.output[1].error, fg.SubgraphFailed)


async def test_a_map_node_gets_its_other_parameters_and_the_context() -> None:
    async def node(ctx: fg.Context, number: int, by: int, plus: int = 1) -> tuple[str, int]:
        return ctx.path, number * by + plus

    graph = fg.Graph("g")
    graph.input("numbers", list[int])
    graph.input("by", int)
    graph.map("each", node, each={"number": "numbers"}, values={"plus": 0})
    assert (await fg.arun(graph, {"numbers": [1, 2], "by": 3})).output == [("each[0]", 3), ("each[1]", 6)]


async def test_a_single_name_stands_for_the_parameter_and_the_list() -> None:
    graph = fg.Graph("g")
    graph.input("number", list[int])
    graph.map("each", double, each="number")
    assert (await fg.arun(graph, {"number": [1, 2]})).output == [2, 4]
