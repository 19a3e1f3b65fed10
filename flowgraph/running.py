"""Running: `fg.run`, `await fg.arun`, `async with fg.start`."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Self, Unpack

import anyio

from . import events as ev
from .backends.local import LocalBackend, first_of
from .checks import checked
from .drive import Drive
from .errors import FlowgraphError, InputError, LimitExceeded, RunCancelled, RunFailed
from .fits import adapter_for, describe, details, shown
from .graph import Graph
from .handle import Handle
from .outcome import MISSING, Reason, Status
from .policy import Limits, seconds
from .record import Run
from .runtime import RunOptions, Runtime
from .schedule import Verdict
from .stand_in import replace
from .streams import Reader


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
    execution = _Execution(graph, inputs, options)
    await execution.run()
    return execution.result(raise_on_failure)


def run(
    graph: Graph,
    inputs: Mapping[str, Any] | None = None,
    *,
    raise_on_failure: bool = True,
    **options: Unpack[RunOptions],
) -> Run:
    """`arun` for code that is not async. Inside a running event loop it is an error: use `await fg.arun(...)`."""
    if _in_event_loop():
        raise FlowgraphError("fg.run was called inside a running event loop: use `await fg.arun(...)` there")

    async def main() -> Run:
        return await arun(graph, inputs, raise_on_failure=raise_on_failure, **options)

    return anyio.run(main)


def start(graph: Graph, inputs: Mapping[str, Any] | None = None, **options: Unpack[RunOptions]) -> LiveRun:
    """A run to be watched: `async with fg.start(graph, inputs) as run: async for event in run: …`.

    The graph starts when the block is entered. Leaving the block cancels what still runs and waits for its end.
    Raises as `arun` does, GraphError and InputError on entering.
    """
    return LiveRun(graph, inputs, options)


class _Execution:
    """One run, from validated inputs to its end."""

    def __init__(self, graph: Graph, inputs: Mapping[str, Any] | None, options: RunOptions) -> None:
        if not isinstance(graph, Graph):
            raise TypeError(f"a run wants a flowgraph.Graph first, not {shown(graph)}")
        if unknown := [name for name in options if name not in RunOptions.__annotations__]:
            raise TypeError(f"running has no option '{unknown[0]}': there are {', '.join(RunOptions.__annotations__)}")
        if replacements := options.get("replace"):
            graph = replace(graph, replacements)
        self.plan = checked(graph)
        self.inputs = validated_inputs(graph, inputs or {})
        self.record = Run(self.plan, self.plan.outputs)
        self.runtime = Runtime(LocalBackend(), self.record, options)
        self.limits = options.get("limits") or Limits()
        self._tell_start()
        self.drive = Drive(self.runtime, self.plan, self.inputs, self.record.root, in_loop=False)

    def _tell_start(self) -> None:
        runtime, plan = self.runtime, self.plan
        runtime.tell(
            ev.RunStarted(
                runtime.now(), "", runtime.seq, runtime.run_id, plan.graph.name, self.inputs, nodes=plan.outline
            )
        )

    async def run(self) -> None:
        """Drive the graph; record how it ended, whatever happens."""
        runtime = self.runtime
        limit = self.limits.run_timeout
        try:
            with anyio.move_on_after(None if limit is None else seconds(limit)) as runtime.scope:
                verdict = await self._watched()
            if runtime.scope.cancel_called:
                self._ran_out_of_time(seconds(limit or 0))
                return
        except BaseException:
            reason = Reason("cancelled", detail="from outside" + self._late())
            runtime.tell(ev.RunFinished(runtime.now(), "", runtime.seq, Status.CANCELLED, (), reason))
            raise
        else:
            self.errors = self.drive.errors(verdict)
            unhandled = tuple(self.drive.runs[index].path for index in verdict.unhandled)
            runtime.tell(ev.RunFinished(runtime.now(), "", runtime.seq, verdict.status, unhandled))
        finally:
            runtime.close()

    def leave(self) -> None:
        """Record that the run was cancelled before its first step."""
        runtime, reason = self.runtime, Reason("cancelled", detail="from outside")
        self.drive.leave()
        runtime.tell(ev.RunFinished(runtime.now(), "", runtime.seq, Status.CANCELLED, (), reason))
        runtime.close()

    async def _watched(self) -> Verdict:
        """Drive the graph; a task beside it says what does not end when it is told to.

        Both are tasks, so that whatever cancels us, be it asyncio's own `task.cancel()`, reaches both at once.
        """
        ends: list[Verdict | BaseException] = []

        async def drive() -> None:
            try:
                ends.append(await self.drive.run())
            except anyio.get_cancelled_exc_class():
                raise
            except BaseException as error:  # raised below, in no group: see backends/local.py
                ends.append(error)
            finally:
                self.runtime.grace.end()

        async with anyio.create_task_group() as group:
            group.start_soon(self.runtime.grace.watch)
            group.start_soon(drive)
        (end,) = ends
        if isinstance(end, BaseException):
            raise end
        return end

    def _late(self) -> str:
        """What did not end within the grace period, in words."""
        late, grace = self.runtime.late, self.runtime.grace.seconds
        return f"; after {grace:g} s there still went on: {', '.join(dict.fromkeys(late))}" if late else ""

    def _ran_out_of_time(self, limit: float) -> None:
        runtime, reason = self.runtime, Reason("timeout", detail=f"{limit:g} s for the whole run{self._late()}")
        self.errors = {"": LimitExceeded(f"the run of '{self.record.graph}' went past its time limit of {limit:g} s")}
        runtime.tell(ev.RunFinished(runtime.now(), "", runtime.seq, Status.FAILED, (), reason))

    def result(self, raise_on_failure: bool) -> Run:
        """The finished run. Raises RunFailed, RunCancelled."""
        if self.record.status is Status.CANCELLED:
            raise RunCancelled(self.record)
        if self.record.status is Status.FAILED and raise_on_failure:
            raise RunFailed(self.record, self.errors) from next(iter(self.errors.values()), None)
        return self.record


class LiveRun:
    """A run at work. `record` is the run so far; `async for event in run` gives every event from the start on."""

    def __init__(self, graph: Graph, inputs: Mapping[str, Any] | None, options: RunOptions) -> None:
        self._arguments = (graph, inputs, options)
        self._interrupt: BaseException | None = None
        self._execution: _Execution | None = None

    async def __aenter__(self) -> Self:
        if self._execution is not None:
            raise FlowgraphError("this run has been entered before: call fg.start again for another one")
        self._execution = _Execution(*self._arguments)
        self._group, self._scope, self._over = anyio.create_task_group(), anyio.CancelScope(), anyio.Event()
        await self._group.__aenter__()
        self._group.start_soon(self._main, self._execution)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        """Cancel what still runs and wait for its end. What the block raised is raised as it is, in no group."""
        self._scope.cancel()
        cancelled = isinstance(error, anyio.get_cancelled_exc_class())
        try:
            handled = await self._group.__aexit__(*((kind, error, traceback) if cancelled else (None, None, None)))
        except BaseExceptionGroup as errors:
            raise first_of(errors) from None
        if self._interrupt is not None:
            raise self._interrupt
        return cancelled and handled

    @property
    def record(self) -> Run:
        """The run so far."""
        return self._running().record

    def __aiter__(self) -> Reader:
        return self._running().runtime.reader()

    async def text(self, node: str | Handle[Any]) -> AsyncIterator[str]:
        """The pieces of text that a node, and what runs below it, writes while it writes them."""
        path = node.name if isinstance(node, Handle) else node
        async for event in self._running().runtime.reader():
            if isinstance(event, ev.Emitted) and event.kind == "text" and _below(event.path, path):
                yield str(event.data)

    async def result(self, *, raise_on_failure: bool = True) -> Run:
        """Wait for the end and give back the run. Raises RunFailed, RunCancelled."""
        execution = self._running()
        await self._over.wait()
        return execution.result(raise_on_failure)

    def cancel(self) -> None:
        """Cancel every node; `result` raises RunCancelled when all have ended."""
        self._running()
        self._scope.cancel()

    async def _main(self, execution: _Execution) -> None:
        try:
            with self._scope:
                await execution.run()
        except (KeyboardInterrupt, SystemExit) as error:  # raised by the block: see backends/local.py
            self._interrupt = error
            self._group.cancel_scope.cancel()
        finally:
            if not execution.record.status.final:  # cancelled before its first step
                execution.leave()
            self._over.set()

    def _running(self) -> _Execution:
        if self._execution is None:
            raise FlowgraphError("the run has not started: use `async with fg.start(...) as run`")
        return self._execution


def validated_inputs(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs, checked against what the graph declares, with defaults. Raises InputError with all that is wrong."""
    wrong = [f"there is no input '{name}'" for name in inputs if name not in graph.inputs]
    given: dict[str, Any] = {}
    for name, declared in graph.inputs.items():
        value = inputs.get(name, declared.default)
        if value is MISSING:
            wrong.append(f"input '{name}' ({describe(declared.type)}) is missing")
            continue
        try:
            given[name] = _converted(value, declared.type)
        except InputError as error:
            wrong.append(f"input '{name}': {error}")
    if wrong:
        known = ", ".join(f"'{name}'" for name in graph.inputs) or "none"
        raise InputError(f"graph '{graph.name}': {'; '.join(wrong)} (its inputs: {known})")
    return given


def _converted(value: Any, type_: Any) -> Any:
    if type_ is Any or (isinstance(type_, type) and type(value) is type_):
        return value
    from pydantic import PydanticUndefinedAnnotation, PydanticUserError, ValidationError

    try:
        return adapter_for(type_).validate_python(value)
    except (PydanticUserError, PydanticUndefinedAnnotation):  # pydantic has no notion of the type
        return value
    except ValidationError as error:
        raise InputError(f"expected {describe(type_)}, got {shown(value)}{details(error)}") from None


def _below(path: str, node: str) -> bool:
    return path == node or (path.startswith(node) and path[len(node)] in "/#[~")


def _in_event_loop() -> bool:
    asyncio, trio = sys.modules.get("asyncio"), sys.modules.get("trio")  # where one runs, it was imported
    if asyncio is not None and asyncio._get_running_loop() is not None:
        return True
    return trio is not None and bool(trio.lowlevel.in_trio_run())


__all__ = ["LiveRun", "arun", "run", "start", "validated_inputs"]
