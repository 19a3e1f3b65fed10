"""Commands that run: run, resume, fork."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from ..checks import checked
from ..errors import FlowgraphError, InputError, RunBusy
from ..forking import fork_journal
from ..record import Run
from ..runtime import RunOptions, new_run_id
from ..stores import Head
from . import places, words
from .exits import FAILED, said, usage_errors
from .gates import answers_of
from .inputs import gather_inputs
from .options import (
    Concurrency,
    Events,
    Force,
    InputFile,
    Inputs,
    KnownTarget,
    Picture,
    RunName,
    Store,
    Strict,
    Target,
)
from .showing import check_picture, code_of, finish, run_and_show, what_next
from .target import TargetError, load_target


def run(
    target: Target,
    one: Inputs = None,
    inputs: InputFile = None,
    store: Store = None,
    run_id: Annotated[
        str | None, typer.Option("--run-id", help="A name for the run; one that is kept goes on.")
    ] = None,
    draw: Picture = None,
    json: Events = False,
    max_concurrency: Concurrency = None,
) -> None:
    """Run a graph, show how it goes, and print its output. With --store it can be resumed."""
    with usage_errors():
        check_picture(draw)
        if run_id is not None and not store:
            raise InputError("--run-id is a name in a store: add --store FILE")
        graph = load_target(target)
        given = gather_inputs(graph, one or (), inputs)
        options: RunOptions = {"store": store, "run_id": run_id, "target": target, "max_concurrency": max_concurrency}
        shown = run_and_show(graph, given, options, json=json)
    finish(shown, draw, json=json, store=store)


def resume(
    name: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="The run: its id, the beginning of it, or 'last' (the default)."),
    ] = None,
    target: KnownTarget = None,
    store: Store = None,
    answer: Annotated[
        list[str] | None,
        typer.Option("--answer", "-a", metavar="PATH=VALUE", help="An answer to an open gate. Repeatable."),
    ] = None,
    one: Inputs = None,
    inputs: InputFile = None,
    force: Force = False,
    strict: Strict = False,
    due: Annotated[
        bool,
        typer.Option("--due", help="Resume every paused run of which a gate's time is up: `resume --due [TARGET]`."),
    ] = False,
    draw: Picture = None,
    json: Events = False,
    max_concurrency: Concurrency = None,
) -> None:
    """Go on with a run that failed, paused, was cancelled or broke off; what is in its journal is not run again."""
    options: RunOptions = {"store": store, "strict_replay": strict, "max_concurrency": max_concurrency}
    with usage_errors():
        if due:
            if target or answer or one or inputs or draw:
                raise InputError("--due is for every run there is: it takes a TARGET, --force and --strict, no more")
            raise typer.Exit(_resume_due(store, name, options, json=json, force=force))
        check_picture(draw)
        _, record = places.load(store, name or "last")
        graph = places.graph_of(record, target)
        given = gather_inputs(graph, one or (), inputs)
        options["run_id"] = record.id
        if answer:
            options["answers"] = answers_of(record, answer)
        shown = run_and_show(graph, given, options, json=json, resume=True, force=force)
    finish(shown, draw, json=json, store=store)


def fork(
    name: RunName,
    target: KnownTarget = None,
    at: Annotated[str, typer.Option("--at", metavar="NODE", help="The path of the node run to run again.")] = ...,  # type: ignore[assignment]
    store: Store = None,
    run_id: Annotated[str | None, typer.Option("--run-id", help="A name for the new run.")] = None,
    one: Inputs = None,
    inputs: InputFile = None,
    force: Force = False,
    strict: Strict = False,
    draw: Picture = None,
    json: Events = False,
    max_concurrency: Concurrency = None,
) -> None:
    """Run anew from a node on, in a new run that has everything else of the old one, which stays as it is."""
    with usage_errors():
        check_picture(draw)
        _, record = places.load(store, name)
        graph = places.graph_of(record, target)
        checked(graph)
        given = gather_inputs(graph, one or (), inputs)
        new = run_id or new_run_id()
        with places.opened(store) as found:
            fork_journal(found, record.id, at, new)
        options: RunOptions = {
            "store": store,
            "run_id": new,
            "strict_replay": strict,
            "max_concurrency": max_concurrency,
        }
        try:
            shown = run_and_show(graph, given, options, json=json, resume=True, force=force)
        except (FlowgraphError, ValueError):  # refused before it began: the copy is of no use
            with places.opened(store) as found:
                found.delete(new)
            raise
    finish(shown, draw, json=json, store=store)


def _resume_due(store: str | None, target: str | None, options: RunOptions, *, json: bool, force: bool) -> int:
    """Resume every paused run whose gate's time is up: an exit code. target: of those to resume; None: all."""
    graph = load_target(target) if target else None
    now = time.time()
    with places.opened(store) as found:
        heads = [head for head in found.heads() if graph is None or head.graph == graph.name]
    ready = [head for head in heads if head.status == "paused" and head.due is not None and head.due <= now]
    failed = False
    for head in reversed(ready):
        failed |= not _go_on(head, store, target, options, json=json, force=force)
    if not ready:
        dues = [head.due for head in heads if head.status == "paused" and head.due is not None]
        typer.echo("nothing is due" + (f"; the next is {words.until(min(dues), now)}" if dues else ""), err=True)
    return FAILED if failed else 0


def _go_on(head: Head, store: str | None, target: str | None, options: RunOptions, *, json: bool, force: bool) -> bool:
    """Resume one of many runs; whether it went well. One that somebody else has taken up meanwhile did."""
    given: RunOptions = {**options, "run_id": head.run_id}
    try:
        record = places.load(store, head.run_id)[1]
        shown = run_and_show(places.graph_of(record, target), {}, given, json=json, resume=True, force=force)
    except RunBusy as error:
        typer.echo(said(error), err=True)
        return True
    except (TargetError, FlowgraphError, OSError, ValueError) as error:
        typer.echo(f"run {head.run_id}: {said(error)}", err=True)
        return False
    return _told(shown.run, store)


def _told(run: Run, store: str | None) -> bool:
    typer.echo(f"run {run.id} of {run.graph}: {run.status}", err=True)
    for line in what_next(run, store):
        typer.echo(line, err=True)
    return code_of(run) != FAILED
