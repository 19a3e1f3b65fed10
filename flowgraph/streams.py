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
        self._events: deque[Event] = deque(history)
        self._passing = 0
        self._lost = 0
        self._room = room
        self._bell = anyio.Event()
        self._closed = False

    def put(self, event: Event) -> None:
        """Add an event; never waits. Of passing ones the oldest is dropped when the reader is too slow."""
        if not isinstance(event, Lasting):
            if self._passing >= self._room:
                self._drop()
            self._passing += 1
        self._events.append(event)
        self._bell.set()

    def close(self) -> None:
        """No more events will come."""
        self._closed = True
        self._bell.set()

    def __aiter__(self) -> Reader:
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            self._bell = anyio.Event()
            await self._bell.wait()
        if self._lost and not isinstance(self._events[0], Lasting):
            count, self._lost = self._lost, 0
            return Gap(self._events[0].at, "", count)
        event = self._events.popleft()
        if not isinstance(event, Lasting):
            self._passing -= 1
        return event

    def _drop(self) -> None:
        for position, event in enumerate(self._events):
            if not isinstance(event, Lasting):
                del self._events[position]
                self._passing -= 1
                self._lost += 1
                return
