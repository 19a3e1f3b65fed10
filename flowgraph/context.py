"""The context of a node run: what a node that asks for `ctx: fg.Context` can do while it runs."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, Protocol, overload

from .background import Background
from .call import Call, Place, unwrapped
from .missing import MISSING
from .outcome import Outcome, Usage
from .policy import Policy, Retry, Seconds
from .question import Question
from .threads import Portal

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    D = TypeVar("D", default=Any)
else:  # the default is for type checkers; importing typing_extensions would cost more than the rest of this module
    from typing import TypeVar

    D = TypeVar("D")
P = ParamSpec("P")
T = TypeVar("T")


class Host(Protocol):
    """What a context stands on: one node run of a running graph."""

    attempt: int
    blocks: int
    beside: int

    def ring(self) -> None: ...

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
    def outcomes(self) -> dict[str, Outcome[Any]]: ...
    def spawn(
        self,
        node: Any,
        inputs: Mapping[str, Any] | None,
        place: Place,
        policy: Policy,
    ) -> Call[Outcome[Any]]: ...
    async def gather(self, calls: tuple[Call[Any], ...], limit: int | None) -> list[Any]: ...
    def ask(self, question: Question, name: str) -> Call[Outcome[Any]]: ...
    def sleep(self, duration: Seconds) -> Call[Outcome[Any]]: ...
    async def run_graph(self, graph: Any, inputs: dict[str, Any]) -> Any: ...
    async def in_thread(self, function: Callable[[], Any], portal: Portal | None = None) -> Any: ...
    def emit(self, kind: str, data: Any) -> None: ...
    def log(self, message: str, fields: dict[str, Any]) -> None: ...
    def charge(self, usage: Usage) -> None: ...
    def keep(self, details: dict[str, Any]) -> None: ...


class BaseContext(Generic[D]):
    """What `Context` and `SyncContext` have in common: facts about the node run, and telling others about it."""

    __slots__ = ("_host",)

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def host(self) -> Host:
        """What stands behind the context; for wrappers of contexts."""
        return self._host

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
    def started_at(self) -> float:
        """When the run started, in seconds since the epoch."""
        return self._host.started_at

    @property
    def random(self) -> random.Random:
        """Random numbers from a seed of run start, run id and path: a replay sees the same."""
        return random.Random(f"{self._host.started_at}:{self.idempotency_key}")

    @property
    def listened(self) -> bool:
        """Whether anybody reads this run's events (worth streaming for)."""
        return self._host.listened()

    @property
    def outcomes(self) -> dict[str, Outcome[Any]]:
        """How each child of this node run has ended so far, by name, in order; open ones are pending or running.

        In a resumed run those that were not called again yet are there, too, with their outputs as plain JSON.
        """
        return self._host.outcomes()

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


class Context(BaseContext[D]):
    """What a running async node can reach. `Context[Deps]` types `ctx.deps`.

    Children: `await ctx.call(node, inputs)`, `await ctx.gather(...)`, `async with ctx.background()`. Waiting: `await
    ctx.ask(question)` for a person, `await ctx.sleep(seconds)` for a time; both survive the process. Blocking code:
    `await ctx.in_thread(...)`. Telling others: `emit`, `log`, `charge`, `keep`. Facts: `run_id`, `path`, `attempt`
    (1-based), `idempotency_key`, `deps`, `now`, `started_at`, `random`, `listened`.
    """

    __slots__ = ()

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
        policy: Policy | None = None,
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
        policy: Policy | None = None,
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
        policy: Policy | None = None,
        outcome: bool = False,
    ) -> Call[Any]:
        """Call a node as a child of this node run and await its output.

        node: anything that can be a node. inputs: its values by name. name: the child's name below this path
        (default: the node's; a repeated one becomes `name~2`; one that is no identifier is escaped). round, item: the
        child is the n-th round of a loop or item of a map; without `name`, of this node run itself. retry, timeout,
        policy: how this child is tried.

        The place is taken now, so that concurrent calls have stable numbers; the child starts when the result is
        awaited. Awaiting raises the child's error (NoOutput when it was skipped); with `outcome=True` it gives the
        outcome instead.
        """
        place, own = Place(name=name or "", round=round, item=item), Policy(retry=retry, timeout=timeout)
        call = self._host.spawn(node, inputs, place, own.over(policy or Policy()))
        return call if outcome else Call(call.path, lambda: unwrapped(call), call.announce)

    async def gather(self, *calls: Call[T], max_concurrency: int | None = None) -> list[T]:
        """Run calls as parallel branches and give their results in order.

        Waits for all of them; if any failed, the first error in order is raised then, with the others as its notes.
        """
        return await self._host.gather(calls, max_concurrency)

    def ask(
        self,
        question: str,
        schema: type[T] | Any = str,
        *,
        key: str | None = None,
        timeout: Seconds | None = None,
        default: Any = MISSING,
    ) -> Call[Any]:
        """Ask a person and await for the answer, as the child `<path>/<key>` of this node run ("ask" without a key).

        schema: the type of the answer (default: text). timeout: seconds (or timedelta) after which `default` is taken
        or, without one, NodeTimeout is raised. Meanwhile other branches go on, and no time limit counts.

        When nothing is left but to wait for people, the run is paused: this node sees a cancellation. After the
        resume its code runs again from the top, and here it gets the answer: an answered question is never asked again.
        """
        call = self._host.ask(Question(question, schema, timeout, default), key or "ask")
        return Call(call.path, lambda: unwrapped(call), call.announce)

    def sleep(self, duration: Seconds) -> Call[None]:
        """Await it to wait for so many seconds (or a timedelta), as the child `<path>/sleep`.

        No slot is held and no time limit counts. When the process ends meanwhile, a resume waits for what is left.
        """
        call = self._host.sleep(duration)
        return Call(call.path, lambda: unwrapped(call), call.announce)

    async def in_thread(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a blocking function on a worker thread of the run, where it holds up nobody.

        When this node run is cancelled or times out, the call is abandoned at once and its late value thrown away.
        """
        value: T = await self._host.in_thread(functools.partial(function, *args, **kwargs))
        return value

    def background(self) -> Background:
        """A scope for children that go on beside what follows: `async with ctx.background() as scope:`.

        `started = scope.start(ctx.call(...))` starts one at once; `await started` waits for it, `started.cancel()`
        ends it. Leaving the block waits for all, or, when it is left by an exception, cancels them.
        """
        return Background(self._host)

    async def run_graph(self, graph: Any, inputs: dict[str, Any]) -> Any:
        """Run a graph in place: its nodes become children of this node run. (Calling a graph does this for you.)"""
        return await self._host.run_graph(graph, inputs)
