"""Live runs: what `async with fg.start(...)` gives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Self

import anyio

from . import events as ev
from .backends.local import first_of
from .errors import FlowgraphError
from .execution import Execution, checked_call
from .graph import Graph
from .handle import Handle
from .outcome import Status
from .record import Run
from .runtime import RunOptions
from .session import begin
from .streams import Reader
from .waits import give_answer


class LiveRun:
    """A run at work. `record` is the run so far; `async for event in run` gives every event from the start on.

    resume: the run must be in the store; force: see `fg.resume`.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[str, Any] | None,
        options: RunOptions,
        wait: bool = False,
        *,
        resume: bool = False,
        force: bool = False,
    ) -> None:
        self._graph = graph
        self._inputs = inputs
        self._options = options
        self._wait = wait
        self._resume, self._force = resume, force
        self._interrupt: BaseException | None = None
        self._execution: Execution | None = None

    async def __aenter__(self) -> Self:
        if self._execution is not None:
            raise FlowgraphError("this run has been entered before: call fg.start again for another one")
        plan = checked_call(self._graph, self._options)
        session = await begin(plan, self._inputs, self._options, resume=self._resume, force=self._force)
        try:
            self._execution = Execution(plan, session, self._options, self._wait)
        except BaseException:
            await session.close()
            raise
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

    def answer(self, path: str, answer: Any) -> None:
        """Answer the open gate at `path`, see `record.gates`. Raises AnswerRefused; then the gate stays open."""
        give_answer(self._running().runtime, path, answer)

    def cancel(self) -> None:
        """Cancel every node; `result` raises RunCancelled when all have ended."""
        self._running()
        self._scope.cancel()

    async def _main(self, execution: Execution) -> None:
        try:
            with self._scope:
                await execution.run()
        except (KeyboardInterrupt, SystemExit) as error:  # raised by the block: see backends/local.py
            self._interrupt = error
            self._group.cancel_scope.cancel()
        finally:
            if execution.record.status is Status.RUNNING:  # cancelled before its first step
                execution.leave()
            with anyio.CancelScope(shield=True):
                await execution.session.close()
            self._over.set()

    def _running(self) -> Execution:
        if self._execution is None:
            raise FlowgraphError("the run has not started: use `async with fg.start(...) as run`")
        return self._execution


def _below(path: str, node: str) -> bool:
    return path == node or (path.startswith(node) and path[len(node)] in "/#[~")
