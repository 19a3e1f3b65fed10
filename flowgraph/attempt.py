"""One attempt of one node. Each function of the chain adds one concern and is named for it.

slot → limits → time limit → validation → call; around them, `attempt` turns whatever happened into an `Ending`.
(The journal comes before the slot. Retries are the scheduler's, so that they can be durable, too.)
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import anyio

from .budget import Budget
from .context import Context
from .errors import Break, LimitExceeded, NodeCancelled, NodeTimeout, OutputError, Skip, brief, words_of
from .fits import Check
from .grace import Grace
from .node import Node
from .outcome import MISSING, Reason, Status, Usage
from .slots import Slot
from .time_limit import TimeLimit
from .wiring import Checks, check_inputs


class Ending(NamedTuple):
    """How an attempt ended. error is a `Break` when a succeeded attempt ends the loop around it."""

    status: Status
    value: Any = MISSING
    reason: Reason | None = None
    error: BaseException | None = None


@dataclass(slots=True)
class Job:
    """What one attempt needs."""

    node: Node
    ctx: Context[Any]
    inputs: dict[str, Any]
    limit: float | None = None
    grace: Grace | None = None
    input_checks: Checks | None = None
    output_check: Check | None = None
    slot: Slot | None = None
    in_loop: bool = False
    spent: float = 0.0  # seconds that the attempt took; only kept where time is limited
    time: TimeLimit | None = None  # while the attempt has one
    budgets: tuple[Budget, ...] = ()
    depth: int = 0  # below the run
    fresh: bool = True  # the node run begins for the first time


async def attempt(job: Job) -> Ending:
    """Run the attempt. Never raises but for cancellation from outside, KeyboardInterrupt and SystemExit."""
    try:
        plain = job.slot is None and job.limit is None and not job.budgets  # as most nodes are
        body = _validated if plain else _in_slot
        return Ending(Status.SUCCEEDED, await body(job))
    except Skip as signal:
        return Ending(Status.SKIPPED, reason=Reason("skip", detail=words_of(signal)))
    except Break as signal:
        if job.in_loop:
            value = None if signal.value is MISSING else signal.value
            return Ending(Status.SUCCEEDED, value, error=signal)
        error = RuntimeError("fg.Break was raised outside of a loop")
        return Ending(Status.FAILED, reason=Reason("error", detail=brief(error)), error=error)
    except LimitExceeded as error:
        return Ending(Status.FAILED, reason=Reason("limit", detail=words_of(error)), error=error)
    except NodeTimeout as error:
        if job.limit is not None and error.args and error.args[0] is job:
            limit = f"{job.limit:g} s"
            return Ending(Status.TIMED_OUT, reason=Reason("timeout", detail=limit), error=_timeout(job, error))
        return Ending(Status.FAILED, reason=Reason("error", detail=brief(error)), error=error)
    except Exception as error:
        return Ending(Status.FAILED, reason=Reason("error", detail=brief(error)), error=error)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        if cancelled_from_outside() or _holds_an_interrupt(error):
            raise
        if not isinstance(error, anyio.get_cancelled_exc_class()):
            return Ending(Status.FAILED, reason=Reason("error", detail=brief(error)), error=error)
        own = NodeCancelled(f"'{job.ctx.path}' cancelled itself")
        return Ending(Status.CANCELLED, reason=Reason("cancelled", detail="by itself"), error=own)


def _holds_an_interrupt(error: BaseException) -> bool:
    group = error if isinstance(error, BaseExceptionGroup) else None
    return group is not None and group.subgroup((KeyboardInterrupt, SystemExit)) is not None


def cancelled_from_outside() -> bool:
    """Whether a cancel scope around us is cancelled (and not just some code that raised the exception)."""
    return anyio.current_effective_deadline() == -math.inf


def _timeout(job: Job, signal: NodeTimeout) -> NodeTimeout:
    error = NodeTimeout(f"'{job.ctx.path}' ran past its time limit of {job.limit:g} s")
    error.__cause__ = signal.__cause__
    return error


async def _in_slot(job: Job) -> Any:
    if job.slot is None:
        return await _within_limits(job)
    await job.slot.take()
    try:
        return await _within_limits(job)
    finally:
        job.slot.give_back()


async def _within_limits(job: Job) -> Any:
    """Within the limits of the node run and of those above it. Raises LimitExceeded before anything is paid for."""
    for budget in job.budgets:
        budget.begin(job.depth, job.fresh)
    spends: Usage | None = getattr(job.node, "spends", None) if job.budgets else None
    if spends is None:
        return await _in_time(job)
    await _refuse_unpriced(job)
    admitted: list[Budget] = []
    try:
        for budget in job.budgets:
            budget.admit(spends)
            admitted.append(budget)
        return await _in_time(job)
    except BaseException:
        for budget in admitted:
            budget.take_back(spends)
        raise


async def _refuse_unpriced(job: Job) -> None:
    """A cost limit cannot hold what has no known price."""
    priced: Callable[[], Awaitable[bool]] | None = getattr(job.node, "priced", None)
    limited = next((budget for budget in job.budgets if budget.limits.cost is not None), None)
    if limited is not None and priced is not None and not await priced():
        where = f"'{limited.path}'" if limited.path else "the run"
        what = getattr(job.node, "title", "") or job.node.name
        raise LimitExceeded(f"no price is known for {what}, so the cost limit of {where} refuses it")


async def _in_time(job: Job) -> Any:
    """Under the time limit; what a node returns or raises after it has passed no longer counts."""
    if job.limit is None:
        return await _validated(job)
    late: Exception | None = None
    due = job.grace.expect(job.ctx.path, job.limit) if job.grace else None
    begun = anyio.current_time()
    with anyio.move_on_after(job.limit) as scope:
        job.time = TimeLimit(scope)
        if job.slot is not None:
            job.slot.limit = scope
        if due is not None:
            due.limit = scope
        try:
            value = await _validated(job)
        except Exception as error:
            if not scope.cancel_called:
                raise
            late = error
        finally:
            job.spent = anyio.current_time() - begun - (job.slot.waited if job.slot else 0.0) - job.time.waited
            job.time = None
            if due is not None:
                due.over = True
    if scope.cancel_called:
        raise NodeTimeout(job) from late
    return value


async def _validated(job: Job) -> Any:
    if job.input_checks:
        check_inputs(job.input_checks, job.inputs)
    value = await job.node.call(job.ctx, job.inputs)
    if job.output_check is not None and (wrong := job.output_check(value)):
        raise OutputError(f"'{job.ctx.path}' returned something other than it declares: {wrong}")
    return value
