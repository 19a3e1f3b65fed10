"""The default backend: tasks of an anyio task group, in this process, on asyncio or trio."""

from __future__ import annotations

import contextlib
import math
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from typing import Final

import anyio
from anyio.abc import TaskGroup

from ..commands import Ended, Event, Work
from ..outcome import Status
from .base import Feed, Perform

BREATH: Final = 16
"""After so many commands in a row a task lets others run, for nodes that never wait would starve them."""

HANDS: Final = 16
"""So many tasks at most are on their way to what is ready: nodes that never wait then share a few of them."""


class LocalBackend:
    """Runs work in tasks. A task that is done with a command goes on with what follows from it, or else is ready.

    So only nodes that wait at the same time need tasks of their own (docs/decisions/0005 and 0007). A node that changed
    a contextvar ends its task: what follows starts in a fresh one with the caller's context, and changes never leak.
    """

    def __init__(self) -> None:
        self.now = _clock()

    async def sleep(self, seconds: float) -> None:
        """Wait so many seconds."""
        await anyio.sleep(seconds)

    async def drain(self, work: Sequence[Work], perform: Perform, feed: Feed) -> None:
        """See `Backend.drain`."""
        if not work:
            return
        try:
            async with anyio.create_task_group() as group:
                hands = _Hands(group, work, perform, feed)
                hands.call()
        except BaseExceptionGroup as errors:
            raise first_of(errors) from None
        if hands.interrupt is not None:
            raise hands.interrupt


class _Hands:
    """What the tasks of one scope share: what is ready and nobody does yet, and how many of them are coming for it."""

    __slots__ = ("_coming", "_context", "_feed", "_group", "_perform", "_ready", "interrupt")

    def __init__(self, group: TaskGroup, work: Sequence[Work], perform: Perform, feed: Feed) -> None:
        self._group = group
        self._ready = deque(work)
        self._coming = 0
        self._perform = perform
        self._feed = feed
        self._context: Context = copy_context()
        self.interrupt: BaseException | None = None

    def call(self) -> None:
        """See to it that tasks are coming for what is ready."""
        while self._coming < min(len(self._ready), HANDS):
            self._coming += 1
            self._context.copy().run(self._group.start_soon, self._work)

    async def _work(self) -> None:
        """Perform a command, then the first that follows from it, and so on; then what else is ready."""
        self._coming -= 1
        turns, following = 0, _NOTHING
        while following or self._ready:
            command = following[0] if following else self._ready.popleft()
            self.call()
            try:
                event: Event = await self._perform(command)
            except (KeyboardInterrupt, SystemExit) as error:  # out of a task they would tear asyncio's loop down
                self.interrupt = self.interrupt or error
                self._group.cancel_scope.cancel()
                return
            if _cancelled_itself():
                await _absorb_cancel()
            following = self._feed(event)
            self._ready.extend(following[1:])
            if copy_context() != self._context or (type(event) is Ended and event.status is Status.CANCELLED):
                self._ready.extendleft(following[:1])
                self.call()
                return
            turns += 1
            if turns % BREATH == 0:
                self.call()
                await anyio.lowlevel.checkpoint()


def _cancelled_itself() -> bool:
    """Whether the node that just ended has asked asyncio to cancel its own task, which would hit the next node."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or (loop := asyncio._get_running_loop()) is None:
        return False
    task = asyncio.current_task(loop)
    return task is not None and task.cancelling() > 0 and anyio.current_effective_deadline() != -math.inf


async def _absorb_cancel() -> None:
    """Let a cancellation that nobody outside asked for come, and forget it."""
    import asyncio

    task = asyncio.current_task()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(0)
    while task is not None and task.cancelling():
        task.uncancel()


_NOTHING: Final[Sequence[Work]] = ()


def _clock() -> Callable[[], float]:
    """The clock of the event loop we are in. It can be read from worker threads, and asks no more which loop it is."""
    if (trio := sys.modules.get("trio")) is not None:
        try:
            clock: Callable[[], float] = trio.lowlevel.current_clock().current_time
        except RuntimeError:
            pass
        else:
            return clock
    import asyncio  # loaded already, where a loop of it runs: importing flowgraph need not pay for it

    return asyncio.get_running_loop().time


def first_of(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one exception that stands for a group: an interrupt before anything else, else the first."""
    flat: list[BaseException] = []
    stack: list[BaseException] = [errors]
    while stack:
        error = stack.pop()
        if isinstance(error, BaseExceptionGroup):
            stack.extend(reversed(error.exceptions))
        else:
            flat.append(error)
    return next((error for error in flat if not isinstance(error, Exception)), flat[0])
