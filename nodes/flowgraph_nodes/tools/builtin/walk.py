"""Going through a folder and all that is below it, without ever following a link."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from flowgraph_nodes.tools.builtin.folder import Folder

SKIPPED: Final = ".git"
"""Folders of this name are not gone into: they hold no text that anybody wrote."""

_DEEPEST: Final = 64
"""Folders inside each other; each one on the way is open, and descriptors are few."""

_MOST_ENTRIES: Final = 200_000


@dataclass(frozen=True, slots=True)
class Found:
    """A file, link or other entry that is no folder. `folder` is open until the next one is asked for.

    path: from the folder where the walk began, parts separated by '/'. info: of the link itself, if it is one.
    """

    folder: Folder
    name: str
    path: str
    info: os.stat_result


class Walk:
    """Entries in the order of their names, folder by folder. `cut` says why it ended early, "" if it did not.

    start: where to begin; stays open. depth: how many parts a path has at most. deadline: by `time.monotonic()`.
    Close the iterator (`contextlib.closing`) if it is not used up.
    """

    def __init__(self, start: Folder, *, depth: int | None = None, deadline: float) -> None:
        self._start = start
        self._depth = min(depth or _DEEPEST, _DEEPEST)
        self._deadline = deadline
        self._seen = 0
        self.cut = ""

    def entries(self) -> Generator[Found]:
        """Go through everything once."""
        stack = [(self._start, "", iter(self._start.names()))]
        try:
            while stack:
                folder, prefix, names = stack[-1]
                name = next(names, None)
                if name is None:
                    self._leave(stack.pop()[0])
                    continue
                if self._is_over():
                    return
                with suppress(OSError):  # gone meanwhile, or not ours to read
                    info = folder.lstat(name)
                    if not stat.S_ISDIR(info.st_mode):
                        yield Found(folder, name, prefix + name, info)
                    elif name != SKIPPED and len(stack) < self._depth:
                        stack.append(self._entered(folder, name, prefix))
                    elif name != SKIPPED and self._depth == _DEEPEST:
                        self.cut = f"folders more than {_DEEPEST} deep were left out"
        finally:
            for folder, _, _ in stack:
                self._leave(folder)

    def _entered(self, folder: Folder, name: str, prefix: str) -> tuple[Folder, str, Iterator[str]]:
        inner = folder.enter(name)
        try:
            return inner, f"{prefix}{name}/", iter(inner.names())
        except OSError:
            inner.close()
            raise

    def _leave(self, folder: Folder) -> None:
        if folder is not self._start:
            folder.close()

    def _is_over(self) -> bool:
        self._seen += 1
        if self._seen > _MOST_ENTRIES:
            self.cut = f"more than {_MOST_ENTRIES} entries; search in a smaller folder"
        elif time.monotonic() > self._deadline:
            self.cut = "the time was up; search in a smaller folder"
        else:
            return False
        return True
