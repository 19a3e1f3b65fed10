"""Measuring: the fastest of several repetitions, and the lines of the table."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import NamedTuple


class Row(NamedTuple):
    """One line of the table. limit: None where the figure is only told."""

    what: str
    figure: float
    unit: str
    limit: float | None
    remark: str

    @property
    def missed(self) -> bool:
        """Whether it is over its limit."""
        return self.limit is not None and self.figure > self.limit


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def fastest(calls: list[Callable[[], object]], repeat: int) -> list[float]:
    """The shortest time of each call, the calls taking turns.

    The garbage collector works as ever, but what was there before (the graphs of all workloads) is not its to look at:
    in a process that holds one graph it would not be there.
    """
    gc.collect()
    gc.freeze()
    rounds = [[seconds(call) for call in calls] for _ in range(repeat)]
    gc.unfreeze()
    return [min(times) for times in zip(*rounds, strict=True)]
