"""Policies: how a node is tried, for how long, and when a join starts. Plain data; the scheduler reads it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import ClassVar, Final, TypeAlias

from .errors import Permanent, Skip

Seconds: TypeAlias = float | int | timedelta
"""A duration: seconds, or a timedelta."""

RetryOn: TypeAlias = type[BaseException] | Iterable[type[BaseException]] | Callable[[Exception], bool]


def seconds(duration: Seconds, what: str = "a duration") -> float:
    """The duration in seconds. Raises ValueError when it is negative or not a number."""
    value = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if not value >= 0:
        raise ValueError(f"{what} must be at least 0 seconds, not {duration!r}")
    return value


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a failing node is tried, and how long is waited in between.

    attempts: the number of tries in all, at least 1 (1: no retry). delay: seconds before the second try; each later
    wait is `factor` times the one before, at most `max_delay`. jitter: up to this share (0 to 1) is taken off or put
    on a wait, drawn from a seed of run and path, so that a replay waits the same. on: exception types, or a
    predicate, that say which failures are worth another try; default: every Exception.

    An exception with a `retry_after` attribute (seconds) is waited for at least so long. Never retried, whatever
    `on` says: `Permanent` errors, `Skip`, cancellation.
    """

    attempts: int = 3
    delay: Seconds = 0.0
    factor: float = 2.0
    max_delay: Seconds = 60.0
    jitter: float = 0.0
    on: RetryOn = Exception

    def __post_init__(self) -> None:
        if isinstance(self.attempts, bool) or not isinstance(self.attempts, int) or self.attempts < 1:
            raise ValueError(f"Retry.attempts must be a whole number of at least 1, not {self.attempts!r}")
        seconds(self.delay, "Retry.delay")
        seconds(self.max_delay, "Retry.max_delay")
        if not 0 <= self.jitter <= 1:
            raise ValueError(f"Retry.jitter must lie between 0 and 1, not {self.jitter!r}")
        if not self.factor > 0:
            raise ValueError(f"Retry.factor must be greater than 0, not {self.factor!r}")
        if isinstance(self.on, type):
            if not issubclass(self.on, BaseException):
                raise TypeError(f"Retry.on must name exception types, not {self.on!r}")
        elif not callable(self.on):
            object.__setattr__(self, "on", tuple(self.on))

    def wants(self, error: BaseException) -> bool:
        """Whether `error` is worth another try. May call the user's predicate, and raise what that raises."""
        if isinstance(error, Permanent | Skip) or not isinstance(error, Exception):
            return False
        if isinstance(self.on, type):
            return isinstance(error, self.on)
        if isinstance(self.on, tuple):
            return isinstance(error, self.on)
        return bool(self.on(error))  # type: ignore[operator]  # __post_init__ leaves types, tuples and callables

    def wait(self, attempt: int, error: BaseException | None = None, seed: str = "") -> float:
        """Seconds to wait after the failed `attempt` (1-based)."""
        try:
            wait = min(seconds(self.delay) * self.factor ** (attempt - 1), seconds(self.max_delay))
        except OverflowError:  # some thousand attempts on
            wait = seconds(self.max_delay) if seconds(self.delay) else 0.0
        if self.jitter:
            wait *= 1 + self.jitter * random.Random(f"{seed}:{attempt}").uniform(-1, 1)
        after = getattr(error, "retry_after", None)
        return max(wait, float(after)) if isinstance(after, int | float) and math.isfinite(after) else wait


@dataclass(frozen=True, slots=True)
class Join:
    """When a node with several parents starts.

    `Join.ALL` (default) when every parent is final; `Join.DONE` likewise, and tolerates whatever they ended with;
    `Join.ANY` and `Join.at_least(k)` as soon as so many data parents succeeded (the rest read as skipped).
    """

    ALL: ClassVar[Join]
    DONE: ClassVar[Join]
    ANY: ClassVar[Join]

    quorum: int | None = None
    tolerant: bool = False

    @classmethod
    def at_least(cls, k: int) -> Join:
        """Start as soon as `k` data parents succeeded."""
        if k < 1:
            raise ValueError(f"Join.at_least wants a number of at least 1, not {k!r}")
        return cls(quorum=k)

    def __str__(self) -> str:
        if self.tolerant:
            return "done"
        return "all" if self.quorum is None else "any" if self.quorum == 1 else f"at least {self.quorum}"


Join.ALL = Join()
Join.DONE = Join(tolerant=True)
Join.ANY = Join(quorum=1)


