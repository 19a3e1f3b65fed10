"""Executions: one run, from a session that has begun to its end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace as stamped

import anyio

from . import events as ev
from .backends.local import LocalBackend
from .checks import checked
from .codec import decode
from .drive import Drive
from .errors import LimitExceeded, RunCancelled, RunFailed, StoreError, brief
from .fits import shown
from .graph import Graph
from .outcome import MISSING, Reason, Status
from .plan import Plan
from .policy import seconds
from .record import Run
from .runtime import RunOptions, Runtime
from .schedule import Verdict
from .session import Session
from .stand_in import replace


def checked_call(graph: Graph, options: RunOptions) -> Plan:
    """The plan of a graph that is to run. Raises TypeError for what is no graph or no option, and GraphError."""
    if not isinstance(graph, Graph):
        raise TypeError(f"a run wants a flowgraph.Graph first, not {shown(graph)}")
    if unknown := [name for name in options if name not in RunOptions.__annotations__]:
        raise TypeError(f"running has no option '{unknown[0]}': there are {', '.join(RunOptions.__annotations__)}")
    if replacements := options.get("replace"):
        graph = replace(graph, replacements)
    return checked(graph)


class Execution:
    """One run, from a session that has begun to its end. wait: for people, in place of a pause."""

    def __init__(self, plan: Plan, session: Session, options: RunOptions, wait: bool = False) -> None:
        self.plan = plan
        self.session = session
        self.record = session.record
        self.limits = [limits for limits in (plan.graph.limits, options.get("limits")) if limits is not None]
        self.errors: dict[str, BaseException] = {}
        if session.past is not None:
            options = {**options, "answers": session.answers}  # the others are recorded already
        self.runtime = Runtime(LocalBackend(), self.record, options, session.run_id, session.journal, session.past)
        self._wait = wait
        self._asked: frozenset[str] = frozenset()  # gates that were open when the run was paused
        for event, text in session.first:
            self.runtime.tell(stamped(event, at=self.runtime.now()), text)
        self.runtime.budgets = tuple(
            self.runtime.budget(limits, self.record.root) for limits in self.limits if limits.counts
        )
        self.drive = Drive(self.runtime, plan, session.inputs, self.record.root, past=session.past)

    async def run(self) -> None:
        """Drive the graph; record how it ended, whatever happens."""
        if self.session.over:
            self._read_outputs()
            self.runtime.close()
            return
        runtime = self.runtime
        times = [seconds(limits.run_timeout) for limits in self.limits if limits.run_timeout is not None]
        limit = min(times, default=None)
        try:
            with anyio.move_on_after(limit) as runtime.scope:
                runtime.time.scope = runtime.scope
                verdict = await self._watched()
            if runtime.scope.cancel_called:
                self._cut(limit)
                return
        except BaseException:
            self._leave_out(self._unfinished())
            reason = Reason("cancelled", detail="from outside" + self._late())
            runtime.tell(ev.RunFinished(runtime.now(), "", runtime.seq, Status.CANCELLED, (), reason))
            raise
        else:
            self._leave_out(self._unfinished())
            self.errors = self.drive.errors(verdict)
            unhandled = tuple(self.drive.runs[index].path for index in verdict.unhandled)
            runtime.tell(ev.RunFinished(runtime.now(), "", runtime.seq, verdict.status, unhandled))
        finally:
            await self._close()

    async def _close(self) -> None:
        """Store what is left to be stored; then readers come to their end."""
        try:
            if self.session.journal is not None:
                with anyio.CancelScope(shield=True):
                    await self.session.journal.stored()
        except StoreError as error:
            if self.runtime.fault is None:
                self._fail(error)
        finally:
            self.runtime.close()

    def _cut(self, limit: float | None) -> None:
        """The run was told to end: for good, or until people have answered."""
        runtime = self.runtime
        if runtime.fault is not None:
            self._fail(runtime.fault)
        elif runtime.pausing:
            self._leave_out([gate.path for gate in self.record.gates if gate.path not in self._asked])
            due = min((gate.due for gate in self.record.gates if gate.due is not None), default=None)
            runtime.tell(ev.RunPaused(runtime.now(), "", runtime.seq, due))
        else:
            self._leave_out(self._unfinished())
            self._ran_out_of_time(limit or 0.0)

    def _unfinished(self) -> list[str]:
        return [node.path for node in self.record.root.walk() if node.path and not node.status.final]

    def _leave_out(self, paths: Sequence[str]) -> None:
        """Close what is recorded as at work and, after the resume, was not called any more."""
        runtime = self.runtime
        if self.session.past is not None:
            for path in paths:
                reason = Reason("cancelled", detail="after a resume it was not called any more")
                runtime.tell(ev.NodeFinished(runtime.now(), path, runtime.seq, Status.CANCELLED, None, reason))

    def _fail(self, fault: StoreError) -> None:
        """The journal cannot be written: what is stored can be resumed, what is only here is in the record."""
        runtime = self.runtime
        self.errors = {"": fault}
        reason = Reason("error", detail=brief(fault))
        runtime.tell(ev.RunFinished(runtime.now(), "", runtime.seq, Status.FAILED, (), reason))

    def _read_outputs(self) -> None:
        """The outputs of a run that is over, as the graph declares them."""
        for name, entry in zip(self.plan.names, self.plan.entries, strict=True):
            node = self.record.nodes[name]
            if node.status is Status.SUCCEEDED and not node.withheld:
                with suppress(StoreError):  # declared otherwise since: it stays plain JSON
                    node.value = decode(json.dumps(node.value), entry.node.output_type)
            elif node.withheld:
                node.value = MISSING

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
                pauser.cancel()

        async def pause() -> None:
            with pauser:
                await self.runtime.desk.only_gates_are_left(self.drive.blocked)
                self._asked = frozenset(self.runtime.desk.open)
                self.runtime.pausing = True
                if self.runtime.scope is not None:
                    self.runtime.scope.cancel()

        pauser = anyio.CancelScope()
        async with anyio.create_task_group() as group:
            group.start_soon(self.runtime.grace.watch)
            group.start_soon(drive)
            if not self._wait:
                group.start_soon(pause)
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
            failed = RunFailed(self.record, self.errors)
            if self._same_failure():
                failed.add_note(
                    "the resume called nothing new and failed the same way: fg.fork(graph, run_id, at=...) starts "
                    "a new run from a node before the failure"
                )
            raise failed from next(iter(self.errors.values()), None)
        return self.record

    def _same_failure(self) -> bool:
        past = self.session.past
        return past is not None and not past.called and past.failures == {p: brief(e) for p, e in self.errors.items()}
