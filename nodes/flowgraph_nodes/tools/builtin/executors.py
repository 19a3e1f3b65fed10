"""What runs the commands of run_bash: the protocol, and the executor without protection."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from flowgraph_nodes.tools.builtin.process import Capture, Ended, with_job

_SHOWN: Final = 10_000
"""Bytes of each output that are kept from its beginning, and as many from its end."""

_PASSED: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""Variables that a command gets from us; everything else, keys above all, stays here."""


class Executor(Protocol):
    """Runs shell commands."""

    async def run(self, command: str, folder: Path, seconds: float, roots: Sequence[Path] = ()) -> Ended:
        """Run a command in `folder`, for at most `seconds`; then it and all that it started is dead.

        folder: absolute and without links; the command may write there. roots: further folders of that kind.
        Works on asyncio and trio; cancelling the caller kills the command.

        Raises:
            ShellUnavailable: commands cannot be run here.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one command may use; None for no limit. A process that passes one is ended, or its request fails.

    processes: at a time, threads included; in the sandbox only. memory: bytes of address space, for each process.
    file_size: bytes of a file it writes. A limit of CPU seconds for each process follows from the time limit.
    """

    processes: int | None = 256
    memory: int | None = 4 << 30
    file_size: int | None = 1 << 30

    def script(self, seconds: float, *, processes: bool) -> list[str]:
        """The beginning of an argument list, to which a command is added, that runs it in bash under the limits."""
        kibibytes = {"-v": self.memory, "-f": self.file_size}
        values = {"-t": math.ceil(seconds) + 1, "-u": self.processes if processes else None}
        values |= {option: value and value // 1024 for option, value in kibibytes.items()}
        lines = [f"ulimit {option} {value} 2>/dev/null" for option, value in values.items() if value is not None]
        bash = ["bash", "--noprofile", "--norc", "-c"]
        return [*bash, "; ".join([*lines, f'exec {" ".join(bash)} "$1"']), "bash"]


def captures() -> tuple[Capture, Capture]:
    """What takes the two outputs of a command."""
    return Capture(_SHOWN, _SHOWN), Capture(_SHOWN, _SHOWN)


def clean_environment(home: str, extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command: a safe minimum, and what the owner gives."""
    passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
    return {"PATH": os.defpath, "LANG": "C.UTF-8", **passed, "HOME": home, "TERM": "dumb", **extra}


class LocalExecutor:
    """Runs commands as they are, with the rights of this process: only for models and inputs that you trust.

    A command can read and write whatever we can. What it leaves running is killed: its process group, and on Linux
    whatever has its environment (so a daemon is found too, unless it cleared its environment).

    environment: variables for the commands, beside a safe minimum. limits: see `Limits`.
    """

    def __init__(self, *, environment: Mapping[str, str] | None = None, limits: Limits | None = None) -> None:
        self._environment = dict(environment or {})
        self._limits = limits or Limits()

    async def run(self, command: str, folder: Path, seconds: float, roots: Sequence[Path] = ()) -> Ended:
        """See `Executor`."""
        # the system counts processes for each user, not for each command: a limit would hit the user's own
        arguments = [*self._limits.script(seconds, processes=False), command]
        return await with_job(
            lambda job: job.run(
                arguments,
                folder=folder,
                environment=clean_environment(str(folder), self._environment),
                timeout=seconds,
                captures=captures(),
                hunt=True,
            )
        )
