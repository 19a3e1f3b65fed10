"""The command that deletes kept runs: prune."""

from __future__ import annotations

import time
from collections import Counter
from typing import Annotated

import typer

from ..errors import InputError, RunBusy, RunNotFound
from ..stores import Head, Store
from . import places, words
from .exits import usage_errors
from .options import Store as StoreOption

ENDED = ("succeeded", "failed", "cancelled")
"""What is deleted when nobody says which. A run that can only be finished by a person or a resume has to be named."""


def prune(
    store: StoreOption = None,
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="AGE", help="Last written before that: 30d, 12h, 45min.")
    ] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(
            "--status",
            help=f"Only these: {', '.join(places.STATES[1:])}. Repeatable. Default: those that have ended.",
        ),
    ] = None,
    keep: Annotated[
        int | None, typer.Option("--keep", min=0, help="The latest runs of each graph that stay in any case.")
    ] = None,
    memos: Annotated[bool, typer.Option("--memos", help="Forget remembered outputs (of cached nodes), too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
) -> None:
    """Delete runs that are not needed any more. One that somebody is writing is never touched."""
    with usage_errors():
        states = places.states(status or ENDED)
        before = time.time() - (words.age(older_than) if older_than else 0.0)
        which = older_than is not None or status is not None or keep is not None
        if not which and not memos:
            raise InputError("say what to delete: --older-than AGE, --status STATUS, --keep N or --memos")
        with places.opened(store) as found:
            if which:
                heads = found.heads()
                chosen = _chosen(heads, states, before, keep or 0)
                _say(heads, chosen if dry_run else _deleted(found, chosen), dry_run)
            if memos and not dry_run:
                typer.echo(f"forgot {words.counted(found.forget(before), 'remembered output')}")


def _chosen(heads: list[Head], states: tuple[str, ...], before: float, keep: int) -> list[Head]:
    """heads: the latest first."""
    chosen, met = [], Counter[str]()
    for head in heads:
        met[head.graph] += 1
        if met[head.graph] > keep and not head.owner and places.state(head) in states and head.updated <= before:
            chosen.append(head)
    return chosen


def _deleted(store: Store, chosen: list[Head]) -> list[Head]:
    gone = []
    for head in chosen:
        try:
            store.delete(head.run_id)
        except RunBusy:
            typer.echo(f"run {head.run_id} has been taken up meanwhile: it stays", err=True)
        except RunNotFound:
            continue
        else:
            gone.append(head)
    return gone


def _say(heads: list[Head], gone: list[Head], dry_run: bool) -> None:
    for head in gone if dry_run else ():
        typer.echo(f"{head.run_id}  {head.graph}  {places.state(head)}  {words.clock(head.updated)}")
    counts = Counter(places.state(head).replace("_", " ") for head in gone)
    told = f" ({', '.join(f'{count} {state}' for state, count in counts.items())})" if gone else ""
    at_work = places.owned(heads)
    stay = f"; {at_work} at work" if at_work else ""
    verb = "would delete" if dry_run else "deleted"
    left = len(heads) - len(gone)
    typer.echo(f"{verb} {words.counted(len(gone), 'run')}{told}, {left} {'would ' if dry_run else ''}stay{stay}")
