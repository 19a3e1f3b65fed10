"""What a schedule says and hears: commands come out, events go in. Plain tuples of numbers and words."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, TypeAlias

from .outcome import Reason, Status

# -- commands


class Start(NamedTuple):
    """Run an attempt (1-based) of a node; answer with `Ended`."""

    node: int
    attempt: int


class Question(Enum):
    """What the driver is asked to evaluate."""

    WHEN = "when"  # a node's condition; answer: bool
    CHOICE = "choice"  # which case a choice takes; subject: the choice; answer: number of the case
    RETRY = "retry"  # whether a failed attempt is worth another; answer: seconds to wait, or None


class Ask(NamedTuple):
    """Evaluate something a user wrote; answer with `Answered`."""

    question: Question
    node: int
    subject: int = 0


class Sleep(NamedTuple):
    """Wait so many seconds before the next attempt; answer with `Woke`."""

    node: int
    delay: float


class FallBack(NamedTuple):
    """Run the fallback of a node whose last attempt failed; answer with `Ended`."""

    node: int


class Settle(NamedTuple):
    """A fact, to be recorded: the node is final. Nothing is to be answered."""

    node: int
    status: Status
    reason: Reason | None


class Decide(NamedTuple):
    """A fact, to be recorded: a choice took these targets, or a condition was true."""

    node: int
    what: str
    detail: str
    taken: tuple[int, ...]


Work: TypeAlias = Start | Ask | Sleep | FallBack
Command: TypeAlias = Work | Settle | Decide

# -- events


class Ended(NamedTuple):
    """An attempt, or a fallback, ended."""

    node: int
    status: Status
    reason: Reason | None = None


class Answered(NamedTuple):
    """The answer to an `Ask`. error: it could not be had, for this reason."""

    ask: Ask
    answer: bool | int | float | None
    detail: str = ""
    error: Reason | None = None


class Woke(NamedTuple):
    """A `Sleep` is over."""

    node: int


class Stopped(NamedTuple):
    """Nothing of the scope runs any more, by somebody's will: what is not final ends cancelled."""

    detail: str


Event: TypeAlias = Ended | Answered | Woke | Stopped
