"""Heads and batches for the tests of stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowgraph.stores import Batch, Claim, Head


def head(run_id: str = "r", **changes: Any) -> Head:
    return Head(**{"run_id": run_id, "graph": "g", "status": "running", "started": 1.0, "updated": 1.5, **changes})


def batch(claim: Claim, first: int, rows: Sequence[str], values: dict[str, str] | None = None, **changes: Any) -> Batch:
    return Batch(claim, head(claim.run_id, updated=2.0 + first, **changes), first, rows, values or {})
