"""Worker threads for synchronous nodes and tools.

They are daemon threads of our own: a call that is abandoned (timed out, cancelled) goes on by itself, its late value
is thrown away, and it never keeps the process alive, as the event loop's own worker threads would.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeAlias, TypeVar

import anyio

from .slots import Slot, Slots

T = TypeVar("T")

IDLE_SECONDS: Final = 10.0
"""How long a thread without work stays."""


class Pool:
    """At most `size` calls at a time, each on a thread of its own; further ones wait, and can be cancelled."""

    def __init__(self, size: int = 64) -> None:
        self._slots = Slots(size, "threads")

    async def run(self, function: Callable[[], T], portal: Portal | None = None) -> T:
        """Call `function` on a thread, in a copy of the caller's contextvars, and give back what it returns.

        portal: what the function may ask of the caller's task meanwhile. Cancelling the caller abandons the thread
        at once. Raises what the function raises.
        """
        work = _Work(Slot((self._slots,), (0, 0)))
        await work.begin()
        try:
            call = _Call(functools.partial(_context_of_a_thread().run, function), portal)
            _assign(call)
            if portal is not None:
                await portal.serve(call.done, work)
            await call.done.wait()
        finally:
            work.pause()
        value: T = call.result()
        return value


async def to_its_end(function: Callable[[], T]) -> T:
    """Call `function` on a thread, and wait until it has returned whatever happens; then give back what it returned.

    A cancellation comes when it has ended, asyncio's own `task.cancel()` included, which goes through shields: so
    what the function did has to be noted by itself. Raises what the function raises.
    """
    call = _Call(functools.partial(_context_of_a_thread().run, function), None)
    cancelled: BaseException | None = None
    _Work.tell(+1)
    _assign(call)
    with anyio.CancelScope(shield=True):
        while not call.done.is_set():
            try:
                await call.done.wait()
            except GeneratorExit:
                raise
            except BaseException as error:
                cancelled = error
    _Work.tell(-1)
    if cancelled is not None:
        raise cancelled
    value: T = call.result()
    return value


Watcher: TypeAlias = Callable[[int], object]
watchers: Final[list[Watcher]] = []
"""Told on the event loop: a call that somebody waits for begins to keep a thread busy (+1), or no longer does (-1).
A clock that jumps over every wait has to stand still meanwhile. Empty but in tests."""


class _Work:
    """A thread at work: it holds a slot of its pool, and watchers know of it. It rests while it waits for a reply."""

    __slots__ = ("_busy", "_slot")

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self._busy = False

    async def begin(self) -> None:
        await self._slot.take()
        self._busy = True
        self.tell(+1)

    def pause(self) -> None:
        self._slot.give_back()
        if self._busy:
            self._busy = False
            self.tell(-1)

    @staticmethod
    def tell(change: int) -> None:
        for watcher in watchers.copy():
            watcher(change)


class Portal:
    """Lets a function on a worker thread have coroutines run, in the task that waits for the function.

    So they are cancelled, timed and recorded like anything else that the task awaits. Make it on the event loop.
    """

    __slots__ = ("_bell", "_closed", "_requests", "_wake")

    def __init__(self) -> None:
        self._requests: deque[tuple[Callable[[], Awaitable[Any]], SimpleQueue[_Reply]]] = deque()
        self._bell = anyio.Event()
        self._wake = waker()
        self._closed = False

    def ask(self, body: Callable[[], Awaitable[T]]) -> T:
        """Have `await body()` done, and wait for it; on the worker thread. RuntimeError when nobody serves any more."""
        reply: SimpleQueue[_Reply] = SimpleQueue()
        self._requests.append((body, reply))
        if self._closed:
            raise RuntimeError(_ABANDONED)
        self._wake(self.ring)
        value, error = reply.get()
        if error is not None:
            raise error
        result: T = value
        return result

    def ring(self) -> None:
        """Wake whoever serves; on the event loop."""
        self._bell.set()

    async def serve(self, done: anyio.Event, work: _Work) -> None:
        """Answer one request after the other until `done` is set; meanwhile others have its slot."""
        try:
            while not done.is_set():
                await self._bell.wait()
                self._bell = anyio.Event()
                while self._requests:
                    await self._answer(work, *self._requests.popleft())
        finally:
            self._closed = True
            for _, reply in self._requests:
                reply.put((None, RuntimeError(_ABANDONED)))

    @staticmethod
    async def _answer(work: _Work, body: Callable[[], Awaitable[Any]], reply: SimpleQueue[_Reply]) -> None:
        answer: _Reply = (None, RuntimeError(_ABANDONED))
        work.pause()  # the thread waits for us now
        try:
            try:
                answer = (await body(), None)
            except Exception as error:
                answer = (None, error)
            await work.begin()
        finally:
            reply.put(answer)


_Reply: TypeAlias = tuple[Any, BaseException | None]
_ABANDONED: Final = "the node run that this thread worked for has ended"


def _context_of_a_thread() -> Context:
    """A copy of our contextvars, but for the one that says which event loop runs here: none does on a thread."""
    context = copy_context()
    if (sniffio := sys.modules.get("sniffio")) is not None:
        context.run(sniffio.current_async_library_cvar.set, None)
    return context


class _Call:
    """One call on its way through a thread."""

    __slots__ = ("_body", "_error", "_portal", "_value", "_wake", "done")

    def __init__(self, body: Callable[[], Any], portal: Portal | None) -> None:
        self._body = body
        self._portal = portal
        self._value: Any = None
        self._error: BaseException | None = None
        self._wake = waker()
        self.done = anyio.Event()

    def perform(self) -> None:
        try:
            self._value = self._body()
        except BaseException as error:
            self._error = error

    def tell(self) -> None:
        """Let whoever waits for it go on."""
        try:
            self._wake(self._finish)
        except RuntimeError:
            return  # the loop has gone: nobody waits for this any more

    def _finish(self) -> None:
        self.done.set()
        if self._portal is not None:
            self._portal.ring()

    def result(self) -> Any:
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # or the traceback keeps this frame, and so itself, alive
        return self._value


def waker() -> Callable[[Callable[[], object]], object]:
    """How a thread gets a callable run on the event loop we are in."""
    if (trio := sys.modules.get("trio")) is not None:
        try:
            wake: Callable[[Callable[[], object]], object] = trio.lowlevel.current_trio_token().run_sync_soon
        except RuntimeError:
            pass
        else:
            return wake
    import asyncio  # loaded already, where a loop of it runs: importing flowgraph need not pay for it

    return asyncio.get_running_loop().call_soon_threadsafe


class _Worker:
    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: SimpleQueue[_Call] = SimpleQueue()
        threading.Thread(target=self._loop, name="flowgraph-worker", daemon=True).start()

    def take(self, call: _Call) -> None:
        self._calls.put(call)

    def _loop(self) -> None:
        while True:
            try:
                call = self._calls.get(timeout=IDLE_SECONDS)
            except Empty:
                try:
                    _idle.remove(self)
                except ValueError:
                    continue  # somebody has just taken us: the call is on its way
                return
            call.perform()
            _idle.append(self)  # before its caller goes on: it may have the next call at once
            call.tell()
            del call


_idle: deque[_Worker] = deque()


def _assign(call: _Call) -> None:
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    worker.take(call)
