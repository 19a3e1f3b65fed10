"""Children that go on in the background of a node, within a block of it."""

from __future__ import annotations

from collections.abc import Generator
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

import anyio

from .call import Call
from .errors import NodeCancelled

T = TypeVar("T")


class Body(Protocol):
    """The node run whose code is in the block.

    blocks: how many it is in. beside: how many children go on beside it, without those that it waits for.
    """

    blocks: int
    beside: int

    def ring(self) -> None:
        """Its code waits now: perhaps nothing is left but to wait for people."""


class Started(Generic[T]):
    """A child at work. `await started` gives its output, or raises what it raised."""

    def __init__(self, call: Call[T], body: Body) -> None:
        self.path = call.path
        self._body = body
        self._call = call
        self._over = anyio.Event()
        self._scope = anyio.CancelScope()
        self._value: T | None = None
        self._error: Exception | None = None
        self._heard = False

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._over.is_set()

    def cancel(self) -> None:
        """End it. Awaiting it then raises NodeCancelled."""
        self._heard = True
        self._scope.cancel()

    def __await__(self) -> Generator[Any, Any, T]:
        return self._result().__await__()

    async def _result(self) -> T:
        self._heard = True
        self._body.beside -= 1
        self._body.ring()
        try:
            await self._over.wait()
        finally:
            self._body.beside += 1
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # T may include None

    async def run(self) -> None:
        """Run the child to its end, and keep what came of it."""
        self._body.beside += 1
        try:
            with self._scope:
                self._value = await self._call
            if self._scope.cancelled_caught:
                self._error = NodeCancelled(f"'{self.path}' was cancelled by its parent")
        except Exception as error:
            self._error = error
        finally:
            self._body.beside -= 1
            self._over.set()

    @property
    def unheard(self) -> Exception | None:
        """The error that nobody asked for."""
        return None if self._heard else self._error


class Background:
    """The scope that `ctx.background()` gives. Raises, on leaving, the first error that nobody awaited."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._group = anyio.create_task_group()
        self._started: list[Started[Any]] = []

    def start(self, call: Call[T]) -> Started[T]:
        """Start a child at once."""
        call.announce()
        started = Started(call, self._body)
        self._started.append(started)
        self._group.start_soon(started.run)
        return started

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._body.blocks += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._body.blocks -= 1
        self._body.ring()
        if error is not None:
            self._group.cancel_scope.cancel()
            error = None if isinstance(error, Exception) else error  # a cancellation has to reach the group
        await self._group.__aexit__(type(error) if error else None, error, traceback if error else None)
        if error is None:
            for started in self._started:
                if started.unheard is not None:
                    raise started.unheard