_COUNTS: Final = (
    *("nodes", "depth", "retries", "tokens", "model_calls", "tool_calls"),
    *("input_tokens", "output_tokens"),
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run, or a node run with everything below it, may take. None: no limit.

    run_timeout: seconds (or timedelta) from start to end, without the time that people are waited for. nodes: how many
    node runs may begin. depth: how deep they may lie below it. retries: how many attempts after the first, of all
    nodes together. tokens (input and output), input_tokens, output_tokens, cost (USD), model_calls, tool_calls: when
    one is used up, model and tool calls are refused with LimitExceeded; nodes that make none still run. A model whose
    price is not known is refused under a cost limit.

    Raises ValueError for what is negative or no number.
    """

    run_timeout: Seconds | None = None
    nodes: int | None = None
    depth: int | None = None
    retries: int | None = None
    tokens: int | None = None
    cost: float | None = None
    model_calls: int | None = None
    tool_calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.run_timeout is not None:
            seconds(self.run_timeout, "run_timeout")
        if self.cost is not None and not (isinstance(self.cost, int | float) and self.cost >= 0):
            raise ValueError(f"Limits.cost must be a number of USD of at least 0, not {self.cost!r}")
        for name in _COUNTS:
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise ValueError(f"Limits.{name} must be a whole number of at least 0, not {value!r}")

    @property
    def counts(self) -> bool:
        """Whether anything but time is limited."""
        return self != Limits(self.run_timeout)


@dataclass(frozen=True, slots=True)
class Cache:
    """A node's output is remembered by its inputs, its place in the graph and its `version`, and taken from there.

    In a run equal calls are made once, also those at the same time; with a store, in later runs, too. max_age: seconds
    (or timedelta) after which it counts no more (default: never). Change `version=` when what the node does changes.
    What cannot be stored or holds a secret is made again in every run.
    """

    max_age: Seconds | None = None

    def __post_init__(self) -> None:
        if self.max_age is not None:
            seconds(self.max_age, "max_age")

    def oldest(self, now: float) -> float:
        """What was made before that counts no more (seconds since the epoch)."""
        return -math.inf if self.max_age is None else now - seconds(self.max_age)


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of a node that a graph may also set for all its nodes; a node's own win, field by field.

    retry: a `Retry`. timeout: seconds (or timedelta) for one attempt. total_timeout: for all attempts and the waits
    between them (waiting for a slot counts to neither). group: of the run's `groups`, which limits how many of its
    nodes are at work at a time. priority: who is first when nodes wait for a slot, the higher the earlier (default 0;
    among equals, the longest remaining path). limits: a `Limits` for the node and everything below it. cache: a
    `Cache`. None means "not set here".
    """

    retry: Retry | None = None
    timeout: Seconds | None = None
    total_timeout: Seconds | None = None
    group: str | None = None
    priority: float | None = None
    limits: Limits | None = None
    cache: Cache | None = None

    def __post_init__(self) -> None:
        if self.cache is not None and not isinstance(self.cache, Cache):
            raise TypeError(f"cache must be a flowgraph.Cache, not {self.cache!r}: write cache=Cache(max_age=3600)")
        if self.limits is not None and not isinstance(self.limits, Limits):
            raise TypeError(f"limits must be a flowgraph.Limits, not {self.limits!r}: write limits=Limits(tokens=1000)")
        if self.retry is not None and not isinstance(self.retry, Retry):
            raise TypeError(f"retry must be a flowgraph.Retry, not {self.retry!r}: write retry=Retry(attempts=3)")
        if self.timeout is not None:
            seconds(self.timeout, "timeout")
        if self.total_timeout is not None:
            seconds(self.total_timeout, "total_timeout")

    def over(self, lower: Policy) -> Policy:
        """This policy, with what it leaves unset taken from `lower`."""
        missing = {f.name: getattr(lower, f.name) for f in fields(self) if getattr(self, f.name) is None}
        return replace(self, **missing)

    @property
    def attempts(self) -> int:
        """How often a node is tried in all."""
        return self.retry.attempts if self.retry else 1

    @property
    def limit(self) -> float | None:
        """The time limit of one attempt in seconds."""
        return None if self.timeout is None else seconds(self.timeout)

    @property
    def total_limit(self) -> float | None:
        """The time limit of all attempts in seconds."""
        return None if self.total_timeout is None else seconds(self.total_timeout)
