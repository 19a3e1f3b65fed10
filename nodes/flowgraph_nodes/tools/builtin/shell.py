"""The shell tool: run_bash."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from flowgraph_nodes.tools.builtin.blocklist import objection
from flowgraph_nodes.tools.builtin.errors import CommandRefused
from flowgraph_nodes.tools.builtin.executors import Executor
from flowgraph_nodes.tools.builtin.process import TIMEOUT, Ended
from flowgraph_nodes.tools.builtin.workspace import Workspace
from flowgraph_nodes.tools.result import Fail

LONGEST: Final = 512
"""Characters of a command."""

_MOST_SECONDS: Final = 600


class ShellTools:
    """The shell tool of one workspace: its method, of which `tool` makes a tool."""

    def __init__(self, workspace: Workspace, executor: Executor) -> None:
        self._workspace = workspace
        self._executor = executor

    async def run_bash(
        self, command: str, timeout_seconds: Annotated[float, Field(gt=0, le=_MOST_SECONDS)] = 60
    ) -> str | Fail:
        """Run a bash command in the workspace. Gives exit code, stdout and stderr. Nothing goes on running after it.

        Args:
            command: at most 512 characters. To write files, use the file tools and not redirects.
            timeout_seconds: how long it may take, at most 600.
        """
        _check(command)
        folder, *roots = self._workspace.folders
        ended = await self._executor.run(command, folder, timeout_seconds, roots)
        report = _report(ended)
        if ended.why == TIMEOUT:
            return Fail(f"timed out after {timeout_seconds:g} s and was killed, with all it started\n{report}")
        return Fail(f"killed: {ended.why}\n{report}") if ended.why else report


def _check(command: str) -> None:
    """Refuse a command that is too long, empty or on the blocklist.

    Raises:
        CommandRefused: with what to do instead.
    """
    if not command.strip() or "\0" in command:
        raise CommandRefused("the command is empty or has a NUL character in it")
    if len(command) > LONGEST:
        writes = "<<" in command or ">" in command
        instead = "write the text with create_file or update_file" if writes else "put the steps into a script file"
        raise CommandRefused(f"the command has {len(command)} characters, the limit is {LONGEST}; {instead}")
    if why := objection(command):
        raise CommandRefused(
            f"not run: it looks like {why}. This list is a hint and no protection; do it in another way, "
            "with the file tools for instance, or tell the user what you would need"
        )


def _report(ended: Ended) -> str:
    code = f"none (ended by signal {-ended.code})" if ended.code < 0 else str(ended.code)
    parts = [f"exit code: {code}"]
    for label, output in (("stdout", ended.stdout.text()), ("stderr", ended.stderr.text())):
        parts.append(f"{label}:\n{output.rstrip()}" if output.strip() else f"{label}: (empty)")
    return "\n".join(parts)
