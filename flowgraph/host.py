"""Node runs at work: what stands behind the context of a running node, and the children that it calls."""

from __future__ import annotations

import json
import warnings
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

import anyio

from . import events as ev
from .attempt import Ending, Job, attempt
from .call import Call, Place
from .children import Children
from .codec import Withheld, decode, digest, encode
from .commands import Answered, Ask, Ended, Event, FallBack, Question, Settle, Sleep, Start, Woke, Work
from .context import Context
from .errors import Break, Diverged, InputError, InternalError, NodeTimeout, NotStorable, StoreError, brief
from .fits import Check, check_for
from .node import Node, as_node
from .node_run import NodeRun
from .outcome import MISSING, Outcome, Reason, Status
from .past import Recorded
from .policy import Limits, Policy, seconds
from .runtime import Runtime
from .schedule import Schedule
from .station import Station
from .wiring import call_checks

RunGraph = Callable[["Host", Any, dict[str, Any]], Awaitable[Any]]

DERIVED: Final = ("graph", "map", "loop")
"""Kinds of nodes whose output is made of what lies below them: where it cannot be stored, a resume makes it again."""


def limits_of(node: Node, policy: Policy) -> tuple[Limits, ...]:
    """The limits of a node and all below it: those that it brings along, and those that its place gives it."""
    return tuple(limits for limits in (getattr(node, "limits", None), policy.limits) if limits is not None)


class Inner(Protocol):
    """A graph that a node runs."""

    def blocked(self) -> bool: ...


