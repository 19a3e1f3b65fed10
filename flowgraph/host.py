"""Node runs at work: what stands behind the context of a running node, and the children that it calls."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from . import events as ev
from .attempt import Ending, Job, attempt
from .call import Call, Place
from .children import Children
from .commands import Answered, Ask, Ended, Event, FallBack, Question, Settle, Sleep, Start, Woke, Work
from .context import Context
from .errors import Break, InputError, InternalError, brief
from .fits import Check, check_for
from .gather import gather
from .node import Node, as_node
from .node_run import NodeRun
from .outcome import MISSING, NO_USAGE, Outcome, Reason, Status, Usage
from .policy import Policy
from .runtime import Runtime
from .schedule import Schedule
from .threads import Portal
from .wiring import call_checks

RunGraph = Callable[["Host", Any, dict[str, Any]], Awaitable[Any]]


class Host:
    """One node run: performs its attempts and hosts its children. Implements `context.Host`.

    A node of a graph and a child called by another node are the same to it: only where the inputs come from differs.
    """

    __slots__ = (
        "_children",
        "_detail",
        "_usage",
        "attempt",
        "error",
        "fallback",
        "in_loop",
        "input_checks",
        "node",
        "output_check",
        "policy",
        "run",
        "run_graph_in",
        "runtime",
        "spent",
        "value",
        "weight",
    )

    def __init__(
        self, runtime: Runtime, run: NodeRun, node: Node, policy: Policy, run_graph_in: RunGraph, in_loop: bool
    ) -> None:
        self.runtime = runtime
        self.run = run
        self.node = node
        self.policy = policy
        self.run_graph_in = run_graph_in
        self.in_loop = in_loop
        self.input_checks: dict[str, Check] | None = None
        self.output_check: Check | None = None
        self.fallback: Any = MISSING
        self.attempt = 0
        self.value: Any = MISSING
        self.error: BaseException | None = None
        self.spent = 0.0  # seconds of all attempts and the waits between them
        self.weight = 0
        self._usage = NO_USAGE
        self._detail: dict[str, Any] | None = None
        self._children: Children | None = None

    # -- facts

    @property
    def path(self) -> str:
        """The path of the node run."""
        return self.run.path

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.runtime.run_id

    @property
    def deps(self) -> Any:
        """What the run was given as deps."""
        return self.runtime.deps

    @property
    def started_at(self) -> float:
        """When the run started."""
        return self.runtime.record.root.started or 0.0

    def now(self) -> float:
        """The run's time."""
        return self.runtime.now()

    def listened(self) -> bool:
        """Whether somebody reads the events."""
        return bool(self.runtime.readers)

    # -- performing what the schedule asks for

    async def start(self, number: int, inputs: dict[str, Any]) -> Ending:
        """Perform an attempt. What has swallowed a cancellation gets it here before anything new begins."""
        await anyio.lowlevel.checkpoint_if_cancelled()
        runtime = self.runtime
        self.attempt = number
        slot = runtime.slot(self.policy, self.weight)
        children = self._children = Children(self, slot)
        runtime.tell(ev.NodeStarted(runtime.now(), self.run.path, runtime.seq, number))
        job = Job(
            self.node,
            Context(self),
            inputs,
            self._time_left(),
            runtime.grace,
            self.input_checks,
            self.output_check,
            slot,
            self.in_loop,
        )
        runtime.at_work[self.run.path] = self.run
        try:
            ending = await attempt(job)
        finally:
            del runtime.at_work[self.run.path]
            self.spent += job.spent
            children.end()
        if children.unstarted and ending.status is Status.SUCCEEDED:
            ending = self._warned(ending, children.unstarted)
        self.value, self.error = ending.value, ending.error
        return ending

    def _time_left(self) -> float | None:
        """The time limit of the next attempt: its own, or what is left of that for all attempts."""
        limit, total = self.policy.limit, self.policy.total_limit
        if total is None:
            return limit
        left = max(total - self.spent, 0.0)
        return left if limit is None else min(limit, left)

    def _warned(self, ending: Ending, count: int) -> Ending:
        """Say that an `await` was forgotten. Where warnings are errors, it is one of this node."""
        try:
            warnings.warn(f"'{self.path}' made {count} calls that it never awaited", stacklevel=2)
        except Warning as error:
            return Ending(Status.FAILED, reason=Reason("error", detail=brief(error)), error=error)
        return ending

    def judge(self, ask: Ask) -> Answered:
        """Whether the failed attempt is worth another, and after how many seconds."""
        retry, error = self.policy.retry, self.error
        if retry is None or error is None:
            return Answered(ask, None)
        try:
            wanted = retry.wants(error)
        except Exception as fault:
            error.add_note(f"Retry.on raised for it: {brief(fault)}")
            wanted = False
        if not wanted:
            return Answered(ask, None)
        delay = retry.wait(self.attempt, error, f"{self.run_id}:{self.path}")
        total = self.policy.total_limit
        if total is not None and self.spent + delay >= total:
            error.add_note(f"no time is left for another attempt: the limit for all of them is {total:g} s")
            return Answered(ask, None)
        self.spent += delay
        runtime, reason = self.runtime, Reason("error", detail=brief(error))
        runtime.tell(ev.NodeRetrying(runtime.now(), self.path, runtime.seq, self.attempt, delay, reason, error))
        return Answered(ask, delay)

    async def fall_back(self, inputs: dict[str, Any]) -> Ending:
        """The fallback, a value or a node that is called as the child `<path>/fallback`.

        What it gives must be what the node declares, or else it has failed, too.
        """
        fallback, cause = self.fallback, self.error
        if not callable(fallback) and not isinstance(fallback, Node):
            return self._instead(fallback, cause)
        node = as_node(fallback)
        given = {k: v for k, v in {**inputs, "error": cause}.items() if k in node.parameters}
        children = Children(self, names=self._children.names if self._children else None)
        try:
            outcome = await children.reserve(node, given, Place(name="fallback"), Policy())
        except InputError as error:
            outcome = Outcome(Status.FAILED, reason=Reason("error", detail=brief(error)))
        finally:
            children.end()
        if outcome.ok and isinstance(outcome.error, Break):
            return Ending(Status.SUCCEEDED, outcome.value, error=outcome.error)
        if outcome.ok:
            return self._instead(outcome.value, cause)
        return self._no_fallback(str(outcome.reason), cause)

    def _instead(self, value: Any, cause: BaseException | None) -> Ending:
        """What the fallback gave, when it is what the node declares."""
        wrong = None if self.output_check is None else self.output_check(value)
        if wrong is None:
            return Ending(Status.SUCCEEDED, value, error=cause)
        return self._no_fallback(f"it gave something else than '{self.path}' declares: {wrong}", cause)

    def _no_fallback(self, why: str, cause: BaseException | None) -> Ending:
        if cause is not None:
            cause.add_note(f"its fallback failed too: {why}")
        return Ending(Status.FAILED, error=cause)

    def settle(self, settle: Settle) -> None:
        """Record that the node run is final."""
        runtime, status = self.runtime, settle.status
        if status is not Status.SUCCEEDED:
            self.value = MISSING
        usage, detail = None if self._usage is NO_USAGE else self._usage, self._detail
        finished = ev.NodeFinished(
            runtime.now(), self.run.path, runtime.seq, status, self.value, settle.reason, self.error, usage, detail
        )
        runtime.tell(finished)

    # -- what a context can do

    def spawn(self, node: Any, inputs: Mapping[str, Any] | None, place: Place, policy: Policy) -> Call[Outcome[Any]]:
        """Reserve the place of a child; it starts when the call is awaited."""
        return self._running().reserve(as_node(node), inputs or {}, place, policy)

    def _running(self) -> Children:
        assert self._children is not None, "only a node that was started has a context"
        return self._children

    async def gather(self, calls: tuple[Call[Any], ...], limit: int | None) -> list[Any]:
        """Run calls as branches."""
        return await gather(calls, limit)

    async def run_graph(self, graph: Any, inputs: dict[str, Any]) -> Any:
        """Run a graph in place, with its slot lent to the nodes of the graph."""
        children = self._running()
        children.check_open()
        return await children.lent(lambda: self.run_graph_in(self, graph, inputs))

    async def in_thread(self, function: Callable[[], Any], portal: Portal | None = None) -> Any:
        """Call a function on a worker thread of the run."""
        return await self.runtime.threads.run(function, portal)

    def emit(self, kind: str, data: Any) -> None:
        """Show a custom event."""
        if self.runtime.readers:
            self.runtime.show(ev.Emitted(self.now(), self.path, kind, data))

    def log(self, message: str, fields: dict[str, Any]) -> None:
        """Show a log line."""
        if self.runtime.readers:
            self.runtime.show(ev.Logged(self.now(), self.path, message, fields))

    def charge(self, usage: Usage) -> None:
        """Count usage."""
        self._usage += usage

    def keep(self, details: dict[str, Any]) -> None:
        """Keep details."""
        self._detail = {**(self._detail or {}), **details}

    # -- as a child, and as a parent

    def child(self, node: Node, inputs: dict[str, Any], path: str, title: str, policy: Policy) -> Host:
        """A node run that this one calls."""
        run = self.runtime.spawn(self.run, path, node.kind, title)
        in_loop = self.in_loop or self.node.kind == "loop"
        shared = Policy(group=self.policy.group, priority=self.policy.priority)
        child = Host(self.runtime, run, node, policy.over(shared), self.run_graph_in, in_loop)
        child.weight = self.weight
        child.input_checks, child.output_check = call_checks(node, inputs), check_for(node.output_type)
        return child

    async def live(self, schedule: Schedule, inputs: dict[str, Any]) -> Outcome[Any]:
        """Perform all that an open schedule asks for this node run, until it is settled."""
        index, (command,) = schedule.spawn(self.run.name, self.policy.attempts)
        try:
            while type(command) is not Settle:
                event = await self.perform(command, inputs)  # type: ignore[arg-type]  # no other facts here
                (command,) = schedule.feed(event)
        except BaseException:
            (command,) = schedule.feed(Ended(index, Status.CANCELLED, Reason("cancelled", detail="from outside")))
            self.settle(command)  # type: ignore[arg-type]  # a cancelled node is settled at once
            raise
        self.settle(command)
        return self.run.outcome

    async def perform(self, work: Work, inputs: dict[str, Any]) -> Event:
        """Do one piece of work of this node run."""
        if type(work) is Start:
            ending = await self.start(work.attempt, dict(inputs))
            return Ended(work.node, ending.status, ending.reason)
        if type(work) is Sleep:
            await self.runtime.backend.sleep(work.delay)
            return Woke(work.node)
        if type(work) is FallBack:
            ending = await self.fall_back(inputs)
            self.value, self.error = ending.value, ending.error
            return Ended(work.node, ending.status, ending.reason)
        if type(work) is Ask and work.question is Question.RETRY:
            return self.judge(work)
        raise InternalError(f"'{self.path}' cannot perform {work!r}")
