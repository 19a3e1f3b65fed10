"""How node runs end: statuses, reasons, usage and outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Annotated, Final, Generic, Literal, TypeAlias, TypeVar

from .codec import StoredError
from .errors import Break, NoOutput
from .missing import MISSING as MISSING

T = TypeVar("T")


class Status(StrEnum):
    """Where a node run, or a run, stands. A run is `running` and then one of succeeded, failed, cancelled, paused."""

    PENDING = "pending"
    RUNNING = "running"
    RETRYING = "retrying"
    WAITING = "waiting"
    PAUSED = "paused"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    SKIPPED = "skipped"
    UPSTREAM_FAILED = "upstream_failed"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """Whether nothing more can happen to it."""
        return self in FINAL

    @property
    def bad(self) -> bool:
        """Whether it counts as a failure for what depends on it."""
        return self in BAD


FINAL: Final = frozenset(
    {
        Status.SUCCEEDED,
        Status.FAILED,
        Status.TIMED_OUT,
        Status.SKIPPED,
        Status.UPSTREAM_FAILED,
        Status.CANCELLED,
    }
)
BAD: Final = frozenset({Status.FAILED, Status.TIMED_OUT, Status.UPSTREAM_FAILED, Status.CANCELLED})

ReasonKind: TypeAlias = Literal[
    "error",  # the node raised
    "timeout",  # an attempt ran past its limit
    "limit",  # a limit of the run, or of a part of it, was used up
    "skip",  # the node raised Skip
    "condition",  # its `when` was false
    "condition_error",  # its `when` raised
    "not_chosen",  # a choice took other targets
    "choice_ended",  # a choice above ended the branch, or its targets produced nothing
    "choice_error",  # a choice got a label without a case
    "parent_skipped",  # a parent that it requires was skipped
    "parents_skipped",  # none of the parents that it needs succeeded
    "parent_failed",  # a parent failed
    "quorum",  # too few parents can still succeed
    "cancelled",  # the run, or the node itself, was cancelled
]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a node run ended otherwise than by success.

    kind: one of `ReasonKind`. node: the name of the parent or chooser that caused it, beside this node ("" when
    nobody else did). detail: in words, such as the condition with its values, the label, the error's kind and text.
    """

    kind: ReasonKind
    node: str = ""
    detail: str = ""

    def __str__(self) -> str:
        return _WORDS[self.kind].format(node=self.node, detail=self.detail).rstrip(": ")


_WORDS: Final[dict[str, str]] = {
    "error": "it raised {detail}",
    "timeout": "it ran past its time limit: {detail}",
    "limit": "{detail}",
    "skip": "it skipped itself: {detail}",
    "condition": "its condition was false: {detail}",
    "condition_error": "its condition raised: {detail}",
    "not_chosen": "'{node}' did not choose it: {detail}",
    "choice_ended": "nothing came of what '{node}' chose: {detail}",
    "choice_error": "the choice of '{node}' failed: {detail}",
    "parent_skipped": "'{node}', which it needs, was skipped",
    "parents_skipped": "none of the nodes that it needs succeeded: {detail}",
    "parent_failed": "'{node}' {detail}",
    "quorum": "too few of its parents could succeed: {detail}",
    "cancelled": "it was cancelled: {detail}",
}


@dataclass(frozen=True, slots=True)
class Usage:
    """What model and tool calls took. Adds up with `+`.

    Tokens and calls are counts; `cost` is in USD, None when no price is known for any of it; `partial` says that
    some count or price is missing, so that the true figure is higher.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    cost: float | None = None
    partial: bool = False

    def __add__(self, other: Usage) -> Usage:
        counts = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)[:6]}
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        partial = self.partial or other.partial
        return Usage(**counts, cost=sum(costs) if costs else None, partial=partial)

    def __bool__(self) -> bool:
        return self != NO_USAGE

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens


NO_USAGE: Final = Usage()
"""Nothing, as one object for all."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """How a node run ended. A node parameter annotated `fg.Outcome[T]` gets it whatever its parent ended with.

    `value` is None unless it succeeded (and may be None then, too: look at `ok`).
    """

    status: Status
    value: T | None = None
    reason: Reason | None = None
    error: Annotated[BaseException | None, StoredError()] = field(default=None, compare=False)
    attempts: int = 0
    path: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is an output."""
        return self.status is Status.SUCCEEDED

    def unwrap(self) -> T:
        """The output. Raises the error that the node ended with (or its `Break`), or NoOutput with the reason."""
        if self.status is Status.SUCCEEDED and not isinstance(self.error, Break):
            return self.value  # type: ignore[return-value]  # T may include None
        if self.error is not None:
            raise self.error
        why = f": {self.reason}" if self.reason else ""
        raise NoOutput(f"'{self.path}' has no output, it is {self.status}{why}")


class MaybeMarker:
    """Marks `Maybe[T]` among annotations."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "fg.Maybe"


Maybe = Annotated[T | None, MaybeMarker()]
"""A parameter that gets None when what it is bound to was skipped: `def brief(draft: str, legal: fg.Maybe[str])`."""
