"""The protocol of a backend: it performs commands and feeds what comes of them back, until nothing is left."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from ..commands import Event, Work

Perform: TypeAlias = Callable[[Work], Awaitable[Event]]
"""Does what a command asks for and says how it went. Raises only what must end the whole scope."""

Feed: TypeAlias = Callable[[Event], Sequence[Work]]
"""Takes an event into the schedule and gives the work that follows from it. Never waits."""


class Backend(Protocol):
    """An engine that the driver runs on."""

    def now(self) -> float:
        """Seconds by a clock that never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    async def drain(self, work: Sequence[Work], perform: Perform, feed: Feed) -> None:
        """Perform all of `work` at once, and all that follows from it as soon as it follows, until nothing is left.

        Every event is fed at once, never in rounds. Cancelling the call ends everything it started before it returns.
        Raises what `perform` raised, after the rest is cancelled.
        """
        ...
