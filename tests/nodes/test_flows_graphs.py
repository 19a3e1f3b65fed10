"""Sequences, parallel branches and routes."""

from __future__ import annotations

from typing import Any, Literal

import pytest

import flowgraph as fg
from flowgraph_nodes import LoopFlow, parallel, route, sequence

pytestmark = pytest.mark.anyio


async def draft(topic: str) -> str:
    return f"on {topic}"


async def polish(text: str) -> str:
    return f"{text}, polished"


# -- sequence


async def test_a_sequence_passes_each_output_to_the_next() -> None:
    run = await fg.arun(sequence(draft, polish, polish), {"topic": "bees"})
    assert run.output == "on bees, polished, polished"
    assert list(run.outcomes) == ["draft", "polish", "polish_2"]


async def test_the_only_parameter_gets_the_output_even_when_it_has_the_name_of_an_input() -> None:
    async def twice(number: int) -> int:
        return number * 2

    assert (await fg.arun(sequence(twice, twice, twice), {"number": 1})).output == 8


async def test_of_several_parameters_those_with_known_names_bind_to_these() -> None:
    async def check(text: str, topic: str, draft: str) -> tuple[str, str, str]:
        return text, topic, draft

    run = await fg.arun(sequence(draft, polish, check), {"topic": "bees"})
    assert run.output == ("on bees, polished", "bees", "on bees")


async def test_defaults_stay_and_a_node_without_parameters_follows() -> None:
    order = []

    async def first() -> str:
        order.append("first")
        return "x"

    async def second() -> None:
        order.append("second")

    async def third(value: Any, mark: str = "!") -> str:
        return f"{value}{mark}"

    run = await fg.arun(sequence(first, second, third))
    assert run.output == "None!"
    assert order == ["first", "second"]


async def test_a_sequence_is_a_node_of_a_graph_and_of_a_sequence() -> None:
    graph = fg.Graph("g")
    graph.input("topic", str)
    graph.add("text", sequence(sequence(draft, polish, name="write"), polish))
    run = await fg.arun(graph, {"topic": "bees"})
    assert run["text"] == "on bees, polished, polished"
    assert run["text/write/draft"] == "on bees"


async def test_a_sequence_that_cannot_be_told_is_refused() -> None:
    async def two(left: str, right: str) -> str:
        return left + right

    with pytest.raises(ValueError, match="'left', 'right'"):
        sequence(draft, two)
    with pytest.raises(ValueError, match="at least one"):
        sequence()


async def test_a_failure_in_a_sequence_stops_what_comes_after() -> None:
    async def fails(text: str) -> str:
        raise OSError("no")

    run = await fg.arun(sequence(draft, fails, polish), {"topic": "x"}, raise_on_failure=False)
    assert [outcome.status for outcome in run.outcomes.values()] == ["succeeded", "failed", "upstream_failed"]


# -- parallel


async def test_parallel_gives_a_dict_of_outputs_and_shares_inputs() -> None:
    async def count(topic: str, times: int) -> int:
        return len(topic) * times

    run = await fg.arun(parallel(text=draft, size=count), {"topic": "bees", "times": 2})
    assert run.output == {"text": "on bees", "size": 8}
    assert list(run.output) == ["text", "size"]


async def test_parallel_of_one_gives_a_dict_too() -> None:
    assert (await fg.arun(parallel(text=draft), {"topic": "x"})).output == {"text": "on x"}


async def test_parallel_leaves_out_what_was_skipped_and_fails_after_all_have_ended() -> None:
    async def skipped(topic: str) -> str:
        raise fg.Skip("nothing")

    async def fails(topic: str) -> str:
        raise OSError("no")

    assert (await fg.arun(parallel(a=draft, b=skipped), {"topic": "x"})).output == {"a": "on x"}
    run = await fg.arun(parallel(a=draft, b=fails), {"topic": "x"}, raise_on_failure=False)
    assert run.status is fg.Status.FAILED
    assert run["a"] == "on x"


async def test_parallel_refuses_nothing_and_branches_named_like_a_parameter() -> None:
    with pytest.raises(ValueError, match="at least one"):
        parallel()
    with pytest.raises(ValueError, match="'topic'"):
        parallel(topic=draft)


# -- route


async def classify(number: int) -> Literal["low", "high"]:
    return "low" if number < 10 else "high"


async def double(number: int) -> int:
    return number * 2


async def halve(number: int) -> int:
    return number // 2


@pytest.mark.parametrize(("number", "expected", "idle"), [(3, 6, "high"), (20, 10, "low")])
async def test_a_route_runs_the_node_of_the_label_and_gives_its_output(number: int, expected: int, idle: str) -> None:
    run = await fg.arun(route(classify, {"low": double, "high": halve}), {"number": number})
    assert run.output == expected
    assert run.outcomes[idle].status is fg.Status.SKIPPED


async def test_labels_may_share_a_node_and_others_take_the_default() -> None:
    async def kind(number: int) -> Any:
        return number

    graph = route(kind, {1: double, 2: double}, default=lambda kind: f"other {kind}")
    outputs = [(await fg.arun(graph, {"number": number})).output for number in (2, 5)]
    assert outputs == [4, "other 5"]


async def test_an_unknown_label_without_default_fails() -> None:
    async def kind(number: int) -> str:
        return "odd"

    with pytest.raises(fg.RunFailed) as caught:
        await fg.arun(route(kind, {"low": double, "high": halve}), {"number": 1})
    assert isinstance(caught.value.errors["kind"], fg.ChoiceError)


@pytest.mark.parametrize("value", [0, "", None, False])
async def test_a_route_gives_falsy_outputs_as_they_are(value: Any) -> None:
    async def give(number: int) -> Any:
        return value

    output = (await fg.arun(route(classify, {"low": give, "high": halve}), {"number": 1})).output
    assert output == value
    assert type(output) is type(value)


async def test_a_route_in_a_sequence_in_a_loop() -> None:
    body = sequence(route(classify, {"low": double, "high": halve}))
    graph = fg.Graph("g")
    graph.input("number", int)
    graph.add("loop", LoopFlow(body, max_iterations=4, on_exhausted="last"))
    run = await fg.arun(graph, {"number": 3})
    assert run["loop"] == 12  # 6, 12, 6, 12
    with pytest.raises(ValueError, match="at least one case"):
        route(classify, {})
