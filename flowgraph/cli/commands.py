"""Commands about graphs: check, draw, demo, serve-mcp."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..checks import check as check_graph
from ..errors import InputError
from ..graph import Graph
from ..record import Run
from . import places
from .exits import usage_errors
from .options import Events, Format, Store, Target
from .showing import check_picture, finish, run_and_show
from .target import load_objects, load_target


def check(target: Target) -> None:
    """List everything that is wrong, or doubtful, in a graph."""
    with usage_errors():
        graph = load_target(target)
    console, problems = Console(), check_graph(graph)
    for problem in problems:
        style = "red" if problem.severity == "error" else "yellow"
        console.print(f"[{style}]{problem.severity}[/{style}]", end="  ")
        console.print(str(problem), markup=False, highlight=False, soft_wrap=True)
    errors = sum(problem.severity == "error" for problem in problems)
    console.print(f"{graph.name}: {errors} errors, {len(problems) - errors} warnings", highlight=False)
    raise typer.Exit(1 if errors else 0)


def draw(
    what: Annotated[str, typer.Argument(metavar="TARGET|RUN", help="A graph, or with --store one of its runs.")],
    path: Annotated[Path | None, typer.Argument(help="Where to (default: standard output).")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The same, as an option.")] = None,
    format: Format = None,
    store: Store = None,
    expand: Annotated[
        list[str] | None, typer.Option("--expand", help="Draw what runs inside this node; 'all' for every one.")
    ] = None,
) -> None:
    """Draw a graph, or a run that is kept."""
    from ..render import draw as draw_picture

    with usage_errors():
        if path is not None and out is not None:
            raise InputError(f"say once where the drawing goes: {path}, or --out {out}")
        if (path := path or out) is None and format == "png":
            raise InputError("a PNG is no text: say where it goes, `flowgraph draw GRAPH picture.png`")
        thing = _graph_or_run(what, store)
        inside = True if expand and "all" in expand else expand or None
        if path is None:
            typer.echo(draw_picture(thing, format=format or "svg", expand=inside))
        else:
            draw_picture(thing, path, format=format, expand=inside)
            typer.echo(str(path))


def _graph_or_run(what: str, store: str | None) -> Graph | Run:
    """What is to be drawn. With a store it is a run, unless it looks like a graph: `file.py`, `file.py:name`."""
    if not store:
        return load_target(what)
    if ":" in what or what.endswith((".py", ".yaml", ".yml")):
        with places.opened(store) as found:
            if all(head.run_id != what for head in found.heads()):
                return load_target(what)
    return places.load(store, what)[1]


def demo(
    folder: Annotated[
        Path | None, typer.Argument(help="A folder of .txt messages (default: a packaged dozen).")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the drawing goes.")] = Path("demo.svg"),
    json: Events = False,
) -> None:
    """Run a pipeline over a folder of messages with a small model that runs on this machine, and draw the run."""
    try:
        # By name, since the engine's package knows nothing of models: the demo comes with flowgraph_nodes.
        module: Any = importlib.import_module("flowgraph_nodes.demo")
    except ModuleNotFoundError as error:
        typer.echo(f"the demo needs {error.name}: pip install 'flowgraph-agents[agents,local]'", err=True)
        raise typer.Exit(2) from None
    with usage_errors():
        check_picture(out)
    with usage_errors(), module.demo(folder) as (graph, inputs):
        shown = run_and_show(graph, inputs, {}, json=json)
    finish(shown, out, json=json)


def serve_mcp(
    targets: Annotated[
        list[str],
        typer.Argument(metavar="TARGET...", help="What to offer: file.py, file.py:name, module:name, agents.yaml."),
    ],
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve streamable HTTP at /mcp, not standard streams.")
    ] = None,
) -> None:
    """Offer graphs and agents as tools of an MCP server, over standard streams."""
    module: Any = importlib.import_module("flowgraph_nodes.serve")  # by name, as for the demo

    def load() -> dict[str, Any]:
        return {name: found for target in targets for name, found in load_objects(target).items()}

    with usage_errors():
        module.serve(load, http=http)
