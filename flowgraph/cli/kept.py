"""Commands about kept runs: runs, show, explain, answer."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..keeping import answer as give_answer
from ..outcome import Status
from ..render.text import clean, duration, one_line
from ..stores import Head
from . import places, words
from .exits import refused, usage_errors
from .facts import facts_of, row_of
from .gates import answer_of
from .jsonl import json_text
from .options import Json, RunName, Store
from .showing import what_next
from .tree import STYLES, tree_of

_WIDE = 160  # columns, where nobody says how many there are


def runs(
    store: Store = None,
    status: Annotated[
        list[str] | None, typer.Option("--status", help=f"Only these: {', '.join(places.STATES)}. Repeatable.")
    ] = None,
    json: Json = False,
) -> None:
    """List the runs of a store, the latest first."""
    with usage_errors():
        wanted = places.states(status or places.STATES)
        with places.opened(store) as found:
            heads = [head for head in found.heads() if places.state(head) in wanted]
    if json:
        typer.echo(json_text([row_of(head) for head in heads], indent=2))
    elif heads:
        console = Console()
        (console if console.is_terminal else Console(width=_WIDE)).print(_table(heads), highlight=False)
    else:
        typer.echo("no runs", err=True)


def _table(heads: list[Head]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("run", "graph", "status", "started", "took", "events", "owner", "next due"):
        table.add_column(column, overflow="fold", justify="right" if column in ("took", "events") else "left")
    now = time.time()
    for head in heads:
        state = places.state(head)
        style = STYLES[Status(head.status)] if state != "broken_off" else "bold red"
        table.add_row(
            Text(head.run_id),
            Text(head.graph),
            Text(state.replace("_", " "), style),
            words.clock(head.started),
            duration(head.updated - head.started),
            f"{head.length:,}",
            Text(head.owner),
            words.until(head.due, now) if head.due is not None else "",
        )
    return table


def show(
    name: RunName,
    store: Store = None,
    whole: Annotated[bool, typer.Option("--all", help="Every node run, model and tool calls included.")] = False,
    json: Json = False,
) -> None:
    """Show a kept run: its tree, what it waits for, and how it goes on."""
    with usage_errors():
        head, run = places.load(store, name)
    if json:
        typer.echo(json_text(facts_of(head, run), indent=2))
        return
    console = Console(soft_wrap=True)
    for line in _heading(head, run.target):
        console.print(line, highlight=False, markup=False)
    console.print(tree_of(run, whole=whole), highlight=False)
    for line in () if head.owner else what_next(run, store):
        console.print(line, highlight=False, markup=False)


def _heading(head: Head, target: str) -> list[str]:
    state = places.state(head).replace("_", " ")
    lines = [f"run {head.run_id} of {head.graph}: {state}{f', in {head.owner}' if head.owner else ''}"]
    took = duration(head.updated - head.started)
    lines.append(f"started {words.clock(head.started)}, {words.counted(head.length, 'event')} in {took}")
    if target:
        lines.append(f"graph {target}")
    if head.forked_from:
        lines.append(f"forked from {head.forked_from}")
    return lines


def explain(
    name: RunName,
    node: Annotated[str, typer.Argument(metavar="NODE", help="The path of a node run.")],
    store: Store = None,
) -> None:
    """Say why a node of a kept run ended as it did."""
    with usage_errors():
        _, run = places.load(store, name)
        try:
            typer.echo(clean(run.explain(node)))
        except KeyError as error:
            raise refused(str(error.args[0])) from None
    if not run.nodes[node].status.final:
        below = {one.path for one in run.nodes[node].walk()}
        for gate in [gate for gate in run.gates if gate.path in below] or run.gates:
            typer.echo(f"  waits for an answer to '{gate.path}': {one_line(gate.question, 200)}")


def answer(
    name: RunName,
    path: Annotated[str, typer.Argument(metavar="PATH", help="The path of the gate, as `show` lists it.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="JSON, or a text where a text is wanted.")],
    store: Store = None,
) -> None:
    """Answer an open gate of a paused run; `resume` then goes on with it."""
    with usage_errors():
        _, run = places.load(store, name)
        give_answer(run.id, path, answer_of(run, path, value), store=places.named(store))
        _, run = places.load(store, run.id)
    for line in what_next(run, store):
        typer.echo(line, err=True)
