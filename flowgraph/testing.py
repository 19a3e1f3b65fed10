"""For tests of your own graphs: a clock that jumps over every wait, and orders of finishing that are drawn.

    from flowgraph.testing import orders, run_jumping

    run = run_jumping(graph, {"topic": "tea"})           # an hour between two attempts takes no time
    for run in orders(graph, {"topic": "tea"}):          # twenty runs, the nodes finish in another order in each
        assert run.output == expected

As a backend for pytest with anyio's plugin:

    @pytest.fixture
    def anyio_backend():
        return jumping_clock()

Needs trio (`pip install trio`). `import flowgraph` does not load this module.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace as changed
from typing import Any, Final, TypeAlias, TypeVar, Unpack
from weakref import ref

import anyio

from . import threads
from .context import Context
from .errors import FlowgraphError
from .graph import Graph
from .node import Node
from .record import Run
from .running import arun
from .runtime import RunOptions
from .stand_in import replace

try:
    import trio
    from trio.testing import MockClock
except ImportError as error:
    raise ImportError("flowgraph.testing needs trio, whose clock can jump: pip install trio") from error

T = TypeVar("T")

Order: TypeAlias = int | Sequence[str]
"""A seed from which the order is drawn, or the paths of nodes: who stands first goes first, the others after them."""

MOST: Final = 10_000
"""How many seeds lie between the runs of one `orders` and those of the next."""


def jumping_clock() -> tuple[str, dict[str, Any]]:
    """A backend on which no waiting takes time: what an `anyio_backend` fixture of pytest returns.

    Whenever everything waits, the clock jumps to the next moment at which something is due. While a worker thread of
    ours is busy with a call that somebody waits for (a sync node, a tool), it stands still, so that real work never
    runs out of time. It knows nothing of other work outside of the event loop: not of sockets, nor of other threads.

    Each value is for one test: the time of a clock goes on where it was.
    """
    clock = MockClock(autojump_threshold=0)
    _Busy(clock, _hold)
    return "trio", {"clock": clock}


class _Busy:
    """Counts the busy threads of one event loop, which is known by its clock, and forgets itself with the clock."""

    def __init__(self, clock: MockClock, changed: Callable[[MockClock, int], object]) -> None:
        self.count = 0
        self._clock = ref(clock, self._forget)
        self._changed = changed
        threads.watchers.append(self)

    def __call__(self, change: int) -> None:
        clock = self._clock()
        if clock is None or not trio.lowlevel.in_trio_run() or trio.lowlevel.current_clock() is not clock:
            return
        self.count += change
        self._changed(clock, self.count)

    def _forget(self, _: object) -> None:
        threads.watchers.remove(self)


def _hold(clock: MockClock, busy: int) -> None:
    clock.autojump_threshold = float("inf") if busy else 0


def run_jumping(
    graph: Graph,
    inputs: Mapping[str, Any] | None = None,
    *,
    raise_on_failure: bool = True,
    **options: Unpack[RunOptions],
) -> Run:
    """`fg.run` on a clock that jumps: retries, time limits and sleeps of days take no time. See `jumping_clock`.

    Arguments and errors are those of `fg.run`; times in the record are those of the clock.
    """
    return _on_jumping_clock(lambda: arun(graph, inputs, raise_on_failure=raise_on_failure, **options))


def _on_jumping_clock(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    if trio.lowlevel.in_trio_run():
        raise FlowgraphError("a run on a jumping clock has an event loop of its own: call this outside of async code")
    backend, backend_options = jumping_clock()
    return anyio.run(main, backend=backend, backend_options=backend_options)


def orders(
    graph: Graph,
    inputs: Mapping[str, Any] | None = None,
    *,
    count: int = 20,
    seed: int = 0,
    raise_on_failure: bool = True,
    **options: Unpack[RunOptions],
) -> Iterator[Run]:
    """Run a graph `count` times; the nodes that are at work at the same time start and finish in another order each.

    The orders are drawn from `seed`: the same seed, the same runs. Each run's id says how to have it again:
    `order-17` is `run_in_order(graph, inputs, order=17)`. See there for what is drawn; arguments and errors are those
    of `fg.run`.
    """
    for number in range(seed * MOST, seed * MOST + count):
        yield run_in_order(graph, inputs, order=number, raise_on_failure=raise_on_failure, **options)


def run_in_order(
    graph: Graph,
    inputs: Mapping[str, Any] | None = None,
    *,
    order: Order,
    raise_on_failure: bool = True,
    **options: Unpack[RunOptions],
) -> Run:
    """Run a graph on a jumping clock, its nodes starting and finishing one at a time in the given order.

    order: a seed, or paths of nodes (`["slow", "quick", "inner/first"]`): of those that could go on, who stands first
    in the list does, then the others as they were added. What the graph itself puts in order stays so, and a node
    that waits for time to pass goes on when it has passed. So does what nodes call (`ctx.call`, items of a map): as a
    part of its node. Sync nodes that wait for each other would wait for ever.

    Arguments and errors are those of `fg.run`.
    """
    turns = _Turns(order)
    options.setdefault("run_id", f"order-{order}" if isinstance(order, int) else None)
    taking_turns = _in_turn(replace(graph, options.pop("replace", None) or {}), turns)

    async def main() -> Run | Exception:
        async with anyio.create_task_group() as group:
            group.start_soon(turns.give)
            try:
                run: Run | Exception = await arun(taking_turns, inputs, raise_on_failure=raise_on_failure, **options)
            except Exception as error:  # raised below, in no group
                run = error
            group.cancel_scope.cancel()
        return run

    run = _on_jumping_clock(main)
    if isinstance(run, Exception):
        raise run
    return run


class _Turns:
    """Who goes on next: one at a time, when nothing else can happen before time passes."""

    def __init__(self, order: Order) -> None:
        self._random = random.Random(order) if isinstance(order, int) else None
        self._rank = {} if isinstance(order, int) else {path: rank for rank, path in reversed([*enumerate(order)])}
        self._waiting: dict[tuple[int, str], anyio.Event] = {}
        self._bell = anyio.Event()

    async def wait(self, path: str, place: int) -> None:
        """Until it is the turn of the node run `path`, the `place`-th node."""
        turn = self._waiting[place, path] = anyio.Event()
        self._bell.set()
        try:
            await turn.wait()
        finally:
            self._waiting.pop((place, path), None)

    async def give(self) -> None:
        """Give turns, for ever."""
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, MockClock)
        busy = _Busy(clock, lambda *_: self._bell.set())
        while True:
            await self._bell.wait()
            self._bell = anyio.Event()
            await self._settle(busy)
            while self._waiting:
                self._waiting.pop(self._next()).set()
                await self._settle(busy)

    def _next(self) -> tuple[int, str]:
        ready = sorted(self._waiting)
        if self._random is not None:
            return self._random.choice(ready)
        return min(ready, key=lambda one: (self._rank.get(one[1], len(self._rank)), one))

    async def _settle(self, busy: _Busy) -> None:
        """Until everything waits, and no thread is busy."""
        await anyio.wait_all_tasks_blocked()
        while busy.count:
            await self._bell.wait()
            self._bell = anyio.Event()
            await anyio.wait_all_tasks_blocked()


class _InTurn:
    """A node that waits for its turn before it starts and before it has ended."""

    def __init__(self, inner: Node, turns: _Turns, place: int) -> None:
        self.inner = inner
        self.name, self.kind = inner.name, inner.kind
        self.parameters, self.output_type = inner.parameters, inner.output_type
        self.title = getattr(inner, "title", "") or ""
        self._turns, self._place = turns, place

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Any:
        """The node's own call, between two waits."""
        await self._turns.wait(ctx.path, self._place)
        try:
            value = await self.inner.call(ctx, inputs)
        except Exception:
            await self._turns.wait(ctx.path, self._place)
            raise
        await self._turns.wait(ctx.path, self._place)
        return value


def _in_turn(graph: Graph, turns: _Turns) -> Graph:
    """A copy of the graph, and of the graphs that are nodes of it, in which every other node takes turns."""
    copy = replace(graph, {})
    for place, entry in enumerate(graph.entries.values()):
        node: Any = entry.node
        wrapped = _in_turn(node, turns) if isinstance(node, Graph) else _InTurn(node, turns, place)
        copy.entries[entry.name] = changed(entry, node=wrapped)
    return copy


__all__ = ["jumping_clock", "orders", "run_in_order", "run_jumping"]
