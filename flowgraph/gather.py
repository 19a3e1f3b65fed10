"""Gathering: calls of children as parallel branches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import anyio

from .call import Call
from .errors import brief


async def gather(calls: Sequence[Call[Any]], limit: int | None) -> list[Any]:
    """Run calls as branches, `limit` at a time, and give their results in order.

    All of them take their place in the run first, so that a record lists them in order whichever starts first. Waits
    for all; then the first error in order is raised, with the others as its notes.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"max_concurrency must be at least 1, not {limit!r}")
    for call in calls:
        call.announce()
    branches = _Branches(len(calls))
    async with anyio.create_task_group() as branches.group:
        if limit is None:
            for row in enumerate(calls):
                branches.group.start_soon(branches.work, iter((row,)))
        else:
            queue = iter(enumerate(calls))
            for _ in range(min(limit, len(calls))):
                branches.group.start_soon(branches.work, queue)
    branches.raise_first(calls)
    return branches.results


class _Branches:
    """What the tasks of one gathering share."""

    group: anyio.abc.TaskGroup

    def __init__(self, count: int) -> None:
        self.results: list[Any] = [None] * count
        self._errors: dict[int, Exception] = {}
        self._interrupt: BaseException | None = None

    async def work(self, queue: Iterator[tuple[int, Call[Any]]]) -> None:
        """Await one call of the queue after the other."""
        for index, call in queue:
            try:
                self.results[index] = await call
            except Exception as error:
                self._errors[index] = error
            except (KeyboardInterrupt, SystemExit) as error:  # out of a task they would tear asyncio's loop down
                self._interrupt = error
                self.group.cancel_scope.cancel()
                return

    def raise_first(self, calls: Sequence[Call[Any]]) -> None:
        """Raise an interrupt, or the first error in order."""
        if self._interrupt is not None:
            raise self._interrupt
        if not self._errors:
            return
        first, *others = sorted(self._errors)
        for index in others:
            self._errors[first].add_note(f"{calls[index].path} failed, too: {brief(self._errors[index])}")
        raise along_with(self._errors[first], [self._errors[index] for index in others])


ALSO: Final = "_flowgraph_also"


def along_with(error: BaseException, others: Sequence[BaseException]) -> BaseException:
    """An error that is raised for several: a resume calls again what raised any of them."""
    if others:
        with suppress(AttributeError, TypeError):  # an error may have slots
            setattr(error, ALSO, tuple(others))
    return error
