"""Grace: what was told to end and goes on is named after a while, for nothing can end it by force.

Why it is not abandoned, as a worker thread is: docs/decisions/0008-grace-period.md.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio


@dataclass(slots=True, order=True)
class Due:
    """Something that is to have ended `at` (seconds by the clock of the event loop); `over` once it has.

    limit: what will tell it to end, if that may happen later than was thought.
    """

    at: float
    path: str = field(compare=False)
    over: bool = field(default=False, compare=False)
    limit: anyio.CancelScope | None = field(default=None, compare=False)


class Grace:
    """Watches, in a task beside a run, what was told to end, and reports the path of what has not `seconds` later."""

    __slots__ = ("_bell", "_due", "_over", "_report", "seconds")

    def __init__(self, seconds: float, report: Callable[[str], object]) -> None:
        self.seconds = seconds
        self._report = report
        self._due: list[Due] = []
        self._bell: anyio.Event | None = None
        self._over = False

    def expect(self, path: str, within: float = 0.0) -> Due:
        """The node run `path` ("": the whole run) will be told to end in so many seconds. Set `over` when it has."""
        due = Due(anyio.current_time() + within + self.seconds, path)
        heapq.heappush(self._due, due)
        if self._due[0] is due:
            self._ring()
        return due

    def end(self) -> None:
        """The run is over."""
        self._over = True
        self._ring()

    async def watch(self) -> None:
        """Report what goes on too long, until the run is over. Being cancelled says that all of the run is to end."""
        try:
            await self._until_over()
        except anyio.get_cancelled_exc_class():
            self.expect("")
            with anyio.CancelScope(shield=True):
                await self._until_over()
            raise

    async def _until_over(self) -> None:
        while not self._over:
            self._bell = anyio.Event()
            left = self._due[0].at - anyio.current_time() if self._due else math.inf
            with anyio.move_on_after(left):
                await self._bell.wait()
            self._look()

    def _look(self) -> None:
        while self._due and (self._due[0].over or self._due[0].at <= anyio.current_time()):
            due = heapq.heappop(self._due)
            if due.over or self._over:
                continue
            if due.limit is not None:  # it stands still while a slot is waited for
                told, now = due.limit.deadline, anyio.current_time()
                due.at = self.seconds + (told if math.isfinite(told) else now)
                if due.at > now:
                    heapq.heappush(self._due, due)
                    continue
            self._report(due.path)

    def _ring(self) -> None:
        if self._bell is not None:
            self._bell.set()
