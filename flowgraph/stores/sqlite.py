"""SQLite: one file, used by several processes of one machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from filelock import FileLock
from sqlalchemy import URL, Connection, Engine, create_engine, event

from ..errors import StoreError
from . import tables
from .database import Database, Parameters
from .failures import translated
from .file_locks import FileLocks
from .inspection import APPLICATION_ID, check

BUSY_SECONDS: Final = 30.0
CHECKPOINT_PAGES: Final = 4000
"""How much the write-ahead log holds (16 MB) before a writer moves it into the file, and waits for the disk twice."""
WAL_BYTES: Final = 64 * 1024 * 1024
"""What the write-ahead log is cut back to after a great transaction."""


def open_file(path: Path) -> Database:
    """Open a store, and make it if there is none.

    Raises StoreError, before anything was changed, when the place will not do or something else is there.
    """
    with translated(str(path)):
        _check_place(path)
        if not _is_there(path):
            _make(path)
        check(path)
    engine = _engine(path)
    return Database(
        name=str(path),
        writer=engine.execution_options(flowgraph_begin="BEGIN IMMEDIATE"),
        reader=engine,
        locks=FileLocks(path.with_name(f"{path.name}-locks")),
        sql=str,
        change=_change,
    )


def _engine(path: Path) -> Engine:
    """Connections that leave BEGIN to us: the recipe of SQLAlchemy's page on SQLite."""
    url = URL.create("sqlite", database=str(path))
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS}, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StoreError(f"the store {path} cannot be used: its file system does not support SQLite's WAL mode")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        _change(connection, connection.get_execution_options().get("flowgraph_begin", "BEGIN"), ())

    return engine


def _change(connection: Connection, statement: str, parameters: Parameters) -> int:
    """Straight to SQLite: the way through SQLAlchemy takes a statement longer than what it does there."""
    cursor = connection.connection.cursor()
    try:
        if isinstance(parameters, list):
            cursor.executemany(statement, parameters)
        else:
            cursor.execute(statement, parameters)
        return cursor.rowcount
    finally:
        cursor.close()


def _is_there(path: Path) -> bool:
    """An empty file is a new one, as it is to SQLite."""
    return path.exists() and path.stat().st_size > 0


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise StoreError(f"the store {path} cannot be used: it is a folder; name a file in it, such as {path}/runs.db")
    if not path.parent.is_dir():
        raise StoreError(f"the store {path} cannot be made: there is no folder {path.parent}; make it first")
    if path.exists() and not path.is_file():
        raise StoreError(f"the store {path} cannot be used: it is no regular file")
    for place in [path.parent, *([path] if path.exists() else [])]:
        if not os.access(place, os.R_OK | os.W_OK):
            raise StoreError(f"the store {path} cannot be used: {place} may not be read and written by this user")


def _make(path: Path) -> None:
    """Make the file beside its place and put it there complete, so that a crash or a second maker never shows."""
    with _alone(path):
        if _is_there(path):
            return
        for left in (path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-journal")):
            # SQLite would play what belonged to another file into the new one.
            if left.exists() and left.stat().st_size:
                raise StoreError(
                    f"the store {path} is missing or empty, but {left.name} is left of it: "
                    "put the file back, or remove what is left"
                )
        draft = path.with_name(f"{path.name}.new")
        try:
            _make_draft(draft)
            if path.exists():
                shutil.copymode(path, draft)
            draft.replace(path)
        finally:
            for name in (draft.name, f"{draft.name}-wal", f"{draft.name}-shm"):
                path.with_name(name).unlink(missing_ok=True)


def _make_draft(draft: Path) -> None:
    draft.unlink(missing_ok=True)
    engine = _engine(draft)
    try:
        with engine.begin() as connection:
            tables.create(connection)
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
    finally:
        engine.dispose()


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One maker of a file at a time.

    The lock file is removed at the end: whoever still waits for it, or takes a new one, finds the store made.
    """
    file = path.with_name(f"{path.name}.lock")
    file.touch()  # fails at once where no file can be made; the lock would go on trying
    with FileLock(file, timeout=BUSY_SECONDS, thread_local=False):
        try:
            yield
        finally:
            with suppress(OSError):
                file.unlink()
