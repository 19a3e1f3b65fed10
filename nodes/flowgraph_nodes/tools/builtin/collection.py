"""The built-in tools, by name."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal

from flowgraph_nodes.errors import ToolDefinitionError
from flowgraph_nodes.tools.builtin.executors import Executor, LocalExecutor
from flowgraph_nodes.tools.builtin.files import FileTools
from flowgraph_nodes.tools.builtin.sandbox import SandboxExecutor
from flowgraph_nodes.tools.builtin.search import SearchTools
from flowgraph_nodes.tools.builtin.shell import ShellTools
from flowgraph_nodes.tools.builtin.talk import respond_to_user
from flowgraph_nodes.tools.builtin.workspace import Workspace
from flowgraph_nodes.tools.tool import Tool, tool

NAMED_ONLY: Final = frozenset({"run_bash"})
"""Tools that are not in "all": whoever wants them says so."""


def builtin_tools(
    workspace: Workspace | str | os.PathLike[str] | None = None,
    names: Literal["all"] | Iterable[str] = "all",
    *,
    sandbox: bool = True,
    executor: Executor | None = None,
) -> list[Tool]:
    """Tools for files, search, shell and talking to the user; any agent can use each of them.

    workspace: where they work: a `Workspace`, a folder, or None for the default one.
    names: which ones. "all" is all but run_bash, which has to be named: `["run_bash", "read_file"]`; a list may have
    "all" in it.
    sandbox: run commands in bubblewrap and refuse them where it does not work; False runs them with our own rights.
    executor: runs the commands instead.

    Raises:
        ToolDefinitionError: there is no tool of that name.
    """
    place = workspace if isinstance(workspace, Workspace) else Workspace(workspace)
    made = _targets(place, executor or (SandboxExecutor() if sandbox else LocalExecutor()))
    wanted: list[str] = []
    for name in ["all"] if names == "all" else names:
        wanted += [one for one in made if one not in NAMED_ONLY] if name == "all" else [name]
    if unknown := [name for name in wanted if name not in made]:
        near = difflib.get_close_matches(unknown[0], made, 1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise ToolDefinitionError(f"no built-in tool '{unknown[0]}'; {hint}there are: {', '.join(made)}")
    return [tool(made[name]) for name in dict.fromkeys(wanted)]


def _targets(workspace: Workspace, executor: Executor) -> dict[str, Callable[..., Any]]:
    files, search, shell = FileTools(workspace), SearchTools(workspace), ShellTools(workspace, executor)
    targets: tuple[Callable[..., Any], ...] = (
        *(files.create_file, files.update_file, files.edit_file, files.read_file, files.list_directory),
        *(files.delete_file, search.grep, search.glob, shell.run_bash, respond_to_user),
    )
    return {target.__name__: target for target in targets}
