"""What every store says in the same words: who owns a run, and why something is refused."""

from __future__ import annotations

import os
import platform

from ..errors import StoreError
from .base import SCHEMA, Claim


def this_process() -> str:
    """The owner that claims of this process name: "process 1234 on host box"."""
    return f"process {os.getpid()} on host {platform.node() or 'unknown'}"


def closed(store: str) -> StoreError:
    """A store was used after its end."""
    return StoreError(f"the store {store} is closed")


def lost(claim: Claim, store: str, why: str) -> StoreError:
    """A claim is held no more; why: who or what ended it."""
    return StoreError(f"run {claim.run_id} in {store} is not ours to write any more ({why}): nothing was stored")


def does_not_follow(run_id: str, store: str, first: int, length: int) -> StoreError:
    """Rows begin at number `first` where `length` are stored."""
    return StoreError(
        f"run {run_id} in {store} has {length} events, so the next is number {length} and not {first}: "
        "nothing was stored"
    )


def short(run_id: str, store: str, length: int, found: int) -> StoreError:
    """The journal of a run has gaps, or ends too early."""
    return StoreError(
        f"the journal of run {run_id} in {store} is damaged: {length} events were stored and {found} are there. "
        "Put back a copy of the store, or delete the run"
    )


def without_value(run_id: str, store: str, digest: str) -> StoreError:
    """A value that a journal refers to is not there."""
    return StoreError(
        f"the journal of run {run_id} in {store} is damaged: its value {digest} is missing. "
        "Put back a copy of the store, or delete the run"
    )


def too_new(store: str, version: int) -> StoreError:
    """The tables are of a version that this code does not know."""
    return StoreError(
        f"the store {store} was written by a newer flowgraph (its version is {version}, this one knows {SCHEMA}): "
        "upgrade flowgraph-agents, or use another store"
    )
