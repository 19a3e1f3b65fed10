"""The commands. Each is thin: find the graph, call the verb, show what came of it, say it in the exit code.

Exit codes: 0 it went well; 1 the graph has errors, or the run failed; 2 the call is wrong (no such graph, wrong
inputs, unknown option), or the store refused, and nothing was begun; 3 the run is paused; 130 interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

import typer

from . import commands, kept, pruning, runs

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


_COMMANDS: Final[dict[str, Callable[..., None]]] = {
    "check": commands.check,
    "draw": commands.draw,
    "run": runs.run,
    "resume": runs.resume,
    "answer": kept.answer,
    "fork": runs.fork,
    "runs": kept.runs,
    "show": kept.show,
    "explain": kept.explain,
    "prune": pruning.prune,
    "demo": commands.demo,
    "serve-mcp": commands.serve_mcp,
}
for _name, _command in _COMMANDS.items():
    app.command(_name)(_command)
