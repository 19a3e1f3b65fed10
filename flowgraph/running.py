"""Running: `fg.run`, `await fg.arun`, `async with fg.start`; going on: `fg.resume`, `fg.fork` and their async twins."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import closing
from typing import Any, Unpack, cast

import anyio

from .errors import FlowgraphError
from .execution import Execution, checked_call
from .forking import fork_journal
from .graph import Graph
from .handle import Handle
from .keeping import Where
from .live_run import LiveRun
from .plan import Plan
from .record import Run
from .runtime import ResumeOptions, RunOptions
from .runtime import new_run_id as new_id
from .session import Session, begin
from .stores import Store, open_store
from .threads import to_its_end


async def arun(
    graph: Graph,
    inputs: Mapping[str, Any] | None = None,
    *,
    raise_on_failure: bool = True,
    **options: Unpack[RunOptions],
) -> Run:
    """Run a graph to its end and give back the run.

    inputs: a value for each input without default; validated (and, where pydantic can, converted) before anything
    starts. options: see `RunOptions`.

    Raises GraphError with all that is wrong with the graph, InputError, and, when failures are left that nothing
    handled, RunFailed, which holds the run with all its partial results; with `raise_on_failure=False` the run is
    returned then, too. Cancelling the call cancels every node, waits for their clean-up and leaves nothing behind.
    """
    plan = checked_call(graph, options)
    session = await begin(plan, inputs, options)
    return await _finished(plan, session, options, raise_on_failure)


def run(
    graph: Graph,
    inputs: Mapping[str, Any] | None = None,
    *,
    raise_on_failure: bool = True,
    **options: Unpack[RunOptions],
) -> Run:
    """`arun` for code that is not async. Inside a running event loop it is an error: use `await fg.arun(...)`."""

    async def main() -> Run:
        return await arun(graph, inputs, raise_on_failure=raise_on_failure, **options)

    return _outside_of_loops("run", main)


def start(
    graph: Graph, inputs: Mapping[str, Any] | None = None, *, wait: bool = False, **options: Unpack[RunOptions]
) -> LiveRun:
    """A run to be watched: `async with fg.start(graph, inputs) as run: async for event in run: …`.

    The graph starts when the block is entered. Leaving the block cancels what still runs and waits for its end.
    wait: for people (`run.answer(path, answer)`), in place of a pause when only gates are left.
    Raises as `arun` does, GraphError and InputError on entering.
    """
    return LiveRun(graph, inputs, options, wait)


async def aresume(
    graph: Graph,
    run_id: str,
    *,
    store: Where,
    inputs: Mapping[str, Any] | None = None,
    force: bool = False,
    raise_on_failure: bool = True,
    **options: Unpack[ResumeOptions],
) -> Run:
    """Go on with a run that failed, was cancelled, paused or broken off, and give it back when it has ended.

    What succeeded is taken from the journal, down to single calls below a node; the rest runs: see
    docs/how-to/keep-and-resume-runs.md. A run that had succeeded gives its result, and nothing is called. graph: the
    one that the run was begun with. inputs: only those that held secrets, which were not stored. force: go on although
    the graph has changed; nodes whose kind, edges, condition or version are not what they were run again, and what
    depends on them. options: see `ResumeOptions`; `answers` are checked before anything runs.

    Raises as `arun` does, and RunNotFound, RunBusy, GraphChanged with all differences, AnswerRefused, StoreError.
    """
    given = cast("RunOptions", {**options, "store": store, "run_id": run_id})
    plan = checked_call(graph, given)
    session = await begin(plan, inputs, given, resume=True, force=force)
    return await _finished(plan, session, given, raise_on_failure)


def resume(
    graph: Graph,
    run_id: str,
    *,
    store: Where,
    inputs: Mapping[str, Any] | None = None,
    force: bool = False,
    raise_on_failure: bool = True,
    **options: Unpack[ResumeOptions],
) -> Run:
    """`aresume` for code that is not async."""

    async def main() -> Run:
        return await aresume(
            graph, run_id, store=store, inputs=inputs, force=force, raise_on_failure=raise_on_failure, **options
        )

    return _outside_of_loops("resume", main)


async def afork(
    graph: Graph,
    run_id: str,
    *,
    at: str | Handle[Any],
    store: Where,
    new_run_id: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    force: bool = False,
    raise_on_failure: bool = True,
    **options: Unpack[ResumeOptions],
) -> Run:
    """Run anew from the node `at`, in a new run that has everything else of the old one, which stays as it is.

    at: the path of a node run, such as `draft` or `team/review[2]`: it runs again, and so does what depends on it.
    new_run_id: default a random one. `replace={"draft": other}` tries something else there. The rest as in `aresume`.
    """
    new = new_run_id or new_id()
    path = at.name if isinstance(at, Handle) else at
    given = cast("RunOptions", {**options, "store": store, "run_id": new})
    plan = checked_call(graph, given)
    await _in_store(store, lambda opened: fork_journal(opened, run_id, path, new))
    try:
        session = await begin(plan, inputs, given, resume=True, force=force)
    except BaseException:  # nothing of it was at work
        await _in_store(store, lambda opened: opened.delete(new))
        raise
    return await _finished(plan, session, given, raise_on_failure)


def fork(
    graph: Graph,
    run_id: str,
    *,
    at: str | Handle[Any],
    store: Where,
    new_run_id: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    force: bool = False,
    raise_on_failure: bool = True,
    **options: Unpack[ResumeOptions],
) -> Run:
    """`afork` for code that is not async."""

    async def main() -> Run:
        return await afork(
            graph,
            run_id,
            at=at,
            store=store,
            new_run_id=new_run_id,
            inputs=inputs,
            force=force,
            raise_on_failure=raise_on_failure,
            **options,
        )

    return _outside_of_loops("fork", main)


async def _in_store(where: Where, work: Callable[[Store], None]) -> None:
    """Do something with a store, on a thread, to its end."""

    def body() -> None:
        with closing(open_store(where)) as opened:
            work(opened)

    await to_its_end(body)


async def _finished(plan: Plan, session: Session, options: RunOptions, raise_on_failure: bool) -> Run:
    """Run a session to its end."""
    try:
        execution = Execution(plan, session, options)
        await execution.run()
        return execution.result(raise_on_failure)
    finally:
        with anyio.CancelScope(shield=True):
            await session.close()


def _outside_of_loops(verb: str, main: Callable[[], Coroutine[Any, Any, Run]]) -> Run:
    """Run it in an event loop of its own."""
    if _in_event_loop():
        raise FlowgraphError(f"fg.{verb} was called inside a running event loop: use `await fg.a{verb}(...)` there")
    return anyio.run(main)


def _in_event_loop() -> bool:
    asyncio, trio = sys.modules.get("asyncio"), sys.modules.get("trio")  # where one runs, it was imported
    if asyncio is not None and asyncio._get_running_loop() is not None:
        return True
    return trio is not None and bool(trio.lowlevel.in_trio_run())
