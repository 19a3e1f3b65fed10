"""Wherever a run is broken off, going on gives what the uninterrupted run gave, and calls nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import flowgraph as fg
from tests.engine.kept_graphs import BUILDS
from tests.engine.playing import ends_of, playable
from tests.engine.reference import Reference
from tests.engine.small_graphs import CASES
from tests.engine.stopping import Kept, on_a_jumping_clock, stop_everywhere, stop_twice
from tests.engine.strategies import SOAK, Story, examples, stories

BACKENDS = ("asyncio", "trio")


def case_of(name: str) -> Kept:
    if name in CASES:
        return Kept(lambda: CASES[name]().graph, **CASES[name]().options)
    build, inputs, answers, options = BUILDS[name]
    return Kept(build, inputs, answers, **options)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", [*CASES, *BUILDS])
def test_a_run_can_be_broken_off_after_every_event(name: str, backend: str) -> None:
    async def main() -> None:
        await stop_everywhere(case_of(name))

    on_a_jumping_clock(backend, main)


@pytest.mark.parametrize("name", BUILDS)
def test_a_run_can_be_broken_off_twice(name: str) -> None:
    async def main() -> None:
        for step in range(7 * SOAK):
            await stop_twice(case_of(name), 1 + 11 * step, 1 + 5 * step)

    on_a_jumping_clock("trio", main)


@examples(150)
@given(stories(), st.lists(st.integers(-1, 3), max_size=6), st.sampled_from(BACKENDS))
def test_a_drawn_story_ends_alike_wherever_it_is_broken_off(story: Story, breaths: list[int], backend: str) -> None:
    assume(not any(problem.severity == "error" for problem in fg.check(story.graph)))

    async def main() -> None:
        whole = await stop_everywhere(Kept(lambda: playable(story, breaths), {"topic": "tea"}), some(story))
        assert ends_of(whole) == ends_of(Reference(story.graph, story.script))

    on_a_jumping_clock(backend, main)


def some(story: Story) -> Callable[[int], Iterable[int]]:
    """All places in the long form; in the short one, every third, another each time."""

    def places(length: int) -> Iterable[int]:
        return range(1 + (len(story.graph.entries) % 3 if SOAK == 1 else 0), length + 1, 3 if SOAK == 1 else 1)

    return places
