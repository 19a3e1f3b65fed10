"""Locks of runs as locked files beside a SQLite database. The kernel frees those of a process that is killed."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import Connection


class FileLocks:
    """One file a run, in a folder of their own.

    Files are opened, locked and removed only while the database's write lock is held, in `alone`: so nobody can lock
    a file that was just removed, and files and folder go when they are needed no more.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._taken: dict[str, FileLock] = {}

    def alone(self, writing: Connection) -> None:
        """Nothing to do: a transaction that writes is alone in SQLite."""

    def keep_values(self, writing: Connection) -> None:
        """Nothing to do, for the same reason."""

    def take(self, run_id: str) -> bool:
        if run_id in self._taken:
            return True
        self._folder.mkdir(exist_ok=True)
        name = hashlib.sha256(run_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        lock = FileLock(self._folder / f"{name}.lock", timeout=0, thread_local=False)
        try:
            lock.acquire()
        except Timeout:
            return False
        self._taken[run_id] = lock
        return True

    def drop(self, run_id: str, writing: Connection | None = None) -> None:
        lock = self._taken.pop(run_id, None)
        if lock is None:
            return
        lock.release()
        if writing is not None:
            with suppress(OSError):
                Path(lock.lock_file).unlink()
                self._folder.rmdir()  # only when it is empty

    def close(self) -> None:
        for run_id in list(self._taken):
            self.drop(run_id)
