"""Errors of the flows.

FlowgraphError
└── FlowError            every error that a flow raises on purpose
    └── LoopExhausted    a loop ended without what it was looking for
"""

from __future__ import annotations

from typing import Any

from flowgraph.errors import FlowgraphError


class FlowError(FlowgraphError):
    """The base of every error that a flow raises on purpose."""


class LoopExhausted(FlowError):
    """A loop ran out of rounds, or stalled, before its `until` held.

    last: the output of its last round. iterations: how many rounds ran. stalled: it stopped because the same output
    came again and again, not because `max_iterations` was reached.
    """

    def __init__(self, path: str, last: Any, iterations: int, *, stalled: bool = False) -> None:
        self.last = last
        self.iterations = iterations
        self.stalled = stalled
        rounds = f"{iterations} round{'s' if iterations != 1 else ''}"
        why = f"stalled: the same output came again, after {rounds}" if stalled else f"was not done after {rounds}"
        super().__init__(f"the loop '{path}' {why} (on_exhausted='last' would take the last output)")
