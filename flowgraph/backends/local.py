"""The default backend: tasks of an anyio task group, in this process, on asyncio or trio."""

from __future__ import annotations

import sys
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


class LocalBackend:
    """Runs work in tasks. The first thing that follows from a task's work goes on in that same task.

    So a chain needs one task, not one a node (docs/decisions/0005). A node that changed a contextvar ends the
    adoption: what follows starts in a fresh task with the caller's context, and changes never leak.
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
                hands = _Hands(group, perform, feed)
                for command in work:
                    group.start_soon(hands.do, command)
        except BaseExceptionGroup as errors:
            raise first_of(errors) from None
        if hands.interrupt is not None:
            raise hands.interrupt


class _Hands:
    """What the tasks of one scope share."""

    __slots__ = ("_context", "_feed", "_group", "_perform", "interrupt")

    def __init__(self, group: TaskGroup, perform: Perform, feed: Feed) -> None:
        self._group = group
        self._perform = perform
        self._feed = feed
        self._context: Context = copy_context()
        self.interrupt: BaseException | None = None

    async def do(self, command: Work) -> None:
        """Perform a command, then the first that follows from it, and so on; hand the others out."""
        turns = 0
        while True:
            try:
                event: Event = await self._perform(command)
            except (KeyboardInterrupt, SystemExit) as error:  # out of a task they would tear asyncio's loop down
                self.interrupt = self.interrupt or error
                self._group.cancel_scope.cancel()
                return
            follows = self._feed(event)
            if not follows:
                return
            fresh = copy_context() != self._context or (type(event) is Ended and event.status is Status.CANCELLED)
            for other in follows if fresh else follows[1:]:
                self._context.copy().run(self._group.start_soon, self.do, other)
            if fresh:
                return
            command = follows[0]
            turns += 1
            if turns % BREATH == 0:
                await anyio.lowlevel.checkpoint()


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
