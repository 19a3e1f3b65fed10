"""The commands. Each is thin: find the graph, call the verb, show what came of it, say it in the exit code.

Exit codes: 0 it went well; 1 the graph has errors, or the run failed; 2 the call is wrong (no such graph, wrong
inputs, unknown option); 130 interrupted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import typer
from rich.console import Console

from ..checks import check as check_graph
from ..errors import FlowgraphError, GraphError, InputError, RunCancelled, brief
from ..events import Lasting
from ..graph import Graph
from ..outcome import Status
from ..record import Run
from ..running import start
from ..runtime import RunOptions
from .inputs import gather_inputs
from .jsonl import json_text, line_of
from .live import Watch, tree_of
from .target import TargetError, load_objects, load_target

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Target = Annotated[str, typer.Argument(help="The graph: path/file.py:graph or package.module:graph.")]
Format = Annotated[
    Literal["svg", "png", "dot", "mermaid"] | None,
    typer.Option("--format", "-f", help="Default: by the file's ending, else svg."),
]


def main() -> None:
    """The entry point of the command `flowgraph`."""
    app()


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(version("flowgraph-agents"))
        except PackageNotFoundError:
            typer.echo("not installed: run from its sources")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    """Workflow graphs whose nodes are functions, LLM agents and other graphs."""


@app.command()
def check(target: Target) -> None:
    """List everything that is wrong, or doubtful, in a graph."""
    with _usage_errors():
        graph = load_target(target)
    console, problems = Console(), check_graph(graph)
    for problem in problems:
        style = "red" if problem.severity == "error" else "yellow"
        console.print(f"[{style}]{problem.severity}[/{style}]", end="  ")
        console.print(str(problem), markup=False, highlight=False, soft_wrap=True)
    errors = sum(problem.severity == "error" for problem in problems)
    console.print(f"{graph.name}: {errors} errors, {len(problems) - errors} warnings", highlight=False)
    raise typer.Exit(1 if errors else 0)


@app.command()
def run(
    target: Target,
    one: Annotated[list[str] | None, typer.Option("--input", "-i", help="An input: name=value. Repeatable.")] = None,
    inputs: Annotated[
        str | None, typer.Option("--inputs", help="A JSON file with inputs; - reads standard input.")
    ] = None,
    draw: Annotated[Path | None, typer.Option("--draw", help="Draw the run into this file.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print every lasting event as a line of JSON.")] = False,
    max_concurrency: Annotated[int | None, typer.Option(min=1, help="Nodes at work at a time, at most.")] = None,
) -> None:
    """Run a graph, show how it goes, and print its output."""
    with _usage_errors():
        check_picture(draw)
        graph = load_target(target)
        given = gather_inputs(graph, one or (), inputs)
        finished = run_and_show(graph, given, json=json, max_concurrency=max_concurrency)
    _finish(finished, draw, json=json)


@app.command("draw")
def draw_command(
    target: Target,
    path: Annotated[Path | None, typer.Argument(help="Where to (default: standard output).")] = None,
    format: Format = None,
) -> None:
    """Draw a graph."""
    from ..render import draw

    with _usage_errors():
        graph = load_target(target)
        if path is None and format == "png":
            raise InputError("a PNG is no text: say where it goes, `flowgraph draw GRAPH picture.png`")
        if path is None:
            typer.echo(draw(graph, format=format or "svg"))
        else:
            draw(graph, path, format=format)
            typer.echo(str(path))


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Argument(help="A folder of .txt messages (default: a packaged dozen).")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the drawing goes.")] = Path("demo.svg"),
    json: Annotated[bool, typer.Option("--json", help="Print every lasting event as a line of JSON.")] = False,
) -> None:
    """Run a pipeline over a folder of messages with a small model that runs on this machine, and draw the run."""
    import importlib

    try:
        # By name, since the engine's package knows nothing of models: the demo comes with flowgraph_nodes.
        module: Any = importlib.import_module("flowgraph_nodes.demo")
    except ModuleNotFoundError as error:
        typer.echo(f"the demo needs {error.name}: pip install 'flowgraph-agents[agents,local]'", err=True)
        raise typer.Exit(2) from None
    with _usage_errors():
        check_picture(out)
    with _usage_errors(), module.demo(folder) as (graph, inputs):
        finished = run_and_show(graph, inputs, json=json)
    _finish(finished, out, json=json)


@app.command("serve-mcp")
def serve_mcp(
    targets: Annotated[
        list[str],
        typer.Argument(metavar="TARGET...", help="What to offer: file.py, file.py:name, module:name."),
    ],
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve streamable HTTP at /mcp, not standard streams.")
    ] = None,
) -> None:
    """Offer graphs and agents as tools of an MCP server, over standard streams."""
    import importlib

    module: Any = importlib.import_module("flowgraph_nodes.serve")  # by name, as for the demo

    def load() -> dict[str, Any]:
        return {name: found for target in targets for name, found in load_objects(target).items()}

    with _usage_errors():
        module.serve(load, http=http)


def run_and_show(
    graph: Graph, inputs: dict[str, Any], *, json: bool = False, max_concurrency: int | None = None
) -> Run:
    """Run a graph, showing events as they come. Gives back the run, failed or cancelled ones too."""
    seen: list[Run] = []

    async def watch() -> None:
        options: RunOptions = {"max_concurrency": max_concurrency}
        async with start(graph, inputs, **options) as live:
            seen.append(live.record)
            if json:
                async for event in live:
                    if isinstance(event, Lasting):
                        typer.echo(line_of(event))
            else:
                with Watch(live.record, Console(stderr=True)) as view:
                    async for event in live:
                        view.see(event)

    try:
        anyio.run(watch)
    except KeyboardInterrupt:
        if not seen:
            raise typer.Exit(130) from None
    return seen[0]


def check_picture(path: Path | None) -> None:
    """Refuse, before anything is paid for, a picture that could not be written after the run."""
    if path is None:
        return
    from ..render import format_of

    format_of(path)
    if not path.resolve().parent.is_dir():
        raise InputError(f"there is no folder '{path.parent}' for the drawing")


def _finish(run: Run, picture: Path | None, *, json: bool) -> None:
    """Show the tree, the output and where the drawing is; exit with what became of the run."""
    if not json:
        Console(stderr=True).print(tree_of(run), highlight=False)
        if run.status is Status.SUCCEEDED:
            _print_output(run)
    if picture is not None:
        from ..render import draw

        with _usage_errors():
            draw(run, picture)
        typer.echo(f"drawn: {picture.resolve()}", err=True)
    if run.status is Status.CANCELLED:
        raise typer.Exit(130)
    if run.status is not Status.SUCCEEDED:
        for path, error in run.errors.items():
            typer.echo(f"{path}: {brief(error)}" if path else brief(error), err=True)
        raise typer.Exit(1)


def _print_output(run: Run) -> None:
    with contextlib.suppress(FlowgraphError):  # every output was skipped: the tree says why
        output = run.output
        text = output if isinstance(output, str) else json_text(output, indent=2)
        typer.echo(text.encode("utf-8", "backslashreplace").decode())


@contextlib.contextmanager
def _usage_errors() -> Iterator[None]:
    """Turn what is wrong with the call into a message and exit code 2; a wrong graph is exit code 1."""
    try:
        yield
    except (TargetError, InputError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    except GraphError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    except RunCancelled:
        raise typer.Exit(130) from None
    except (FlowgraphError, OSError, ValueError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
