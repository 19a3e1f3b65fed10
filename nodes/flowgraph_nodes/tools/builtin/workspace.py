"""The part of the file system that an agent's tools may touch: a root folder, and further roots that were allowed.

A path is followed component by component, each opened relative to the one before it (see `folder`), and links are
resolved here and not by the system. A link, `..` or absolute path may lead anywhere *inside* the roots; the first
step out of them is refused. Because a descriptor, once opened, cannot be swapped, there is no moment between check
and use. Hard links cannot be told from files and are not looked for: no tool here makes one.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flowgraph_nodes.tools.builtin.errors import OutsideWorkspace, WorkspaceError
from flowgraph_nodes.tools.builtin.folder import Folder

VARIABLE: Final = "FLOWGRAPH_WORKSPACE"
DEFAULT: Final = "agent_workspace"

_MOST_LINKS: Final = 40
"""As many as Linux follows in one path."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads: a name in an opened folder. The name may be missing, and is no link when it was looked at.

    shown: the path as messages and results name it.
    """

    folder: Folder
    name: str
    shown: str


class Workspace:
    """A root folder for the tools of one agent.

    root: made when first needed; None for `$FLOWGRAPH_WORKSPACE`, or `./agent_workspace` when that is not set. It may
    be reached by a link. roots: further folders that paths may lead into; they have to exist.
    """

    def __init__(self, root: str | os.PathLike[str] | None = None, *, roots: Iterable[str | os.PathLike[str]] = ()):
        self.root = Path(root if root is not None else os.environ.get(VARIABLE) or DEFAULT).absolute()
        self.roots = tuple(Path(item).absolute() for item in roots)

    def __repr__(self) -> str:
        return f"Workspace({str(self.root)!r})"

    def of_agent(self, name: str, identity: str) -> Workspace:
        """The agent's own part of this workspace: `agents/<slug>-<id12>/`, with the same further roots.

        name: the agent's name. identity: what makes this agent one of its kind, such as its run id and path: the
        same identity gives the same folder, in a resumed run too.
        """
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-") or "agent"
        number = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        return Workspace(self.root / "agents" / f"{slug}-{number}", roots=self.roots)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Every root, resolved; the first is the workspace's own, which exists from now on."""
        self.root.mkdir(parents=True, exist_ok=True)
        return tuple(Path(os.path.realpath(item)) for item in (self.root, *self.roots))

    @contextmanager
    def place(self, path: str, *, make_parents: bool = False) -> Iterator[Place]:
        """Follow a path to a name in a folder that stays open inside the `with`.

        path: relative to the root, or absolute inside one of the roots. make_parents: make missing folders.

        Raises:
            OutsideWorkspace: the path leaves the roots. WorkspaceError: a folder on the way is missing or is none,
            the path names a root itself, or there are too many links.
        """
        with self._way(path, make_parents) as way:
            name = way.follow(path)
            if not name:
                raise WorkspaceError(f"'{shown(path)}' is a folder; give the path of a file")
            yield Place(way.top, name, self.display(os.path.join(way.top.path, name)))

    @contextmanager
    def folder(self, path: str = "") -> Iterator[Folder]:
        """Follow a path to a folder that stays open inside the `with`; "" is the root. Raises as `place` does."""
        with self._way(path, False) as way:
            if name := way.follow(path):
                way.enter(name)
            yield way.top

    def is_folder(self, path: str) -> bool:
        """Whether a path leads to a folder. Raises as `place` does; a missing path is False."""
        with self._way(path, False) as way:
            name = way.follow(path)
            if not name:
                return True
            try:
                return stat.S_ISDIR(way.top.lstat(name).st_mode)
            except FileNotFoundError:
                return False

    def display(self, path: str) -> str:
        """A resolved path as the tools show it: relative to the root when it is in it, absolute otherwise."""
        real = os.path.realpath(self.root)
        return shown(os.path.relpath(path, real) if _is_below(_parts(path), _parts(real)) else path)

    @contextmanager
    def _way(self, path: str, make_parents: bool) -> Iterator[_Way]:
        _check(path)
        self.root.mkdir(parents=True, exist_ok=True)
        way = _Way((self.root, *self.roots), path, make_parents)
        try:
            with told(path):
                way.start()
                yield way
        finally:
            way.close()


