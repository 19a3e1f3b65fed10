"""Calls: a child of a node run that has its place, and starts when it is awaited."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Coroutine, Generator
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .errors import FlowgraphError
from .outcome import Outcome

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a child sits below its parent: `<parent>/<name>`, with `#round` or `[item]` behind it.

    Without a name the child is a round or an item of the parent itself: `polish#1`, `reviews[2]`.
    """

    name: str = ""
    round: int | None = None
    item: int | None = None

    @property
    def suffix(self) -> str:
        """The text behind the parent's path."""
        index = f"#{self.round}" if self.round is not None else f"[{self.item}]" if self.item is not None else ""
        return (f"/{self.name}" if self.name else "") + index


class Call(Generic[T]):
    """A call of a child node. It has its place in the run at once, and starts when it is awaited, once."""

    __slots__ = ("_announce", "_start", "path")

    def __init__(
        self, path: str, start: Callable[[], Coroutine[Any, Any, T]], announce: Callable[[], object] | None = None
    ) -> None:
        self.path = path
        self._start: Callable[[], Coroutine[Any, Any, T]] | None = start
        self._announce = announce

    def announce(self) -> None:
        """Say that it is about to be awaited: its record stands before those of calls that are announced later."""
        if self._announce is not None:
            self._announce()

    def __await__(self) -> Generator[Any, Any, T]:
        start, self._start = self._start, None
        if start is None:
            raise FlowgraphError(f"the call of '{self.path}' was awaited twice: keep what the first await gave")
        return start().__await__()


async def in_own_context(coroutine: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine in a copy of the contextvars of now: what it changes does not leak out."""
    return await _InContext(coroutine, copy_context())


class _InContext(Generic[T]):
    """Drives a coroutine through the loop that awaits it, each of its steps within one set of contextvars."""

    __slots__ = ("_context", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, T], context: contextvars.Context) -> None:
        self._coroutine = coroutine
        self._context = context

    def __await__(self) -> Generator[Any, Any, T]:
        run, coroutine = self._context.run, self._coroutine
        try:
            wanted = run(coroutine.send, None)
            while True:
                try:
                    given = yield wanted
                except BaseException as error:
                    wanted = run(coroutine.throw, error)
                else:
                    wanted = run(coroutine.send, given)
        except StopIteration as end:
            value: T = end.value
            return value


async def unwrapped(call: Call[Outcome[T]]) -> T:
    """The output of a call that gives an outcome. Raises the error that it ended with."""
    return (await call).unwrap()
