"""Processes killed with `kill -9` at drawn moments lose nothing that is recorded, and do none of it again.

FLOWGRAPH_SOAK=1 kills 200 times, else a dozen. A failure names its seed: FLOWGRAPH_SEED=… runs it alone.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.fuzz import killed
from tests.crash.models import Asked
from tests.crash.processes import Nursery, nursery
from tests.engine.stores import postgres

SOAK = os.environ.get("FLOWGRAPH_SOAK") == "1"
SEED = os.environ.get("FLOWGRAPH_SEED", "")

pytestmark = pytest.mark.network_local


@pytest.fixture(scope="module")
def plain_nursery() -> Iterator[Nursery]:
    with nursery() as started:
        yield started


@pytest.fixture(scope="module")
def nursery_with_models() -> Iterator[Nursery]:
    with nursery(models=True) as started:
        yield started


def seeds() -> Iterator[str]:
    """Drawn anew each time."""
    draw = random.SystemRandom()
    while True:
        yield SEED or f"{draw.randrange(10**9)}"


def fuzz(kills: int, folder: Path, job: Callable[[str, Path], int]) -> None:
    """Jobs until so many processes were killed at work."""
    count = 0
    for number, seed in zip(range(10 * kills), seeds(), strict=False):
        place = folder / str(number)
        place.mkdir()
        count += job(seed, place)
        if count >= kills or SEED:
            return
    raise AssertionError(f"only {count} of {kills} kills hit a process at work")


def test_a_process_is_killed_again_and_again(plain_nursery: Nursery, tmp_path: Path) -> None:
    fuzz(100 if SOAK else 6, tmp_path, lambda seed, folder: killed(plain_nursery, folder, seed))


def test_a_process_with_two_runs_is_killed(plain_nursery: Nursery, tmp_path: Path) -> None:
    fuzz(50 if SOAK else 3, tmp_path, lambda seed, folder: killed(plain_nursery, folder, seed, runs=2))


def test_a_process_with_agents_is_killed(nursery_with_models: Nursery, tmp_path: Path) -> None:
    asked = Asked()
    with asked.server:
        fuzz(50 if SOAK else 3, tmp_path, lambda seed, at: killed(nursery_with_models, at, seed, server=asked))


def test_a_process_on_postgresql_is_killed(plain_nursery: Nursery, tmp_path: Path) -> None:
    server = postgres.server()

    def job(seed: str, folder: Path) -> int:
        store, calm = server.new_database(), server.new_database()
        return killed(plain_nursery, folder, seed, runs=2, store=store, calm=calm)

    fuzz(40 if SOAK else 3, tmp_path, job)
