"""One opened folder, and what can be done with the names in it. No name is followed as a link.

Where the system has it (Linux, macOS, the BSDs), a folder is held by its file descriptor and every name is looked up
relative to that descriptor. So nobody can swap a part of the path for a link between a check and its use. Elsewhere
(Windows) a folder is held by its path: links are found and refused as well, but a swap at the right moment can win.
"""

from __future__ import annotations

import errno
import os
import stat
from types import TracebackType
from typing import Any, Final

BY_DESCRIPTOR: Final = (
    hasattr(os, "O_NOFOLLOW")
    and {os.open, os.stat, os.mkdir, os.unlink, os.rename, os.readlink} <= os.supports_dir_fd
    and os.listdir in os.supports_fd
)

# A name that is a link is refused by the system itself; opening a FIFO or a device never waits for a partner.
_SAFELY: Final[int] = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_BINARY"))
_FOLDER: Final[int] = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


class Folder:
    """A folder that is open until `close`. `path` is where it was when it was opened; for showing.

    Its methods take one name in the folder, never a path, and raise what `os` raises.
    """

    __slots__ = ("_fd", "path")

    def __init__(self, path: str, fd: int | None) -> None:
        self.path = path
        self._fd = fd

    @classmethod
    def at(cls, path: str) -> Folder:
        """Open the folder at a path that is trusted: links in it are followed."""
        real = os.path.realpath(path)
        return cls(real, os.open(real, os.O_RDONLY | _FOLDER) if BY_DESCRIPTOR else None)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder. May be called twice."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def enter(self, name: str) -> Folder:
        """Open a folder in this one.

        Raises:
            NotADirectoryError, OSError (ELOOP): it is a file or a link. FileNotFoundError.
        """
        path = os.path.join(self.path, name)
        if self._fd is not None:
            return Folder(path, os.open(name, os.O_RDONLY | _FOLDER | _SAFELY, dir_fd=self._fd))
        if not stat.S_ISDIR(self.lstat(name).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return Folder(path, None)

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """A descriptor of a file in this folder. `flags` and `mode` as for `os.open`."""
        if self._fd is None and self.link(name) is not None:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        return os.open(*self._at(name), flags | _SAFELY, mode, **self._in())

    def lstat(self, name: str) -> os.stat_result:
        """What is known of a name, or of the link that it is."""
        return os.stat(*self._at(name), follow_symlinks=False, **self._in())

    def link(self, name: str) -> str | None:
        """Where a link points; None when the name is no link, or not there."""
        try:
            target: str = os.readlink(*self._at(name), **self._in())
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT) or getattr(error, "winerror", None):
                return None
            raise
        return target

    def names(self) -> list[str]:
        """The names in the folder, sorted."""
        return sorted(os.listdir(self.path if self._fd is None else self._fd))

    def make(self, name: str) -> None:
        """Make a folder."""
        os.mkdir(*self._at(name), **self._in())

    def remove(self, name: str) -> None:
        """Remove a file, or a link and not what it points to."""
        os.unlink(*self._at(name), **self._in())

    def replace(self, name: str, by: str) -> None:
        """Give the file `by` the name `name`, in one step. A link of that name is replaced, not followed."""
        if self._fd is None:
            os.replace(*self._at(by), *self._at(name))
        else:
            os.replace(by, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def _at(self, name: str) -> tuple[str]:
        return (os.path.join(self.path, name) if self._fd is None else name,)

    def _in(self) -> dict[str, Any]:
        return {} if self._fd is None else {"dir_fd": self._fd}
