"""Runs that were broken off: a journal cut after some event, and taken up again as another process would."""

from __future__ import annotations

from typing import Any

import flowgraph as fg
from flowgraph.stores import Batch, MemoryStore


def kept(graph: fg.Graph, inputs: dict[str, Any] | None = None, **options: Any) -> tuple[fg.Run, MemoryStore]:
    """A run, and the store that holds it."""
    store = MemoryStore()
    return fg.run(graph, inputs, store=store, raise_on_failure=False, **options), store


def cut(store: MemoryStore, run_id: str, length: int) -> MemoryStore:
    """A store as it would be, had the process been killed when so many events of the run were stored."""
    journal, copy = store.read(run_id), MemoryStore()
    claim = copy.claim(run_id, journal.head)
    copy.write([Batch(claim, journal.head, 0, journal.rows[:length], journal.values)])
    copy.release(claim)
    return copy


def ends(run: fg.Run) -> dict[str, tuple[Any, ...]]:
    """How every node run of the graph itself ended, and what with."""
    found = {}
    for name, outcome in run.outcomes.items():
        kind = type(outcome.error).__name__ if outcome.error else ""
        found[name] = (str(outcome.status), outcome.value, outcome.reason, kind)
    return found
