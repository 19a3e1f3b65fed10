"""The search tools: grep and glob.

We go through the folders ourselves, without following links, and hand over *opened* files; so both engines, ripgrep
and our `matcher`, search the same files in the same order, and neither can be led out of the workspace.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Generator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from flowgraph_nodes.tools.builtin import matcher
from flowgraph_nodes.tools.builtin.errors import PatternError, WorkspaceError
from flowgraph_nodes.tools.builtin.files import BIGGEST
from flowgraph_nodes.tools.builtin.folder import Folder
from flowgraph_nodes.tools.builtin.patterns import Glob
from flowgraph_nodes.tools.builtin.process import CANCELLED, TIMEOUT, Capture, Job, with_job
from flowgraph_nodes.tools.builtin.walk import Found, Walk
from flowgraph_nodes.tools.builtin.workspace import Workspace
from flowgraph_nodes.wire import sound

SECONDS: Final = 30.0
"""For one search."""

_MOST_LINES: Final = 500
_MOST_FILES: Final = 1_000
_LONGEST_LINE: Final = 500
_LONGEST_RAW: Final = 2_000
_OUTPUT: Final = 4_000_000
_AT_ONCE: Final = 128
"""Files opened at once; a process may have as few as 1,024 descriptors."""

_LINE: Final = re.compile(rb"/dev/fd/(\d+)\0(\d+)([:-])(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Query:
    """What grep was asked."""

    pattern: str
    ignore_case: bool
    numbers: bool
    context: int


@dataclass(slots=True)
class Answer:
    """What grep found so far: lines for the model, and what it should know about them."""

    query: Query
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    matches: int = 0
    _last: tuple[str, int] = ("", -1)

    @property
    def full(self) -> bool:
        return len(self.lines) >= _MOST_LINES

    def add(self, name: str, number: int, mark: str, raw: bytes) -> None:
        """Take one line of a file; `mark` is ':' for a match, '-' for a line around one."""
        if self.query.context and self.lines and self._last != (name, number - 1):
            self.lines.append("--")
        self._last = name, number
        self.matches += mark == ":"
        text = raw.removesuffix(b"\r").decode("utf-8", "replace")
        if len(text) > _LONGEST_LINE:
            text = f"{text[:_LONGEST_LINE]}[line goes on]"
        self.lines.append(f"{name}{mark}{number}{mark}{text}" if self.query.numbers else f"{name}{mark}{text}")

    def text(self) -> str:
        """All of it for the model."""
        return "\n".join([*(self.lines or ["no matches"]), *(f"[{note}]" for note in dict.fromkeys(self.notes))])


class SearchTools:
    """The search tools of one workspace: its methods, each of which `tool` makes a tool of."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def grep(
        self,
        pattern: str,
        path: str = "",
        recursive: bool = True,
        case_insensitive: bool = False,
        include_line_numbers: bool = True,
        file_pattern: str | None = None,
        context_lines: Annotated[int, Field(ge=0, le=20)] = 0,
    ) -> str:
        """Search text files for a regular expression, line by line. Binary files and .git folders are left out.

        Args:
            pattern: the regular expression; it matches within one line.
            path: file or folder in the workspace; empty for all of it.
            recursive: go into the folders below it.
            case_insensitive: take small and capital letters for the same.
            include_line_numbers: write path:number:line, not path:line.
            file_pattern: only files like this, such as '*.py', '*.{ts,tsx}' or 'src/**/*.py'.
            context_lines: how many lines to show before and after each match, 0 to 20.
        """
        if not pattern or any(sign in pattern for sign in "\n\0") or sound(pattern) != pattern:
            raise PatternError("a pattern has at least one character, and no line break: it matches within one line")
        query = Query(pattern, case_insensitive, include_line_numbers, context_lines)
        only = Glob(file_pattern) if file_pattern else None
        depth = None if recursive else 1
        return await with_job(functools.partial(self._grep, query, path, depth, only))

    def glob(self, pattern: str, path: str = "") -> str:
        """Find files by name, the newest first. Paths are relative to the workspace, as read_file takes them.

        Args:
            pattern: such as '*.md' (in the folder itself), '**/*.py' (at any depth) or 'src/**/*.{ts,tsx}'.
            path: folder in the workspace where the pattern begins; empty for its root.
        """
        wanted = Glob(pattern)
        found: list[tuple[int, str]] = []
        with self._workspace.folder(path) as folder:
            walk = Walk(folder, depth=wanted.depth, deadline=time.monotonic() + SECONDS)
            found += (
                (-info.st_mtime_ns, self._workspace.display(os.path.join(folder.path, item.path)))
                for item in walk.entries()
                if wanted.matches(item.path) and (info := self._file(folder, item)) is not None
            )
        lines = [name for _, name in sorted(found)]
        if len(lines) > _MOST_FILES:
            lines[_MOST_FILES:] = [f"[{len(lines) - _MOST_FILES} older files; use a narrower pattern]"]
        if walk.cut:
            lines.append(f"[incomplete: {walk.cut}]")
        return "\n".join(lines) or f"no files match '{pattern}'"

    def _file(self, start: Folder, item: Found) -> os.stat_result | None:
        """What is known of a regular file, or of one that a link leads to inside the workspace; None for others."""
        info = item.info
        if stat.S_ISLNK(info.st_mode):
            try:
                with self._workspace.place(os.path.join(start.path, item.path)) as place:
                    info = place.folder.lstat(place.name)
            except WorkspaceError:
                return None
        return info if stat.S_ISREG(info.st_mode) else None

    def _grep(self, query: Query, path: str, depth: int | None, only: Glob | None, job: Job) -> str:
        answer = Answer(query)
        deadline = time.monotonic() + SECONDS
        with closing(self._opened(path, depth, only, deadline, answer)) as opened:
            more = True
            while more:
                with _Batch() as batch:
                    batch.update(itertools.islice(opened, _AT_ONCE))
                    more = bool(batch) and _search(query, batch, deadline, answer, job) and not answer.full
        if answer.full:
            del answer.lines[_MOST_LINES:]
            answer.notes.append(f"only the first {_MOST_LINES} lines; use a narrower pattern, path or file_pattern")
        return answer.text()

    def _opened(
        self, path: str, depth: int | None, only: Glob | None, deadline: float, answer: Answer
    ) -> Generator[tuple[int, str]]:
        """Descriptors of the files to search, with their paths for the model. Whoever takes one closes it."""
        if not self._workspace.is_folder(path):
            with self._workspace.place(path) as place:
                if (one := _open(place.folder, place.name, answer)) is not None:
                    yield one, place.shown
                elif not answer.notes:
                    answer.notes.append(f"'{place.shown}' is no text file")
            return
        with self._workspace.folder(path) as folder:
            walk = Walk(folder, depth=depth, deadline=deadline)
            with closing(walk.entries()) as entries:
                for item in entries:
                    if only is not None and not (only.matches(item.path) or only.matches(item.name)):
                        continue
                    with suppress(OSError):
                        if (
                            stat.S_ISREG(item.info.st_mode)
                            and (one := _open(item.folder, item.name, answer)) is not None
                        ):
                            yield one, self._workspace.display(os.path.join(folder.path, item.path))
            if walk.cut:
                answer.notes.append(f"incomplete: {walk.cut}")


