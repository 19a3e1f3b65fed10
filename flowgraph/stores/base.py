"""The protocol of a store: where the journals of runs live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

SCHEMA: Final = 1
"""The version of what is stored. A store refuses what a newer flowgraph has written, and migrates what is older."""


@dataclass(frozen=True, slots=True)
class Head:
    """What a store knows of a run without reading its journal.

    status: of the run, as its last event left it: "running" (at work, or broken off when nobody owns it), "paused",
    "succeeded", "failed" or "cancelled". started, updated: seconds since the epoch. length: the number of its events.
    due: when the first open gate of a paused run has to be seen to. forked_from: the id of the run that it continues.
    owner: who is writing it right now ("" nobody); filled in by the store, and ignored when it is given one.
    """

    run_id: str
    graph: str
    status: str
    started: float
    updated: float
    length: int = 0
    due: float | None = None
    forked_from: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """The sole right to write a run, until it is released or the process dies.

    epoch: rises with every claim, and never comes twice in a store.
    """

    run_id: str
    owner: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What is added to a run, all or nothing.

    rows: events as JSON texts, so without a raw NUL or half a surrogate pair; the first has the number `first`, which
    is how many are stored (numbers begin with 0). values: digest → JSON text of what the rows refer to; a digest that
    is there already is the same text, and is not stored again. head: the run's, as it is after the rows; its run_id,
    length and owner are ignored, since the store knows better.
    """

    claim: Claim
    head: Head
    first: int
    rows: Sequence[str]
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Journal:
    """A run as it is stored. values: those that its rows refer to."""

    head: Head
    rows: list[str]
    values: dict[str, str]


@dataclass(frozen=True, slots=True)
class Memo:
    """An output that was remembered at `at` (seconds since the epoch), as JSON text."""

    text: str
    at: float


class Store(Protocol):
    """Where journals live. The methods block, and may be called from any thread.

    Every one may raise StoreError: it cannot be read or written, is damaged, is something else, or was written by a
    newer flowgraph. What a failed call was to write is not there at all, and what was there stays.
    """

    @property
    def name(self) -> str:
        """What errors call it: the file, or the address without its password."""
        ...

    @property
    def instant(self) -> bool:
        """Whether its methods return at once, so that no thread is needed to call them."""
        ...

    def claim(self, run_id: str, new: Head | None = None) -> Claim:
        """Become the one that writes the run; `new` makes it, without events.

        Raises RunBusy, which names the owner; RunNotFound when there is none and `new` is None; RunExists when there
        is one and `new` is not None. An owner whose process or connection has died owns nothing.
        """
        ...

    def release(self, claim: Claim) -> None:
        """Give a claim back. Does nothing when it is not held any more.

        It is given back even when StoreError is raised, since that could not be noted.
        """
        ...

    def write(self, batches: Sequence[Batch]) -> None:
        """Add to runs, in one transaction; several batches may be of one run.

        Raises StoreError when a claim is held no more or rows do not follow: it names the run, and nothing of the
        whole call is stored.
        """
        ...

    def read(self, run_id: str) -> Journal:
        """A run, whoever owns it. Raises RunNotFound."""
        ...

    def heads(self) -> list[Head]:
        """All runs, the latest start first."""
        ...

    def delete(self, run_id: str) -> None:
        """Forget a run, and the values that no other run refers to. Raises RunNotFound, RunBusy."""
        ...

    def recall(self, key: str) -> Memo | None:
        """What was remembered under `key`."""
        ...

    def remember(self, key: str, memo: Memo) -> None:
        """Remember an output under `key`, in place of what was there."""
        ...

    def forget(self, before: float) -> int:
        """Forget what was remembered earlier than that (seconds since the epoch): how many."""
        ...

    def close(self) -> None:
        """Let go of everything, claims included. Every later use raises StoreError, but for `release` and `close`."""
        ...
