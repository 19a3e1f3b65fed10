"""Fixtures of the engine tests: everything async runs on asyncio and on trio; time tests on a clock that jumps."""

from __future__ import annotations

from typing import Any

import pytest

from flowgraph.testing import jumping_clock as clock_that_jumps


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def jumping_clock() -> tuple[str, dict[str, Any]]:
    """A backend on which no waiting takes time. A module uses it as its `anyio_backend`."""
    return clock_that_jumps()
