"""The context of a node run: what a node that asks for `ctx: fg.Context` can do while it runs."""

from __future__ import annotations

import contextvars
import functools
import random
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, overload

from typing_extensions import TypeVar

from .errors import FlowgraphError
from .outcome import Outcome, Usage

if TYPE_CHECKING:
    from .policy import Retry, Seconds

D = TypeVar("D", default=Any)
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


class Host(Protocol):
    """What a context stands on: one node run of a running graph."""

    attempt: int

    @property
    def path(self) -> str: ...
    @property
    def run_id(self) -> str: ...
    @property
    def deps(self) -> Any: ...
    @property
    def started_at(self) -> float: ...
    def now(self) -> float: ...
    def listened(self) -> bool: ...
    def spawn(
        self,
        node: Any,
        inputs: Mapping[str, Any] | None,
        place: Place,
        retry: Retry | None,
        timeout: Seconds | None,
    ) -> Call[Outcome[Any]]: ...
    async def gather(self, calls: tuple[Call[Any], ...], limit: int | None) -> list[Any]: ...
    async def run_graph(self, graph: Any, inputs: dict[str, Any]) -> Any: ...
    async def in_thread(self, function: Callable[[], Any]) -> Any: ...
    def emit(self, kind: str, data: Any) -> None: ...
    def log(self, message: str, fields: dict[str, Any]) -> None: ...
    def charge(self, usage: Usage) -> None: ...
    def keep(self, details: dict[str, Any]) -> None: ...


class Context(Generic[D]):
    """What a running node can reach. `Context[Deps]` types `ctx.deps`.

    Children: `await ctx.call(node, inputs)`, `await ctx.gather(...)`. Telling others: `emit`, `log`, `charge`,
    `keep`. Facts: `run_id`, `path`, `attempt` (1-based), `idempotency_key`, `deps`, `now`, `random`.
    """

    __slots__ = ("_host",)

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self._host.run_id

    @property
    def path(self) -> str:
        """The path of this node run, such as `team/reviews[2]`."""
        return self._host.path

    @property
    def attempt(self) -> int:
        """Which try of this node this is; the first is 1."""
        return self._host.attempt

    @property
    def idempotency_key(self) -> str:
        """Run id and path: the same over retries and resumes, for services that drop repeated requests."""
        return f"{self._host.run_id}:{self._host.path}"

    @property
    def deps(self) -> D:
        """What `fg.run(deps=…)` was given: clients, settings, anything that must not be an input."""
        deps: D = self._host.deps
        return deps

    @property
    def now(self) -> float:
        """The time, in seconds since the epoch, by the run's clock."""
        return self._host.now()

    @property
    def random(self) -> random.Random:
        """Random numbers from a seed of run start, run id and path: a replay sees the same."""
        return random.Random(f"{self._host.started_at}:{self.idempotency_key}")

    @property
    def listened(self) -> bool:
        """Whether anybody reads this run's events (worth streaming for)."""
        return self._host.listened()

    @overload
    def call(
        self,
        node: Any,
        inputs: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        round: int | None = None,
        item: int | None = None,
        retry: Retry | None = None,
        timeout: Seconds | None = None,
        outcome: Literal[True],
    ) -> Call[Outcome[Any]]: ...
    @overload
    def call(
        self,
        node: Any,
        inputs: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        round: int | None = None,
        item: int | None = None,
        retry: Retry | None = None,
        timeout: Seconds | None = None,
        outcome: Literal[False] = False,
    ) -> Call[Any]: ...
    def call(
        self,
        node: Any,
        inputs: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        round: int | None = None,
        item: int | None = None,
        retry: Retry | None = None,
        timeout: Seconds | None = None,
        outcome: bool = False,
    ) -> Call[Any]:
        """Call a node as a child of this node run and await its output.

        node: anything that can be a node. inputs: its values by name. name: the child's name below this path
        (default: the node's; a repeated one becomes `name~2`; one that is no identifier is escaped). round, item: the
        child is the n-th round of a loop or item of a map; without `name`, of this node run itself. retry, timeout:
        for this child.

        The place is taken now, so that concurrent calls have stable numbers; the child starts when the result is
        awaited. Awaiting raises the child's error (NoOutput when it was skipped); with `outcome=True` it gives the
        outcome instead.
        """
        call = self._host.spawn(node, inputs, Place(name=name or "", round=round, item=item), retry, timeout)
        return call if outcome else Call(call.path, lambda: _unwrapped(call), call.announce)

    async def gather(self, *calls: Call[T], max_concurrency: int | None = None) -> list[T]:
        """Run calls as parallel branches and give their results in order.

        Waits for all of them; if any failed, the first error in order is raised then, with the others as its notes.
        """
        return await self._host.gather(calls, max_concurrency)

    async def in_thread(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """Call a blocking function on a worker thread of the run, where it holds up nobody.

        When this node run is cancelled or times out, the call is abandoned at once and its late value thrown away.
        """
        value: T = await self._host.in_thread(functools.partial(function, *args, **kwargs))
        return value

    def emit(self, kind: str, data: Any = None) -> None:
        """Tell whoever listens to the run. Not kept: see `flowgraph.events`."""
        self._host.emit(kind, data)

    def log(self, message: str, **fields: Any) -> None:
        """A log line of this node run, for whoever listens."""
        self._host.log(message, fields)

    def charge(self, usage: Usage | None = None, *, tokens: int = 0, cost: float | None = None) -> None:
        """Count what was used: a `Usage`, or plain tokens and a cost in USD. Seen by every level above, once."""
        self._host.charge((usage or Usage()) + Usage(input_tokens=tokens, cost=cost))

    def keep(self, **details: Any) -> None:
        """Keep details of this node run (an agent's messages, its stop reason …): `run.nodes[path].detail`."""
        self._host.keep(details)

    async def run_graph(self, graph: Any, inputs: dict[str, Any]) -> Any:
        """Run a graph in place: its nodes become children of this node run. (Calling a graph does this for you.)"""
        return await self._host.run_graph(graph, inputs)


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


async def _unwrapped(call: Call[Outcome[T]]) -> T:
    return (await call).unwrap()
