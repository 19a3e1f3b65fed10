"""The stores that the contract is tested on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from flowgraph.stores import MemoryStore, SQLStore, Store
from tests.engine.stores import postgres

Again: TypeAlias = Callable[[], Store]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new SQL store can be made."""
    return postgres.postgres_url() if request.param == "postgres" else str(tmp_path / "runs.db")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A new store of each kind."""
    match request.param:
        case "memory":
            made: Store = MemoryStore()
        case "sqlite":
            made = SQLStore(tmp_path / "runs.db")
        case _:
            made = SQLStore(postgres.postgres_url())
    yield made
    made.close()
