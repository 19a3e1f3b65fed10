"""The file tools: create_file, update_file, edit_file, read_file, list_directory, delete_file."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, BinaryIO, Final, Literal

from pydantic import Field

from flowgraph_nodes.tools.builtin.errors import WorkspaceError
from flowgraph_nodes.tools.builtin.folder import Folder
from flowgraph_nodes.tools.builtin.workspace import Place, Workspace, shown

BIGGEST: Final = 50_000_000
"""Bytes: larger files are neither read, edited nor searched."""

_MOST_LINES: Final = 2_000
_MOST_CHARACTERS: Final = 50_000
_LONGEST_LINE: Final = 2_000
_MOST_ENTRIES: Final = 1_000


class FileTools:
    """The file tools of one workspace: its methods, each of which `tool` makes a tool of.

    Paths are relative to the workspace's root. Whatever goes wrong raises a `WorkspaceError` in words for a model.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def create_file(self, file_path: str, content: str) -> str:
        """Create a text file, with the folders it lies in. A path that exists already is refused.

        Args:
            file_path: path in the workspace, such as 'notes/today.md'.
            content: the whole text of the file.
        """
        data = _encoded(content)
        with self._workspace.place(file_path, make_parents=True) as place:
            try:
                descriptor = place.folder.open(place.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            except FileExistsError:
                raise WorkspaceError(
                    f"'{place.shown}' exists already; change it with edit_file or update_file"
                ) from None
            with _removed_on_error(place.folder, place.name), open(descriptor, "wb") as file:
                file.write(data)
        return f"created {place.shown} ({len(data)} bytes)"

    def update_file(self, file_path: str, content: str, mode: Literal["replace", "append"] = "replace") -> str:
        """Replace the whole text of an existing file, or append to it. A missing file is refused.

        Args:
            file_path: path in the workspace.
            content: the new text, or the text to append as it is (begin with a line break where one is needed).
            mode: replace or append.
        """
        data = _encoded(content)
        with self._workspace.place(file_path) as place:
            with _opened(place) as file:
                info = os.fstat(file.fileno())
                whole = file.read() + data if mode == "append" else data
            _write(place, whole, info)
        done = "appended to" if mode == "append" else "replaced"
        return f"{done} {place.shown} (now {len(whole)} bytes)"

    def edit_file(self, file_path: str, old: str, new: str) -> str:
        """Replace one passage of a text file. The passage has to stand in the file exactly once.

        Args:
            file_path: path in the workspace.
            old: the passage as it stands in the file, with its white space and enough around it to be unique.
            new: what stands there instead; empty to delete the passage.
        """
        if not old:
            raise WorkspaceError("old is empty; give the passage to replace, or use update_file")
        if old == new:
            raise WorkspaceError("old and new are the same; nothing was changed")
        with self._workspace.place(file_path) as place:
            with _opened(place) as file:
                info = os.fstat(file.fileno())
                text = _decoded(file.read(), place.shown)
            count = text.count(old)
            if count == 0:
                raise WorkspaceError(f"old does not stand in {place.shown} (0 matches); read_file shows its exact text")
            if count > 1:
                raise WorkspaceError(
                    f"old stands in {place.shown} {count} times, it must be once; give more of the text around it"
                )
            line = text.count("\n", 0, text.index(old)) + 1
            _write(place, _encoded(text.replace(old, new)), info)
        return f"edited {place.shown} at line {line} (1 match)"

    def read_file(
        self, file_path: str, offset: Annotated[int, Field(ge=0)] = 0, limit: Annotated[int, Field(ge=1)] | None = None
    ) -> str:
        """Read a text file. Long files come in pages; a note at the end then says how to go on.

        Args:
            file_path: path in the workspace.
            offset: how many lines to skip.
            limit: at most so many lines; a page has at most 2000 lines and 50000 characters in any case.
        """
        lines: list[str] = []
        size, number, more = 0, 0, False
        with self._workspace.place(file_path) as place, _opened(place) as file:
            for number, raw in enumerate(file, 1):
                if number <= offset:
                    continue
                line = _cut(_decoded(raw, place.shown, number))
                more = len(lines) >= min(limit or _MOST_LINES, _MOST_LINES) or size + len(line) > _MOST_CHARACTERS
                if more:
                    break
                lines.append(line)
                size += len(line)
        if more:
            end = offset + len(lines)
            note = f"[lines {offset + 1} to {end}; the file goes on, read it with offset={end}]"
            return "".join(lines) + note
        if offset and not lines:
            raise WorkspaceError(f"'{place.shown}' has only {number} lines; offset={offset} is past its end")
        return "".join(lines) or "[the file is empty]"

    def list_directory(self, directory_path: str = "") -> str:
        """List a folder: name, type (file, folder, link or other) and size in bytes, one entry on a line.

        Args:
            directory_path: path in the workspace; empty for its root.
        """
        with self._workspace.folder(directory_path) as folder:
            names = folder.names()
            lines = [_entry(folder, name) for name in names[:_MOST_ENTRIES]]
        if len(names) > _MOST_ENTRIES:
            lines.append(f"[{len(names) - _MOST_ENTRIES} more entries; find them with glob]")
        return "\n".join(lines) or "[the folder is empty]"

    def delete_file(self, file_path: str) -> str:
        """Delete one file. Folders are refused. Of a link, the link is deleted and not what it points to.

        Args:
            file_path: path in the workspace.
        """
        if self._workspace.is_folder(file_path):  # also finds out whether a link leads out
            raise WorkspaceError(f"'{shown(file_path)}' is a folder; delete_file deletes single files")
        head, _, name = file_path.rstrip("/").rpartition("/")
        with self._workspace.folder(f"{head}/" if head or file_path.startswith("/") else "") as folder:
            if stat.S_ISDIR(folder.lstat(name).st_mode):
                raise WorkspaceError(f"'{shown(file_path)}' is a folder; delete_file deletes single files")
            folder.remove(name)
            return f"deleted {self._workspace.display(os.path.join(folder.path, name))}"


@contextmanager
def _opened(place: Place) -> Iterator[BinaryIO]:
    """A file for reading.

    Raises:
        WorkspaceError: it is a folder, a device or the like, or too big.
    """
    descriptor = place.folder.open(place.name, os.O_RDONLY)
    try:
        _check_readable(os.fstat(descriptor), place.shown)
        with open(descriptor, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)


def _check_readable(info: os.stat_result, name: str) -> None:
    if stat.S_ISDIR(info.st_mode):
        raise WorkspaceError(f"'{name}' is a folder; list_directory shows what is in it")
    if not stat.S_ISREG(info.st_mode):
        raise WorkspaceError(f"'{name}' is no regular file but a device, pipe or socket")
    if info.st_size > BIGGEST:
        raise WorkspaceError(f"'{name}' is too big: {info.st_size} bytes, the limit is {BIGGEST}")


def _write(place: Place, data: bytes, like: os.stat_result) -> None:
    """Replace a file in one step: readers see the old or the new one. It keeps its mode, and its owner if we may."""
    name = f".{secrets.token_hex(8)}.tmp"
    descriptor = place.folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with _removed_on_error(place.folder, name):
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
            if hasattr(os, "fchown") and (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
                with suppress(PermissionError):
                    os.fchown(descriptor, like.st_uid, like.st_gid)
            if hasattr(os, "fchmod"):
                os.fchmod(descriptor, stat.S_IMODE(like.st_mode) & 0o777)
        place.folder.replace(place.name, name)


@contextmanager
def _removed_on_error(folder: Folder, name: str) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(OSError):
            folder.remove(name)
        raise


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise WorkspaceError(f"the text cannot be written as UTF-8: {error.reason} at {error.start}") from None


def _decoded(data: bytes, name: str, line: int = 1) -> str:
    """The text of a file, or of its line of that number."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        raise WorkspaceError(f"'{name}' is not UTF-8 text: byte {data[error.start]:#04x} in line {line}") from None


def _cut(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[:_LONGEST_LINE]}[{len(line) - _LONGEST_LINE} more characters in this line]\n"


def _entry(folder: Folder, name: str) -> str:
    try:
        info = folder.lstat(name)
    except FileNotFoundError:  # gone meanwhile
        return f"{shown(name)}\tgone\t-"
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
    kind = kinds.get(stat.S_IFMT(info.st_mode), "other")
    return f"{shown(name)}\t{kind}\t{info.st_size if kind == 'file' else '-'}"
