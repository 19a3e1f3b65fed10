"""Slots: how many nodes may be at work at a time, in the whole run and in groups."""

from __future__ import annotations

import heapq
import math
from typing import TypeAlias

import anyio

Priority: TypeAlias = tuple[float, int]
"""What waits longest path first: the node's own priority, then how much of the graph still depends on it."""


class Slots:
    """At most `limit` holders at a time; of those who wait, the one of the highest priority is next, then the first."""

    def __init__(self, limit: int, what: str = "max_concurrency") -> None:
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise ValueError(f"{what} must be a whole number of at least 1, not {limit!r}")
        self._free = limit
        self._waiting: list[tuple[float, int, int, anyio.Event]] = []
        self._count = 0

    async def take(self, priority: Priority = (0, 0)) -> None:
        """Wait for a slot. A cancelled wait takes none."""
        if self._free and not self._waiting:
            self._free -= 1
            return
        self._count += 1
        turn = anyio.Event()
        waiter = (-priority[0], -priority[1], self._count, turn)
        heapq.heappush(self._waiting, waiter)
        self._next()
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():
                self.give_back()
            else:
                self._waiting.remove(waiter)
                heapq.heapify(self._waiting)
            raise

    def give_back(self) -> None:
        """Let the next one have it."""
        self._free += 1
        self._next()

    def _next(self) -> None:
        while self._free and self._waiting:
            self._free -= 1
            heapq.heappop(self._waiting)[-1].set()


class Slot:
    """What one attempt holds: a slot of its group and one of the run or, while they are lent, none.

    limit: the attempt's time limit, if any; it stands still while the slot is waited for. waited: how long, in all.
    """

    __slots__ = ("_held", "_pools", "_priority", "limit", "waited")

    def __init__(self, pools: tuple[Slots, ...], priority: Priority) -> None:
        self._pools = pools  # always taken in this order, so that two holders never wait for each other
        self._priority = priority
        self._held = 0
        self.limit: anyio.CancelScope | None = None
        self.waited = 0.0

    @property
    def held(self) -> bool:
        """Whether it is held, all of it."""
        return self._held == len(self._pools)

    async def take(self) -> None:
        """Wait for what is not held already. A cancelled wait leaves it with none."""
        if self.limit is None:
            await self._take()
            return
        deadline, begun = self.limit.deadline, anyio.current_time()
        self.limit.deadline = math.inf
        try:
            await self._take()
        finally:
            waited = anyio.current_time() - begun
            self.limit.deadline = deadline + waited
            self.waited += waited

    async def _take(self) -> None:
        try:
            while self._held < len(self._pools):
                await self._pools[self._held].take(self._priority)
                self._held += 1
        except BaseException:
            self.give_back()
            raise

    def give_back(self) -> None:
        """Let others have them."""
        while self._held:
            self._held -= 1
            self._pools[self._held].give_back()
