"""Nothing outlives its run: graphs are cancelled at every step of the event loop, and then searched for leaks.

And under real event loops, whatever they start next, outcomes are those of the rules. FLOWGRAPH_SOAK=1 does it all
twenty times: threads make each time a little different.
"""

from __future__ import annotations

import gc
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import flowgraph as fg
from tests.engine.cutting import Backend, How, cut, nothing_left, steps
from tests.engine.playing import ends_of, playable
from tests.engine.reference import Reference
from tests.engine.small_graphs import CASES
from tests.engine.strategies import SOAK, Story, examples, orders, stories

WAYS: list[tuple[How, Backend]] = [
    ("cancel", "asyncio"),
    ("scope", "asyncio"),
    ("twice", "asyncio"),
    ("task", "asyncio"),
    ("cancel", "trio"),
    ("scope", "trio"),
    ("twice", "trio"),
]


def kept(run: fg.Run) -> dict[str, Any]:
    """The outputs of the nodes that succeeded."""
    return {path: node.value for path, node in run.nodes.items() if node.status is fg.Status.SUCCEEDED}


def agree(run: fg.Run, other: fg.Run) -> bool:
    """Whether what succeeded in both has the same output in both."""
    one, two = kept(run), kept(other)
    return all(one[path] == two[path] for path in one if path in two)


@pytest.mark.parametrize(("how", "backend"), WAYS)
@pytest.mark.parametrize("name", CASES)
def test_a_run_that_is_cancelled_at_any_step_leaves_nothing(name: str, how: How, backend: Backend) -> None:
    with nothing_left():
        graph, options = CASES[name]()
        whole = steps(graph, backend, options)
        cancelled = 0
        for at in [*range(1, whole.steps + 1)] * SOAK:
            run = cut(graph, backend, at, how, options).run
            assert run.status in (fg.Status.CANCELLED, whole.run.status), at
            assert agree(run, whole.run), at
            assert [path for path, node in run.nodes.items() if node.status.bad and not node.reason] == [], at
            cancelled += run.status is fg.Status.CANCELLED
        assert cancelled, "none of them was cut short"
        again = steps(graph, backend, options).run
        assert again.status is whole.run.status
        assert agree(again, whole.run)
        gc.collect()


# -- drawn graphs


def refused(graph: fg.Graph) -> bool:
    return any(problem.severity == "error" for problem in fg.check(graph))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@examples(60)
@given(story=stories(), breaths=orders())
def test_outcomes_and_reasons_are_those_of_the_rules(backend: Backend, story: Story, breaths: list[int]) -> None:
    graph, reference = playable(story, breaths), Reference(*story)
    assume(not refused(graph))
    run = steps(graph, backend, {"inputs": {"topic": "tea"}}).run
    assert ends_of(run) == ends_of(reference)
    assert list(run.unhandled) == reference.unhandled
    assert run.status is (fg.Status.FAILED if reference.unhandled else fg.Status.SUCCEEDED)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@examples(60)
@given(story=stories(), breaths=orders(), at=st.integers(1, 60))
def test_drawn_graphs_leave_nothing_either(backend: Backend, story: Story, breaths: list[int], at: int) -> None:
    graph, reference = playable(story, breaths), Reference(*story)
    assume(not refused(graph))
    with nothing_left():
        run = cut(graph, backend, at, "cancel", {"inputs": {"topic": "tea"}, "max_concurrency": 2}).run
    rules = ends_of(reference)
    for name, outcome in run.outcomes.items():
        if outcome.status is not fg.Status.CANCELLED:
            assert ends_of(run)[name] == rules[name], "what was final before is what it would have been"
