"""Cutting runs short: a run is cancelled at a given step of its event loop, and then nothing may be left of it.

A step is whatever an event loop does between two awaits: `steps()` counts those of an undisturbed run, `cut()` cancels
a run at one of them and looks for what it left. Both run on clocks that jump.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import anyio
import trio

import flowgraph as fg
from flowgraph import events as ev
from flowgraph import threads
from flowgraph.testing import jumping_clock

Backend: TypeAlias = Literal["asyncio", "trio"]
How: TypeAlias = Literal["cancel", "scope", "twice", "task"]
"""By `run.cancel()`; by a cancel scope around everything; by the one and, a step later, the other; by asyncio's own
`task.cancel()`."""


class Cut(NamedTuple):
    """A run that was cancelled, or came to its end first, and how many steps it took in all."""

    run: fg.Run
    steps: int


class Stepper(trio.abc.Instrument):
    """Counts steps while it is armed, and acts at the step `at` and those after it, as often as it has acts."""

    def __init__(self, at: int) -> None:
        self.at, self.count, self.armed, self.faults = at, 0, False, list[Any]()
        self.acts: list[Callable[[], object]] = []

    def before_task_step(self, task: object = None) -> None:
        if self.armed:
            self.count += 1
            if self.count >= self.at > 0 and self.acts:
                self.acts.pop(0)()


class Loop(asyncio.SelectorEventLoop):
    """An event loop of asyncio that tells of its steps, keeps what it would only have logged, and whose clock jumps."""

    def __init__(self, stepper: Stepper) -> None:
        self._stepper, self._jumped = stepper, _Selector()
        super().__init__(self._jumped)
        threads.watchers.append(self._jumped.watch)

    def close(self) -> None:
        super().close()
        if self._jumped.watch in threads.watchers:
            threads.watchers.remove(self._jumped.watch)

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> asyncio.Handle:
        def step() -> None:
            self._stepper.before_task_step()
            callback(*args)

        return super().call_soon(step, context=context)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self._stepper.faults.append(context)

    def time(self) -> float:
        return super().time() + self._jumped.seconds


class _Selector(selectors.DefaultSelector):
    """Jumps over waits, but for those while a thread of ours is busy."""

    seconds = 0.0
    busy = 0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None or timeout <= 0 or self.busy:
            return super().select(timeout)
        if not (events := super().select(0)):
            self.seconds += timeout
        return events

    def watch(self, change: int) -> None:
        self.busy += change


def steps(graph: fg.Graph, backend: Backend, options: Mapping[str, Any] | None = None) -> Cut:
    """The run undisturbed."""
    return cut(graph, backend, at=0, options=options)


def cut(
    graph: fg.Graph, backend: Backend, at: int, how: How = "cancel", options: Mapping[str, Any] | None = None
) -> Cut:
    """Cancel a run at the given step. Everything that it could have left behind is looked for."""
    stepper, given = Stepper(at), {**(options or {})}
    inputs = given.pop("inputs", None)

    async def main() -> fg.Run:
        before = tasks(backend)
        with anyio.CancelScope() as scope, ended_by_its_task(how):
            async with fg.start(graph, inputs, **given) as live:
                stepper.acts = acts(how, live, scope)
                stepper.armed = True
                with suppress(fg.RunCancelled):
                    await live.result(raise_on_failure=False)
                stepper.armed = False
        stepper.armed = False
        assert tasks(backend) == before, "tasks are left"
        look_at_services(live)
        return live.record

    run = anyio.run(main, backend=backend, backend_options=jumping(backend, stepper))
    assert stepper.faults == []
    look_at_record(run)
    return Cut(run, stepper.count)


def jumping(backend: Backend, stepper: Stepper) -> dict[str, Any]:
    """Options of a backend whose clock jumps and whose steps are told."""
    if backend == "trio":
        return {**jumping_clock()[1], "instruments": [stepper]}
    return {"loop_factory": lambda: Loop(stepper)}


def acts(how: How, live: fg.LiveRun, scope: anyio.CancelScope) -> list[Callable[[], object]]:
    """What to do to the run, one step after the other."""
    if how == "task":
        task = asyncio.current_task()
        assert task
        return [task.cancel]
    return {"cancel": [live.cancel], "scope": [scope.cancel], "twice": [live.cancel, scope.cancel]}[how]


@contextmanager
def ended_by_its_task(how: How) -> Iterator[None]:
    """The cancellation of the task ends here."""
    try:
        yield
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if how != "task" or task is None:
            raise
        task.uncancel()


def tasks(backend: Backend) -> int:
    """How many tasks there are in the event loop we are in."""
    return len(asyncio.all_tasks()) if backend == "asyncio" else trio.lowlevel.current_statistics().tasks_living


def look_at_services(live: fg.LiveRun) -> None:
    """No slot is held or waited for, and no thread."""
    runtime, options = live._running().runtime, live._options
    pools = {"": runtime.slots, "threads": runtime.threads._slots, **runtime.groups}
    sizes = {"": options.get("max_concurrency"), "threads": options.get("threads", 64), **(options.get("groups") or {})}
    assert {name: pool and pool._free for name, pool in pools.items()} == sizes
    assert [waiter for pool in pools.values() if pool for waiter in pool._waiting] == []


def look_at_record(run: fg.Run) -> None:
    """Everything has one final status, which was told once; the events have no gaps."""
    assert run.status in (fg.Status.SUCCEEDED, fg.Status.FAILED, fg.Status.CANCELLED)
    assert [node.path for node in run.root.walk() if not node.status.final] == []
    assert [node.path for node in run.nodes.values() if not node.status.final] == []
    begun = Counter(event.path for event in run.events if isinstance(event, ev.Spawned))
    for event in run.events:
        if isinstance(event, ev.RunStarted | ev.GraphStarted):
            begun.update(f"{event.path}/{name}" if event.path else name for name, _, _ in event.nodes)
    assert Counter(event.path for event in run.events if isinstance(event, ev.NodeFinished)) == begun
    assert [event.seq for event in run.events] == list(range(len(run.events)))
    assert isinstance(run.events[0], ev.RunStarted)
    assert [event for event in run.events if isinstance(event, ev.RunFinished)] == [run.events[-1]]
    assert facts(refolded(run)) == facts(run)


def refolded(run: fg.Run) -> fg.Run:
    """The same run, made of nothing but its events and the graph."""
    other = fg.Run(run.spec, run._outputs)
    for event in run.events:
        other.apply(event)
    return other


def facts(run: fg.Run) -> dict[str, Any]:
    """All that a record knows."""
    nodes = {
        path: [
            (node.path, node.name, node.kind, node.title, node.status, node.reason, node.error, node.value),
            (node.started, node.ended, node.attempt, node.usage, node.chosen, node.detail, node.outcome),
            (node.parent.path if node.parent else None, [child.path for child in node.children]),
            [[child.path for before in earlier for child in before.walk()] for earlier in node.earlier],
        ]
        for path, node in {"": run.root, **run.nodes}.items()
    }
    whole = [run.id, run.graph, run.inputs, run.status, run.unhandled, run.events, run.usage]
    return {
        "nodes": nodes,
        "whole": whole,
        "order": list(run.nodes),
        "text": str(run),
        "outcomes": dict(run.outcomes),
        "errors": {path: repr(error) for path, error in run.errors.items()},
    }


@contextmanager
def nothing_left() -> Iterator[None]:
    """Afterwards there are no more processes or threads to wait for than before, and nothing went wrong in silence."""
    faults: list[Any] = []
    hook, before = sys.unraisablehook, (processes(), lasting_threads())
    sys.unraisablehook = faults.append  # never-awaited coroutines come here, too: warnings are errors
    try:
        yield
    finally:
        sys.unraisablehook = hook
    assert [(fault.exc_value, fault.object) for fault in faults] == []
    assert (processes(), lasting_threads()) == before


def processes() -> set[str]:
    """The child processes of this one, where that can be told."""
    files = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return {child for file in files for child in file.read_text().split()}


def lasting_threads() -> set[threading.Thread]:
    """The threads that the process would wait for at its end."""
    return {thread for thread in threading.enumerate() if not thread.daemon}
