"""Readers of a run's events: each gets them all, and none holds up the run."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

import anyio

from .events import Event, Gap, Lasting

ROOM: Final = 1000
"""How many passing events a reader may fall behind by before it loses the oldest."""


class Reader:
    """An async iterator over events: those kept so far, then the new ones as they come, until the run is over."""

    def __init__(self, history: Sequence[Lasting] = (), room: int = ROOM) -> None:
        self._lasting: deque[tuple[int, Event]] = deque(enumerate(history))
        self._passing: deque[tuple[int, Event]] = deque()  # kept apart, so that the oldest is found at once
        self._count = len(history)
        self._lost = 0
        self._room = room
        self._bell = anyio.Event()
        self._closed = False

    def put(self, event: Event) -> None:
        """Add an event; never waits. Of passing ones the oldest is dropped when the reader is too slow."""
        kept = self._lasting if isinstance(event, Lasting) else self._passing
        if kept is self._passing and len(kept) >= self._room:
            kept.popleft()
            self._lost += 1
        kept.append((self._count, event))
        self._count += 1
        self._bell.set()

    def close(self) -> None:
        """No more events will come."""
        self._closed = True
        self._bell.set()

    def __aiter__(self) -> Reader:
        return self

    async def __anext__(self) -> Event:
        lasting, passing = self._lasting, self._passing
        while not lasting and not passing:
            if self._closed:
                raise StopAsyncIteration
            if self._bell.is_set():  # several tasks may read from one reader: they wait for the same bell
                self._bell = anyio.Event()
            await self._bell.wait()
        if not passing or (lasting and lasting[0][0] < passing[0][0]):
            return lasting.popleft()[1]
        if self._lost:
            count, self._lost = self._lost, 0
            return Gap(passing[0][1].at, "", count)
        return passing.popleft()[1]
