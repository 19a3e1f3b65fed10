"""Performers: one node run and its attempts, from the first to the one that settles it."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from typing import Any, Final

import anyio

from . import events as ev
from .attempt import Ending, Job, attempt
from .call import Place
from .changes import place_of
from .children import Children, Parent
from .codec import Withheld, encode
from .commands import Answered, Ask, Settle
from .context import Context
from .errors import Break, InputError, NotStorable, brief
from .fits import Check
from .gather import ALSO, along_with
from .memos import Remembered, key_of
from .node import Node, as_node
from .node_run import NodeRun
from .outcome import MISSING, Outcome, Reason, Status
from .past import Recorded
from .policy import Cache, Limits, Policy, seconds
from .runtime import Runtime
from .station import Station

DERIVED: Final = ("graph", "map", "loop")
"""Kinds of nodes whose output is made of what lies below them: where it cannot be stored, a resume makes it again."""


def limits_of(node: Node, policy: Policy) -> tuple[Limits, ...]:
    """The limits of a node and all below it: those that it brings along, and those that its place gives it."""
    own = getattr(node, "limits", None)
    if own is None and policy.limits is None:
        return ()
    return tuple(limits for limits in (own, policy.limits) if limits is not None)


class Performer(Station, Parent):
    """One node run and its attempts: start, judge whether to try again, fall back, settle.

    A node of a graph and a child called by another node are the same to it: only where the inputs come from differs.
    """

    __slots__ = (
        "_children",
        "attempt",
        "continues",
        "error",
        "fallback",
        "given",
        "in_loop",
        "input_checks",
        "limits",
        "output_check",
        "policy",
        "reason",
        "recorded",
        "spent",
        "text",
        "value",
        "version",
        "weight",
        "withheld",
    )

    def __init__(
        self, runtime: Runtime, run: NodeRun, node: Node, policy: Policy, in_loop: bool, above: Station | None = None
    ) -> None:
        super().__init__(runtime, run, node, above)
        self.policy = policy
        self.limits = limits_of(node, policy)
        for limits in self.limits:
            if limits.counts:
                self.budgets += (runtime.budget(limits, run, self.depth),)
        self.in_loop = in_loop
        self.input_checks: dict[str, Check] | None = None
        self.output_check: Check | None = None
        self.fallback: Any = MISSING
        self.attempt = 0
        self.value: Any = MISSING
        self.text: str | None = None  # the output as the codec gave it
        self.withheld = False  # the output is not stored
        self.error: BaseException | None = None
        self.reason: Reason | None = None  # why the last attempt failed
        self.version = ""
        self.spent = 0.0  # seconds of all attempts and the waits between them
        self.weight = 0
        self._children: Children | None = None
        # In a resumed run: what is recorded of it; whether its outcome was taken from there; whether the children of
        # this attempt may be; whether anything at or below it was called anew.
        self.recorded: Recorded | None = None
        self.given = False
        self.continues = False

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
            ending = await (attempt(job) if self.policy.cache is None else self._remembered(job, self.policy.cache))
        finally:
            del runtime.at_work[self.run.path]
            self.spent += job.spent
            children.end()
            if runtime.desk.open:
                runtime.desk.ring()
        if runtime.pausing:
            await anyio.lowlevel.checkpoint()  # what swallowed the cancellation of a pause has not ended
        if children.unstarted and ending.status is Status.SUCCEEDED:
            ending = self._warned(ending, children.unstarted)
        if runtime.journal is not None and self.text is None:
            ending = self._encoded(ending)
        if not children.names:
            self._touch()
        self.value, self.error, self.reason = ending.value, ending.error, ending.reason
        return ending

    async def _remembered(self, job: Job, cache: Cache) -> Ending:
        """The output that is remembered for these inputs, else what the attempt gives, which is remembered then."""
        runtime = self.runtime
        key = key_of(f"{runtime.record.graph}/{place_of(self.path)}", self.version, job.inputs)
        if key is None:
            return await attempt(job)
        async with runtime.memos.flight(key):
            found = await runtime.memos.recall(key, self.node.output_type, cache.oldest(runtime.now()))
            if found is not None:
                runtime.tell(ev.Decided(runtime.now(), self.path, runtime.seq, "cached", f"made {_age(found.at)}"))
                return Ending(Status.SUCCEEDED, found.value)
            ending = await attempt(job)
            if runtime.journal is not None:
                ending = self._encoded(ending)
            if ending.status is Status.SUCCEEDED and ending.error is None and not self.withheld:
                await runtime.memos.remember(key, Remembered(ending.value, runtime.now()), self.text)
            return ending

    async def _rest(self, due: float) -> None:
        """Wait for what is left of the wait before an attempt, when it was in another process that it began."""
        if self.recorded is not None and self.recorded.between and due > self.now():
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
        policy = self.policy
        if policy.timeout is None and policy.total_timeout is None and not self.limits:
            return None
        found = [policy.limit, *(seconds(limits.run_timeout) for limits in self.limits if limits.run_timeout)]
        if policy.total_limit is not None:
            found.append(max(policy.total_limit - self.spent, 0.0))
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
        runtime.tell(
            ev.NodeRetrying(
                runtime.now(), self.path, runtime.seq, self.attempt, delay, reason, error, usage, round(self.spent, 6)
            )
        )
        return Answered(ask, delay)

    async def fall_back(self, inputs: dict[str, Any]) -> Ending:
        """The fallback, a value or a node that is called as the child `<path>/fallback`.

        What it gives must be what the node declares, or else it has failed, too.
        """
        fallback, cause, runtime = self.fallback, self.error, self.runtime
        if cause is not None and not (self.recorded and self.recorded.falling):
            reason = self.reason or Reason("error", detail=brief(cause))
            causes, usage = self._causes(), self.take_usage()
            runtime.tell(ev.NodeFallingBack(runtime.now(), self.path, runtime.seq, reason, cause, usage, causes))
        if not callable(fallback) and not isinstance(fallback, Node):
            return self._instead(fallback, cause)
        node = as_node(fallback)
        given = {k: v for k, v in {**inputs, "error": cause}.items() if k in node.parameters}
        before = self._children
        children = self._children = Children(self, before=before)
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
        if cause is not None and outcome.error is not None:
            along_with(cause, [*getattr(cause, ALSO, ()), outcome.error])
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
            self._causes() if status.bad else (),
            self.withheld and status is Status.SUCCEEDED,
        )
        runtime.tell(finished, self.text)

    def _causes(self) -> tuple[str, ...]:
        """The children that made it fail, those of its recorded attempt included."""
        found = self._children.causes(self.error) if self._children is not None else ()
        return tuple(dict.fromkeys((*self.run.causes, *found)))


def _age(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
