"""Rate limits: how often, and with how many tokens, this process may call a model."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Final

import anyio
import anyio.lowlevel

from flowgraph.threads import waker
from flowgraph_nodes.errors import ModelConfigError
from flowgraph_nodes.models.base import ChatModel, OnDelta, Request, Response, is_priced
from flowgraph_nodes.wire import to_wire

MINUTE: Final = 60.0
_SOON: Final = 1e-6
"""Seconds that do not count: clocks are floating point numbers."""
_CHARACTERS: Final = 4
"""Of a request, roughly, in a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """What a process may ask of a model; None: no limit. All agents that use the model share it, nested ones too.

    requests_per_minute: calls begun within any 60 seconds. tokens_per_minute: tokens (input and output) of these.
    in_flight: calls at a time.

    A call that is over a limit waits, first come, first served; that is no part of the time that the model has
    (`ModelSettings.timeout`). Tokens are estimated when a call begins, from the length of the request and
    `max_tokens`, and counted when it has ended. A call that alone is estimated above the limit waits until no other
    counts.

    Raises ModelConfigError for what is no whole number of at least 1.
    """

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    in_flight: int | None = None

    def __post_init__(self) -> None:
        for name in ("requests_per_minute", "tokens_per_minute", "in_flight"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ModelConfigError(f"RateLimit: {name}={value!r} must be a whole number of at least 1")


@dataclass(slots=True, eq=False)
class Admission:
    """A call that was let in.

    at: when, by the clock of all loops. tokens: an estimate, until it is told. waited: seconds.
    """

    at: float
    tokens: int
    waited: float

    def told(self, response: Response) -> Response:
        """Count what it used; when the provider did not say, the estimate stands. The response, with the wait."""
        self.tokens = response.usage.tokens or self.tokens
        return replace(response, waited=response.waited + self.waited)


@dataclass(slots=True, eq=False)
class _Waiter:
    """A call that waits. since: when, by the clock. wake: runs something on its event loop, from any thread."""

    tokens: int
    since: float
    wake: Callable[[Callable[[], object]], object]
    turn: anyio.Event = field(default_factory=anyio.Event)

    def call_up(self) -> bool:
        """Let it look again; False when its event loop is gone."""
        try:
            self.wake(self.turn.set)
        except RuntimeError:
            return False
        return True


class Gate:
    """Lets calls in, one after the other, as a limit allows. It may be used from many event loops at once.

    Only the first that waits has a clock running; it is called up when a call ends, and the next one when it is in.
    """

    def __init__(self, limit: RateLimit) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._waiting: deque[_Waiter] = deque()
        self._begun: deque[Admission] = deque()  # within the last minute
        self._under_way = 0

    @asynccontextmanager
    async def admitted(self, tokens: int) -> AsyncIterator[Admission]:
        """Wait to be let in with so many tokens, by estimate; the block is the call. A cancelled wait takes nothing."""
        admission = await self._admit(tokens)
        try:
            yield admission
        finally:
            with self._lock:
                self._under_way -= 1
                self._call_up()

    async def _admit(self, tokens: int) -> Admission:
        waiter = _Waiter(tokens, clock(), waker())
        with self._lock:
            self._waiting.append(waiter)
        try:
            while True:
                with self._lock:
                    delay = self._delay(waiter, now := clock())
                    if delay <= 0:
                        return self._let_in(waiter, now)
                    waiter.turn = anyio.Event()
                with anyio.move_on_after(delay):
                    await waiter.turn.wait()
        except BaseException:
            with self._lock:
                if waiter in self._waiting:
                    self._waiting.remove(waiter)
                self._call_up()
            raise

    def _let_in(self, waiter: _Waiter, now: float) -> Admission:
        self._waiting.remove(waiter)
        admission = Admission(now, waiter.tokens, now - waiter.since)
        self._begun.append(admission)
        self._under_way += 1
        self._call_up()
        return admission

    def _call_up(self) -> None:
        """Let the first that waits look again."""
        while self._waiting and not self._waiting[0].call_up():
            self._waiting.popleft()

    def _delay(self, waiter: _Waiter, now: float) -> float:
        """Seconds until it may be let in; infinity when something else has to happen first."""
        while self._begun and self._begun[0].at + MINUTE <= now + _SOON:
            self._begun.popleft()
        limit = self._limit
        if self._waiting[0] is not waiter or (limit.in_flight is not None and self._under_way >= limit.in_flight):
            return math.inf
        due = now
        if limit.requests_per_minute is not None and len(self._begun) >= limit.requests_per_minute:
            due = self._begun[-limit.requests_per_minute].at + MINUTE
        if limit.tokens_per_minute is not None:
            due = max(due, self._due(waiter.tokens, limit.tokens_per_minute, now))
        return due - now

    def _due(self, tokens: int, limit: int, now: float) -> float:
        """When so many calls will lie a minute back that these tokens fit in."""
        used, due = sum(admission.tokens for admission in self._begun), now
        for admission in self._begun:
            if used + tokens <= limit:
                break
            used -= admission.tokens
            due = admission.at + MINUTE
        return due


_gates: Final[dict[Hashable, Gate]] = {}
_gates_lock: Final = threading.Lock()


def gate_of(key: Hashable, limit: RateLimit) -> Gate:
    """The gate of the process for a model and a limit."""
    with _gates_lock:
        return _gates.setdefault((key, limit), Gate(limit))


def estimate(request: Request) -> int:
    """The tokens that a request will take, roughly; without a tokenizer, which would have to be fetched."""
    written = sum(len(str(to_wire(message))) for message in request.messages)
    written += sum(len(str(spec.to_wire())) for spec in request.tools)
    return written // _CHARACTERS + (request.settings.max_tokens or 0)


class Limited:
    """A model of one's own under a limit, which all calls of this object share. (A `Model` takes `rate=`.)"""

    def __init__(self, model: ChatModel, rate: RateLimit) -> None:
        self.model = model
        self.rate = rate
        self._gate = Gate(rate)

    @property
    def name(self) -> str:
        """The inner model's."""
        return self.model.name

    def check(self) -> None:
        """See the inner model."""
        self.model.check()

    async def priced(self) -> bool:
        """See the inner model."""
        return await is_priced(self.model)

    async def complete(self, request: Request, on_delta: OnDelta | None = None) -> Response:
        """Wait for the turn, then call the inner model."""
        async with self._gate.admitted(estimate(request)) as admission:
            return admission.told(await self.model.complete(request, on_delta))


# -- one clock for all event loops

_offset: Final[anyio.lowlevel.RunVar[float]] = anyio.lowlevel.RunVar("flowgraph_rate_offset")
_latest = -math.inf


def clock() -> float:
    """Seconds that pass as on this event loop, whose clock may jump, and never lie before those of another loop."""
    global _latest  # noqa: PLW0603 - it is the process's
    own = anyio.current_time()
    try:
        offset = _offset.get()
    except LookupError:
        offset = max(time.monotonic(), _latest) - own
        _offset.set(offset)
    _latest = max(_latest, own + offset)
    return own + offset
