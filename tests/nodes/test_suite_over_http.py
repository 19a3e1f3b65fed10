"""The tests of agents once more, their scripted replies sent by a real server, through litellm.

Streamed on asyncio, whole on trio. Left out is what breaks a run off after each of its events (it makes thousands of
calls), what counts the pieces of a stream, and what looks at unawaited coroutines (litellm has some when cancelled).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from . import test_agent_stream, test_cases_agents, test_handoffs, test_output_type, test_react
from .agents import test_cases_loops, test_loop_agent, test_plan_execute, test_team
from .agents.autonomous import test_autonomous, test_building, test_cases_autonomous, test_drawing, test_sub_agents
from .over_http import Wire, over_http

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.network_local,
    pytest.mark.filterwarnings("ignore:.*never awaited:RuntimeWarning"),  # litellm's, when it is cancelled
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"),
]

AGAIN = (
    *(test_agent_stream, test_cases_agents, test_handoffs, test_output_type, test_react),
    *(test_cases_loops, test_loop_agent, test_plan_execute, test_team),
    *(test_autonomous, test_building, test_cases_autonomous, test_drawing, test_sub_agents),
)
LEFT_OUT = {
    "test_killed_after_any_event_and_resumed_no_model_call_is_made_twice",
    "test_wherever_it_is_broken_off_it_goes_on_and_asks_no_model_twice",
    "test_the_events_of_an_agent_are_typed_and_come_with_their_paths",
    "test_c26_leaving_a_streamed_run_at_any_event_leaves_nothing_behind",
    "test_through_a_real_server",
}


def collected() -> Iterator[tuple[str, Any]]:
    """The tests, and what they are given, under names of their own."""
    for module in AGAIN:
        for name, value in vars(module).items():
            if name.startswith("test_") and name not in LEFT_OUT and callable(value):
                yield f"{name}__of_{module.__name__.rpartition('.test_')[2]}", value


globals().update(collected())
run = test_drawing.run


@pytest.fixture(scope="module", autouse=True)
def wire() -> Iterator[Wire]:
    with over_http() as opened:
        yield opened


@pytest.fixture(autouse=True)
def _streamed_or_whole(request: pytest.FixtureRequest, wire: Wire) -> None:
    wire.streamed = "trio" not in request.node.name