class _Way:
    """The folders from a root down to where a path leads, all open."""

    def __init__(self, roots: tuple[Path, ...], path: str, make: bool) -> None:
        self._roots = roots
        self._path = shown(path)
        self._make = make
        self._open: list[Folder] = []
        self._links = 0

    @property
    def top(self) -> Folder:
        return self._open[-1]

    def start(self) -> None:
        self._restart(self._roots[0])

    def close(self) -> None:
        while self._open:
            self._open.pop().close()

    def follow(self, path: str) -> str:
        """Go along a path up to its last name, which is given back; "" when it leads to the folder on top."""
        todo = deque(_parts(path))
        if os.path.isabs(path):
            todo = self._anchored(list(todo))
        while todo:
            name = todo.popleft()
            if name == "..":
                todo = self._up(todo)
            elif (target := self.top.link(name)) is not None:
                todo = self._linked(target, todo)
            elif not todo:
                return name
            elif not self._entered(name):
                todo.appendleft(name)
        return ""

    def enter(self, name: str) -> None:
        """Open a folder in the one on top, which `follow` has found to be no link."""
        if not self._entered(name):
            raise WorkspaceError(f"'{self._path}' was changed while it was looked at; try again")

    def _entered(self, name: str) -> bool:
        """Open a folder in the one on top; False if somebody has made the name a link meanwhile."""
        try:
            self._open.append(self._opened(name))
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
                raise
            if self.top.link(name) is None:
                raise WorkspaceError(f"'{self._path}': '{shown(name)}' is not a folder") from None
            self._count_link()
            return False
        return True

    def _opened(self, name: str) -> Folder:
        try:
            return self.top.enter(name)
        except FileNotFoundError:
            if not self._make:
                raise
        with suppress(FileExistsError):  # somebody else was quicker
            self.top.make(name)
        return self.top.enter(name)

    def _up(self, todo: deque[str]) -> deque[str]:
        if len(self._open) > 1:
            self._open.pop().close()
            return todo
        return self._anchored([*_parts(os.path.dirname(self.top.path)), *todo])

    def _linked(self, target: str, todo: deque[str]) -> deque[str]:
        self._count_link()
        if os.path.isabs(target):
            return self._anchored([*_parts(target), *todo])
        return deque([*_parts(target), *todo])

    def _anchored(self, absolute: list[str]) -> deque[str]:
        """Start again in the innermost root that holds an absolute path; gives what is left to go from there."""
        found: tuple[int, Path] | None = None
        for root in self._roots:
            for form in (_parts(str(root)), _parts(os.path.realpath(root))):
                if _is_below(absolute, form) and (found is None or len(form) > found[0]):
                    found = len(form), root
        if found is None:
            raise OutsideWorkspace(
                f"'{self._path}' leads out of the workspace; give a path relative to the workspace's root, "
                "such as 'notes/today.md'"
            )
        self._restart(found[1])
        return deque(absolute[found[0] :])

    def _restart(self, root: Path) -> None:
        self.close()
        self._open.append(Folder.at(str(root)))

    def _count_link(self) -> None:
        self._links += 1
        if self._links > _MOST_LINKS:
            raise WorkspaceError(f"'{self._path}' goes through too many links, perhaps in a circle")


@contextmanager
def told(path: str) -> Iterator[None]:
    """Say errors of the system in words for a model, with the path as it was given."""
    try:
        yield
    except FileNotFoundError:
        raise WorkspaceError(f"'{shown(path)}' does not exist; list_directory shows what there is") from None
    except UnicodeEncodeError:
        raise WorkspaceError(f"'{shown(path)}' has characters that no file name can have") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise WorkspaceError(f"'{shown(path)}' was changed while it was looked at; try again") from None
        raise WorkspaceError(f"'{shown(path)}': {error.strerror or type(error).__name__}") from None


def shown(name: str) -> str:
    """A path on one line: as it is, or as JSON text (which a tool takes back) if it has unprintable characters."""
    return name if name.isprintable() else json.dumps(name)


def _check(path: str) -> None:
    """Refuse what means different things to different systems and programs."""
    if "\0" in path:
        raise OutsideWorkspace(f"'{shown(path)}' has a NUL character in it; no path has")
    if "\\" in path:
        raise OutsideWorkspace(f"'{shown(path)}' has a backslash in it; separate folders by '/'")
    if path.startswith("~"):
        raise OutsideWorkspace(f"'{shown(path)}': '~' is not a folder here; paths are relative to the workspace's root")
    if os.name == "nt" and ":" in path:
        raise OutsideWorkspace(f"'{shown(path)}' names a drive; paths are relative to the workspace's root")


def _parts(path: str) -> list[str]:
    return [part for part in path.replace(os.sep, "/").split("/") if part not in ("", ".")]


def _is_below(parts: list[str], root: list[str]) -> bool:
    return parts[: len(root)] == root