def _open(folder: Folder, name: str, answer: Answer) -> int | None:
    """A descriptor of a file to search; None if it is no regular file, binary or too big."""
    descriptor = folder.open(name, os.O_RDONLY)
    try:
        wanted = _is_text(descriptor, answer)
    except BaseException:
        os.close(descriptor)
        raise
    if wanted:
        return descriptor
    os.close(descriptor)
    return None


def _is_text(descriptor: int, answer: Answer) -> bool:
    info = os.fstat(descriptor)
    if stat.S_ISREG(info.st_mode) and info.st_size > BIGGEST:
        answer.notes.append(f"files over {BIGGEST} bytes were left out")
        return False
    return stat.S_ISREG(info.st_mode) and b"\0" not in os.pread(descriptor, 8192, 0)


class _Batch(dict[int, str]):
    """Descriptors of files, closed in the end, with their paths for the model."""

    def __enter__(self) -> _Batch:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self:
            os.close(descriptor)


def _search(query: Query, batch: dict[int, str], deadline: float, answer: Answer, job: Job) -> bool:
    """Search opened files with ripgrep; with our own matcher if it is missing or cannot read the pattern.

    Gives whether to go on with further files.
    """
    files = [f"/dev/fd/{descriptor}" for descriptor in batch]
    for command in filter(None, (_ripgrep(query), _ours(query))):
        captures = Capture(_OUTPUT), Capture(2_000)
        left = max(0.0, deadline - time.monotonic())
        ended = job.run(
            [*command, *files], environment=_environment(), timeout=left, captures=captures, pass_fds=list(batch)
        )
        if ended.code != 2 or ended.why:
            break
    else:
        raise PatternError(f"'{query.pattern}' is no regular expression: {ended.stderr.text().strip()}")
    for line in bytes(ended.stdout).split(b"\n"):
        if (found := _LINE.fullmatch(line)) is not None and not answer.full:
            answer.add(batch[int(found[1])], int(found[2]), found[3].decode(), found[4])
    if ended.why in (TIMEOUT, CANCELLED):
        answer.notes.append(f"incomplete: stopped after {SECONDS:g} s; use a simpler pattern or a smaller folder")
    elif ended.stdout.left_out:
        answer.notes.append("incomplete: too much output; use a narrower pattern")
    return not ended.why


def _ripgrep(query: Query) -> list[str] | None:
    program = shutil.which("rg")
    if program is None:
        return None
    options = "--no-config --no-messages --no-heading --with-filename --line-number --null --color=never --text --crlf"
    return [
        program,
        *options.split(),
        "--encoding=none",
        "--no-mmap",
        "--threads=1",
        f"--max-columns={_LONGEST_RAW}",
        "--max-columns-preview",
        f"--max-count={_MOST_LINES}",
        f"--context={query.context}",
        *(["--ignore-case"] if query.ignore_case else []),
        f"--regexp={query.pattern}",
        "--",
    ]


def _ours(query: Query) -> list[str]:
    options = {
        "pattern": query.pattern,
        "ignore_case": query.ignore_case,
        "context": query.context,
        "most": _MOST_LINES,
        "longest": _LONGEST_RAW,
    }
    return [sys.executable, "-I", "-S", str(Path(matcher.__file__)), json.dumps(options)]


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "PYTHONUTF8": "1"}