class Host(Station):
    """One node run: performs its attempts and hosts its children. Implements `context.Host`.

    A node of a graph and a child called by another node are the same to it: only where the inputs come from differs.
    """

    __slots__ = (
        "_children",
        "attempt",
        "continues",
        "error",
        "fallback",
        "given",
        "graph",
        "in_loop",
        "input_checks",
        "limits",
        "output_check",
        "policy",
        "recorded",
        "run_graph_in",
        "spent",
        "text",
        "value",
        "weight",
        "withheld",
    )

    def __init__(
        self,
        runtime: Runtime,
        run: NodeRun,
        node: Node,
        policy: Policy,
        run_graph_in: RunGraph,
        in_loop: bool,
        above: Host | None = None,
    ) -> None:
        super().__init__(runtime, run, node, above)
        self.policy = policy
        self.limits = limits_of(node, policy)
        for limits in self.limits:
            if limits.counts:
                self.budgets += (runtime.budget(limits, run, self.depth),)
        self.run_graph_in = run_graph_in
        self.in_loop = in_loop
        self.input_checks: dict[str, Check] | None = None
        self.output_check: Check | None = None
        self.fallback: Any = MISSING
        self.attempt = 0
        self.value: Any = MISSING
        self.text: str | None = None  # the output as the codec gave it
        self.withheld = False  # the output is not stored
        self.error: BaseException | None = None
        self.spent = 0.0  # seconds of all attempts and the waits between them
        self.weight = 0
        self.graph: Inner | None = None  # the graph that it runs, while it does
        self._children: Children | None = None
        # In a resumed run: what is recorded of it; whether its outcome was taken from there; whether the children of
        # this attempt may be; whether anything at or below it was called anew.
        self.recorded: Recorded | None = None
        self.given = False
        self.continues = False

    # -- performing what the schedule asks for

    async def start(self, number: int, inputs: dict[str, Any]) -> Ending:
        """Perform an attempt. What has swallowed a cancellation gets it here before anything new begins.

        Nothing begins before all that led to it is stored.
        """
        await anyio.lowlevel.checkpoint_if_cancelled()
        runtime = self.runtime
        if self.run.due is not None:
            await self._rest(self.run.due)
        self.attempt = number
        self.continues = self.continues and number == self.run.attempt
        slot = None if getattr(self.node, "waits", False) else runtime.slot(self.policy, self.weight)
        children = self._children = Children(self, slot)
        runtime.tell(ev.NodeStarted(runtime.now(), self.run.path, runtime.seq, number, self.continues))
        if runtime.journal is not None:
            await runtime.stored()
        job = self.job = Job(
            self.node,
            Context(self),
            inputs,
            self._time_left(),
            runtime.grace,
            self.input_checks,
            self.output_check,
            slot,
            self.in_loop,
            budgets=self.budgets,
            depth=self.depth,
            fresh=number == 1 and not self.continues,
        )
        runtime.at_work[self.run.path] = self.run
        try:
            ending = await attempt(job)
        finally:
            del runtime.at_work[self.run.path]
            self.spent += job.spent
            children.end()
            runtime.desk.ring()
        if runtime.pausing:
            await anyio.lowlevel.checkpoint()  # what swallowed the cancellation of a pause has not ended
        if children.unstarted and ending.status is Status.SUCCEEDED:
            ending = self._warned(ending, children.unstarted)
        if runtime.journal is not None:
            ending = self._encoded(ending)
        if not children.names:
            self._touch()
        self.value, self.error = ending.value, ending.error
        return ending

    async def _rest(self, due: float) -> None:
        """Wait for what is left of the wait before an attempt, when it was in another process that it began."""
        if self.recorded is not None and self.recorded.status is Status.RETRYING and due > self.now():
            await self.runtime.backend.sleep(due - self.now())

    def _encoded(self, ending: Ending) -> Ending:
        """Encode the output for the journal. One that cannot be stored fails the node; nothing would resume it."""
        if ending.status is not Status.SUCCEEDED:
            return ending
        type_ = Any if isinstance(ending.error, Break) else self.node.output_type
        try:
            self.text = encode(ending.value, type_, self.path)
        except Withheld as secret:
            self.text = secret.masked
            self.withheld = True
        except NotStorable as error:
            if self.node.kind in DERIVED:  # a resume makes it again, from what is recorded below
                self.text, self.withheld = None, True
                return ending
            return Ending(Status.FAILED, reason=Reason("error", detail=brief(error)), error=error)
        return ending

    def _touch(self) -> None:
        """Something was called anew, here or below."""
        host: Station | None = self
        if self.runtime.past is not None:
            self.runtime.past.called += 1
            while host is not None and not host.touched:
                host.touched = True
                host = host.above

    def _time_left(self) -> float | None:
        """The time limit of the next attempt: its own, or what is left of that for all attempts."""
        found = [self.policy.limit, *(seconds(limits.run_timeout) for limits in self.limits if limits.run_timeout)]
        if self.policy.total_limit is not None:
            found.append(max(self.policy.total_limit - self.spent, 0.0))
        return min((limit for limit in found if limit is not None), default=None)

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
        for budget in self.budgets:
            if not budget.retry():
                error.add_note(f"no retry is left: the limit for all of them is {budget.limits.retries}")
                return Answered(ask, None)
        self.spent += delay
        runtime, reason, usage = self.runtime, Reason("error", detail=brief(error)), self.take_usage()
        runtime.tell(ev.NodeRetrying(runtime.now(), self.path, runtime.seq, self.attempt, delay, reason, error, usage))
        return Answered(ask, delay)

    async def fall_back(self, inputs: dict[str, Any]) -> Ending:
        """The fallback, a value or a node that is called as the child `<path>/fallback`.

        What it gives must be what the node declares, or else it has failed, too.
        """
        fallback, cause, runtime = self.fallback, self.error, self.runtime
        if cause is not None and not (self.recorded and self.recorded.falling):
            reason = Reason("timeout" if isinstance(cause, NodeTimeout) else "error", detail=brief(cause))
            runtime.tell(ev.NodeFallingBack(runtime.now(), self.path, runtime.seq, reason, cause, self.take_usage()))
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
            ending = Ending(Status.SUCCEEDED, value, error=cause)
            return ending if self.runtime.journal is None else self._encoded(ending)
        return self._no_fallback(f"it gave something else than '{self.path}' declares: {wrong}", cause)

    def _no_fallback(self, why: str, cause: BaseException | None) -> Ending:
        if cause is not None:
            cause.add_note(f"its fallback failed too: {why}")
        return Ending(Status.FAILED, error=cause)

    def settle(self, settle: Settle) -> None:
        """Record that the node run is final, unless that is recorded already. What a pause cuts off is not final."""
        runtime, status = self.runtime, settle.status
        if self.given or runtime.pausing:
            return
        if status is not Status.SUCCEEDED:
            self.value, self.text = MISSING, None
        finished = ev.NodeFinished(
            runtime.now(),
            self.run.path,
            runtime.seq,
            status,
            self.value,
            settle.reason,
            self.error,
            self.take_usage(),
            self.detail,
            self._children.causes(self.error) if self._children is not None and status.bad else (),
            self.withheld and status is Status.SUCCEEDED,
        )
        runtime.tell(finished, self.text)

    # -- as a child, and as a parent

    def spawn(self, node: Any, inputs: Mapping[str, Any] | None, place: Place, policy: Policy) -> Call[Outcome[Any]]:
        """Reserve the place of a child; it starts when the call is awaited."""
        return self._running().reserve(as_node(node), inputs or {}, place, policy)

    def _running(self) -> Children:
        assert self._children is not None, "only a node that was started has a context"
        return self._children

    async def run_graph(self, graph: Any, inputs: dict[str, Any]) -> Any:
        """Run a graph in place, with its slot lent to the nodes of the graph."""
        children = self._running()
        children.check_open()
        return await children.lent(lambda: self.run_graph_in(self, graph, inputs))

    def child(self, node: Node, inputs: dict[str, Any], path: str, title: str, policy: Policy) -> Host:
        """A node run that this one calls. In a resumed run it may be one that was recorded before."""
        runtime = self.runtime
        hashed = None if runtime.journal is None else digest(inputs)
        recorded = runtime.past.take(path) if self.continues and runtime.past is not None else None
        if recorded is not None and not self._is_same(node, path, hashed):
            self._diverged(path, node)
            recorded = None
        run = runtime.record.nodes[path] if recorded else runtime.spawn(self.run, path, node.kind, title, hashed)
        in_loop = self.in_loop or self.node.kind == "loop"
        shared = Policy(group=self.policy.group, priority=self.policy.priority)
        child = Host(runtime, run, node, policy.over(shared), self.run_graph_in, in_loop, self)
        child.weight, child.recorded = self.weight, recorded
        child.input_checks, child.output_check = call_checks(node, inputs), check_for(node.output_type)
        return child

    def _is_same(self, node: Node, path: str, hashed: str | None) -> bool:
        """Whether what is called is what was recorded there."""
        run, past = self.runtime.record.nodes[path], self.runtime.past
        return run.kind == node.kind and run.inputs == hashed is not None and not (past and past.changed(path))

    def _diverged(self, path: str, node: Node) -> None:
        runtime = self.runtime
        was, text = runtime.record.nodes[path], f"'{path}' is called with something else than before"
        if was.kind != node.kind:
            text = f"'{path}' was a {was.kind}, and a {node.kind} is called now"
        if runtime.past is not None and runtime.past.strict:
            raise Diverged(f"run {self.run_id} does not do what it did before (strict_replay): {text}")
        runtime.tell(ev.Decided(runtime.now(), self.path, runtime.seq, "diverged", text))

    def give_back(self) -> bool:
        """Take the outcome from the record, if there is one that still counts. Else go on from where it was."""
        recorded, run = self.recorded, self.run
        if recorded is None:
            return False
        if recorded.succeeded:
            try:
                self.value = run.value = decode(json.dumps(recorded.value), self._stored_type(recorded))
            except StoreError:  # the type was changed since
                return False
            self.error = recorded.error
            self.given = True
        elif recorded.skipped_itself:
            self.given = True
        else:
            self.continues = recorded.continues
        return self.given

    def _stored_type(self, recorded: Recorded) -> Any:
        return Any if isinstance(recorded.error, Break) else self.node.output_type

    async def live(self, schedule: Schedule, inputs: dict[str, Any]) -> Outcome[Any]:
        """Perform all that an open schedule asks for this node run, until it is settled."""
        recorded = self.recorded
        if self.give_back() or (recorded is not None and recorded.failed and not self._made_it_fail()):
            return self.run.outcome
        begun = recorded.begun(self.policy.attempts) if recorded else 0
        index, (command,) = schedule.spawn(self.run.name, self.policy.attempts, begun)
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

    def _made_it_fail(self) -> bool:
        """Whether its failure ended its parent, as it is recorded: then it is called again."""
        return self.above is not None and self.path in self.above.run.causes

    def blocked(self) -> bool:
        """Whether nothing of it is at work: it waits for a person, or all that it waits for does."""
        if self.waiting:
            return True
        if self.graph is not None:
            return self.graph.blocked()
        return self._children is not None and not self.busy and self._children.blocked()

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
