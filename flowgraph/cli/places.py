"""Where runs are: the store that is named, the run in it that is meant, and the graph that it was begun with."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from ..errors import InputError, RunNotFound
from ..graph import Graph
from ..keeping import record_of
from ..record import Run
from ..stores import Head, Store, open_store
from ..stores.addresses import parse
from .target import TargetError, load_target

VARIABLE: Final = "FLOWGRAPH_STORE"
STATES: Final = ("running", "broken_off", "paused", "succeeded", "failed", "cancelled")
"""What `state` gives."""


def named(store: str | None) -> str:
    """The store that is there already. Raises InputError; a mistyped name makes no file."""
    if not store:
        raise InputError(f"say where the runs are kept: --store FILE (or set ${VARIABLE})")
    place = parse(store)
    if isinstance(place, Path) and not place.exists():
        raise InputError(f"there is no store '{store}': `flowgraph run TARGET --store {store}` makes it")
    return store


@contextmanager
def opened(store: str | None) -> Iterator[Store]:
    """The store, for a look into it. Raises InputError, StoreError."""
    with closing(open_store(named(store))) as found:
        yield found


def find(store: Store, name: str) -> Head:
    """The run that is meant: by its id, the beginning of it, or 'last'. Raises RunNotFound, InputError."""
    heads = store.heads()
    found = [head for head in heads if head.run_id == name]
    if not found and name == "last":
        found = heads[:1]
    if not found and name:
        found = [head for head in heads if head.run_id.startswith(name)]
    if not heads:
        raise RunNotFound(f"there are no runs in {store.name}")
    if not found:
        latest = ", ".join(head.run_id for head in heads[:3])
        raise RunNotFound(f"there is no run '{name}' in {store.name}; the latest are {latest}")
    if len(found) > 1:
        ids = ", ".join(head.run_id for head in found[:5])
        raise InputError(f"'{name}' is the beginning of {len(found)} runs ({ids}): give more of it")
    return found[0]


def load(store: str | None, name: str) -> tuple[Head, Run]:
    """A run, and what the store knows of it."""
    with opened(store) as found:
        journal = found.read(find(found, name).run_id)
    return journal.head, record_of(journal)


def state(head: Head) -> str:
    """The status of a run; "broken_off" when it should be at work and nobody owns it."""
    return "broken_off" if head.status == "running" and not head.owner else head.status


def states(given: Iterable[str]) -> tuple[str, ...]:
    """Statuses of runs as they were typed, by commas too. Raises InputError for what is none."""
    found = tuple(word.strip().replace("-", "_") for one in given for word in one.split(","))
    if unknown := [state for state in found if state not in STATES]:
        raise InputError(f"there are no runs of status '{unknown[0]}': say {', '.join(STATES)}")
    return found


def graph_of(run: Run, target: str | None) -> Graph:
    """The graph of a kept run: where it is said to be, or where the run was begun with it."""
    if target:
        return load_target(target)
    if not run.target:
        raise InputError(f"run {run.id} was not begun by `flowgraph run`: say where its graph is, file.py:name")
    try:
        return load_target(run.target)
    except TargetError as error:
        raise TargetError(f"{error}. Run {run.id} was begun with {run.target}: say where its graph is now") from None


def line(store: str | None, verb: str, *words: str) -> str:
    """A command line that can be pasted into a shell. A password is not shown."""
    parts = ["flowgraph", verb, *(shlex.quote(word) for word in words)]
    if store and store != os.environ.get(VARIABLE):
        parts += ["--store", shlex.quote(without_password(store))]
    return " ".join(parts)


def without_password(store: str) -> str:
    """An address as it may be shown."""
    return re.sub(r"(://[^:/@]*:).*@", r"\1***@", store)


def owned(heads: Sequence[Head]) -> int:
    """How many of these somebody writes right now."""
    return sum(bool(head.owner) for head in heads)
