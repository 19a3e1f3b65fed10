"""A file in which nodes note that they were called: a line a call, which no crash can take back or tear."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

Place: TypeAlias = tuple[str, tuple[int, ...]]
"""A path, and which attempt it was of each node run on the way to it: every attempt of a node has children anew."""


class Made(NamedTuple):
    """A call that a node noted. life: the process that made it."""

    life: int
    run: str
    place: Place

    @property
    def above(self) -> list[Place]:
        """It and everything that it is below of."""
        path, attempts = self.place
        return [(way, attempts[:depth]) for depth, way in enumerate(ways(path), 1)]


def ways(path: str) -> list[str]:
    """The paths of the node runs on the way to a path, and itself."""
    return [*(path[: match.start()] for match in re.finditer(r"[/\[#]", path)), path]


class Calls:
    """The file. O_APPEND: what several processes write in one piece never mixes."""

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC)

    def note(self, ctx: Any) -> None:
        """Note a call of the node whose context it is."""
        attempts, host = [], ctx.host
        while host is not None:
            attempts.append(str(host.attempt))
            host = host.above
        line = f"{os.getpid()} {ctx.run_id} {ctx.path} {'.'.join(reversed(attempts))}\n"
        os.write(self._descriptor, line.encode())


def read(file: Path) -> list[Made]:
    """All calls, in order."""
    made = []
    for line in file.read_text().splitlines():
        life, run, path, attempts = line.split(" ")
        made.append(Made(int(life), run, (path, tuple(map(int, attempts.split("."))))))
    return made
