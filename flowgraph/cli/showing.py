"""Running a graph and showing it: while it goes on, and what came of it, with what to do next."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import typer
from rich.console import Console

from ..errors import FlowgraphError, InputError, RunCancelled, RunFailed, brief
from ..events import Lasting
from ..graph import Graph
from ..live_run import LiveRun
from ..outcome import MISSING, Status
from ..record import Run
from ..render.text import clean
from ..runtime import RunOptions
from . import gates, places, words
from .exits import FAILED, INTERRUPTED, PAUSED, usage_errors
from .jsonl import json_text, line_of
from .live import Watch
from .tree import tree_of


@dataclass(slots=True)
class Shown:
    """A run that was shown. stuck: it was resumed, called nothing new and failed as before."""

    run: Run
    stuck: bool = False


def run_and_show(
    graph: Graph,
    inputs: Mapping[str, Any],
    options: RunOptions,
    *,
    json: bool = False,
    resume: bool = False,
    force: bool = False,
) -> Shown:
    """Run a graph, showing events as they come. Gives back the run, failed, paused or cancelled ones too."""
    seen: list[Shown] = []

    async def watch() -> None:
        async with LiveRun(graph, inputs, options, resume=resume, force=force) as live:
            seen.append(Shown(live.record))
            if options.get("store") is not None:
                typer.echo(f"run {live.record.id}", err=True)
            if json:
                async for event in live:
                    if isinstance(event, Lasting):
                        typer.echo(line_of(event))
            else:
                with Watch(live.record, Console(stderr=True)) as view:
                    async for event in live:
                        view.see(event)
            try:
                await live.result()
            except RunFailed as error:
                seen[0].stuck = bool(getattr(error, "__notes__", ()))
            except RunCancelled:
                pass

    try:
        anyio.run(watch)
    except KeyboardInterrupt:
        if not seen:
            raise typer.Exit(INTERRUPTED) from None
    return seen[0]


def check_picture(path: Path | None) -> None:
    """Refuse, before anything is paid for, a picture that could not be written after the run."""
    if path is None:
        return
    from ..render import format_of

    format_of(path)
    if not path.resolve().parent.is_dir():
        raise InputError(f"there is no folder '{path.parent}' for the drawing")


def finish(shown: Shown, picture: Path | None, *, json: bool, store: str | None = None) -> None:
    """Show the tree, the output, where the drawing is and what to do next; exit with what became of the run."""
    run = shown.run
    if not json:
        Console(stderr=True).print(tree_of(run), highlight=False)
        if run.status is Status.SUCCEEDED:
            _print_output(run)
    if picture is not None:
        from ..render import draw

        with usage_errors():
            draw(run, picture)
        typer.echo(f"drawn: {picture.resolve()}", err=True)
    for line in (*_errors(run), *what_next(run, store, stuck=shown.stuck)):
        typer.echo(line, err=True)
    if code := code_of(run):
        raise typer.Exit(code)


def code_of(run: Run) -> int:
    """The exit code for what became of a run."""
    return {Status.SUCCEEDED: 0, Status.PAUSED: PAUSED, Status.CANCELLED: INTERRUPTED}.get(run.status, FAILED)


def what_next(run: Run, store: str | None, *, stuck: bool = False) -> list[str]:
    """What to do with a run that has not come to its end, as command lines."""
    if run.status is Status.SUCCEEDED:
        return []
    if run.status is Status.PAUSED:
        return _ways_out_of_a_pause(run, store)
    if not store:
        return []
    if stuck:
        again = places.line(store, "fork", run.id, "--at", next(iter(run.unhandled), "NODE"))
        return ["nothing new was called, and it failed as before; fork at a node that is to run again:", f"  {again}"]
    for node in run.root.walk():  # a resume would find its time up again
        if node.gate is not None and node.status.bad and node.gate.answer is MISSING and node.gate.due is not None:
            again = places.line(store, "fork", run.id, "--at", node.path)
            return [f"the time to answer '{node.path}' is up for good; to ask again in a new run:", f"  {again}"]
    return ["go on with what is missing:", f"  {places.line(store, 'resume', run.id)}"]


def _ways_out_of_a_pause(run: Run, store: str | None) -> list[str]:
    now = time.time()
    if not run.gates:
        return ["everything is answered; go on:", f"  {places.line(store, 'resume', run.id)}"]
    lines = [f"paused: {words.counted(len(run.gates), 'answer')} missing", *gates.lines_of(run, store, now)]
    if failed := [f"'{node.path}'" for node in run.root.children if node.status in (Status.FAILED, Status.TIMED_OUT)]:
        lines.append(f"failed meanwhile: {', '.join(failed)}")
    if store:
        return [*lines, "then go on:", f"  {places.line(store, 'resume', run.id)}"]
    return [*lines, "the run is not kept, so it cannot go on: use --store FILE"]


def _errors(run: Run) -> list[str]:
    if run.status in (Status.SUCCEEDED, Status.PAUSED, Status.CANCELLED):
        return []
    return [clean(f"{path}: {brief(error)}" if path else brief(error)) for path, error in run.errors.items()]


def _print_output(run: Run) -> None:
    with contextlib.suppress(FlowgraphError):  # every output was skipped: the tree says why
        output = run.output
        text = output if isinstance(output, str) else json_text(output, indent=2)
        typer.echo(text.encode("utf-8", "backslashreplace").decode())
