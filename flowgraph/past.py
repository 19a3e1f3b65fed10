"""The past of a resumed run: what its journal says of each node run, and what of that can be given back.

A recorded node run is *given back* (its outcome is taken from the journal, nothing runs), *continued* (its last attempt
goes on: its code runs again from the top, its recorded children are given back), or run afresh.
See docs/how-to/keep-and-resume-runs.md.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from . import events as ev
from .changes import place_of
from .errors import brief
from .node_run import NodeRun
from .outcome import Reason, Status
from .record import Run


@dataclass(frozen=True, slots=True)
class Recorded:
    """A node run as it was when the run was taken up again. value: plain JSON.

    falling: its fallback was at work. between: an attempt had failed, and the next one had not begun.
    """

    status: Status
    attempt: int
    value: Any
    reason: Reason | None
    error: BaseException | None
    withheld: bool
    falling: bool
    between: bool
    spent: float

    def begun(self, attempts: int) -> int:
        """How many attempts lie behind it; the next one is the one that goes on. attempts: how many there may be."""
        if self.falling:
            return attempts - 1  # the attempt is over, and has failed
        return self.attempt if self.between else max(self.attempt - 1, 0)

    @property
    def succeeded(self) -> bool:
        """Whether there is an output to give back."""
        return self.status is Status.SUCCEEDED and not self.withheld

    @property
    def skipped_itself(self) -> bool:
        """Whether it ran and raised Skip."""
        return self.status is Status.SKIPPED and self.reason is not None and self.reason.kind == "skip"

    @property
    def failed(self) -> bool:
        """Whether it failed by itself."""
        return self.status in (Status.FAILED, Status.TIMED_OUT)

    @property
    def continues(self) -> bool:
        """Whether its last attempt can go on."""
        return self.attempt > 0 and not self.between


class Past:
    """The node runs of a journal, each to be taken once.

    altered: places in the graph that are not what they were (under force). strict: a call that is another than the
    recorded one is an error. called: how many node runs were called anew since. failures: path → what failed before.
    """

    def __init__(self, record: Run, altered: Collection[str] = (), strict: bool = False) -> None:
        self._runs = {node.path: node for node in record.root.walk() if node.path}
        self.altered = frozenset(altered)
        self.strict = strict
        self.called = 0
        self.failures = {path: brief(error) for path, error in record.errors.items()}
        self.conditions = {e.path: e.detail for e in record.events if isinstance(e, ev.Decided) and e.what == "when"}

    def take(self, path: str) -> Recorded | None:
        """What is recorded of a node run, unless it was taken before."""
        run = self._runs.pop(path, None)
        return None if run is None else _recorded(run)

    def changed(self, path: str) -> bool:
        """Whether the node that a path stands for is not what it was."""
        return bool(self.altered) and place_of(path) in self.altered

    def changed_within(self, path: str) -> bool:
        """Whether something of the graph that a path stands for is not what it was."""
        return bool(self.altered) and any(place.startswith(f"{place_of(path)}/") for place in self.altered)


def _recorded(run: NodeRun) -> Recorded:
    falling = run.status is Status.RUNNING and run.error is not None
    cancelled = run.status is Status.CANCELLED and run.due is not None and run.kind != "sleep"
    between = run.status is Status.RETRYING or cancelled  # while it waited for the next attempt
    return Recorded(
        run.status, run.attempt, run.value, run.reason, run.error, run.withheld, falling, between, run.spent
    )
