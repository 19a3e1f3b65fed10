"""Arguments and options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Target = Annotated[
    str, typer.Argument(help="The graph: path/file.py:graph, package.module:graph, or an agent, agents.yaml:writer.")
]
KnownTarget = Annotated[
    str | None,
    typer.Argument(metavar="TARGET", help="The graph, when it is not where the run was begun with it."),
]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="The run: its id, the beginning of it, or 'last'.")]
Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        "-s",
        metavar="FILE|ADDRESS",
        envvar="FLOWGRAPH_STORE",
        help="Where runs are kept: a file, or the address of a PostgreSQL database.",
    ),
]
Inputs = Annotated[list[str] | None, typer.Option("--input", "-i", help="An input: name=value. Repeatable.")]
InputFile = Annotated[str | None, typer.Option("--inputs", help="A JSON file with inputs; - reads standard input.")]
Picture = Annotated[Path | None, typer.Option("--draw", help="Draw the run into this file.")]
Events = Annotated[bool, typer.Option("--json", help="Print every lasting event as a line of JSON.")]
Json = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
Concurrency = Annotated[int | None, typer.Option(min=1, help="Nodes at work at a time, at most.")]
Force = Annotated[bool, typer.Option("--force", help="Go on although the graph has changed.")]
Strict = Annotated[bool, typer.Option("--strict", help="Fail when code calls others than it did before.")]
Format = Annotated[
    Literal["svg", "png", "dot", "mermaid"] | None,
    typer.Option("--format", "-f", help="Default: by the file's ending, else svg."),
]
