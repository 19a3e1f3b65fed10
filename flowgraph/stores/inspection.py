"""Looks at a SQLite file before it is opened, without changing one byte of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from ..errors import StoreError
from . import refusals, tables
from .base import SCHEMA
from .failures import cannot

APPLICATION_ID: Final = 0x666C6F77
"""Marks a SQLite file as ours: "flow" in ASCII."""

_LOOKS: Final = 20
_SMALLEST: Final = 512  # bytes: the smallest page


def check(path: Path) -> None:
    """Raises StoreError when the file is damaged, cut off, something else, or of a newer flowgraph.

    A plain `open` and `close` of the file would take away the locks that SQLite holds on it elsewhere in this process
    (they are POSIX locks), so all looking is done through SQLite.
    """
    if (size := path.stat().st_size) < _SMALLEST:
        raise StoreError(f"{path} is damaged or no store: no SQLite database is as small as {size} bytes")
    for look in range(_LOOKS):
        before = _state(path)
        try:
            _look(path, in_use=before[2] > 0)
        except StoreError:
            # Another process may have written meanwhile, which an immutable look must not be blamed for.
            if _state(path) == before or look == _LOOKS - 1:
                raise
        else:
            return


def _state(path: Path) -> tuple[int, int, int]:
    """Size and time of change of the file, and the size of its write-ahead log. Bytes, nanoseconds."""
    file = path.stat()
    return file.st_size, file.st_mtime_ns, _wal_size(path)


def _wal_size(path: Path) -> int:
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
    except FileNotFoundError:
        return 0


def _look(path: Path, *, in_use: bool) -> None:
    """in_use: there is a write-ahead log, which belongs to what is stored; reading it needs SQLite's shared memory.

    Without one the file is everything, and is read as immutable, which leaves no files beside it.
    """
    uri = f"file:{quote(str(path))}?mode=ro{'' if in_use else '&immutable=1'}"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None)) as connection:
            _check_contents(path, connection)
    except sqlite3.Error as error:
        raise cannot(str(path), error) from error


def _check_contents(path: Path, connection: sqlite3.Connection) -> None:
    def number(sql: str) -> int:
        row = connection.execute(sql).fetchone()
        return int(row[0]) if row else 0

    if number("PRAGMA application_id") != APPLICATION_ID:
        raise StoreError(f"{path} is a SQLite database, but no store of flowgraph: name another file")
    page, pages = number("PRAGMA page_size"), number("PRAGMA page_count")
    # In this order: what is moved from the log into the file between the two counts twice, never not at all.
    there = _wal_size(path) + path.stat().st_size
    if page * pages > there:
        raise StoreError(
            f"the store {path} is cut off: {page * pages} bytes were written and {there} are there. Put back a copy, "
            "or save what is left with `sqlite3 FILE .recover`"
        )
    if (version := number(tables.VERSION)) > SCHEMA:
        raise refusals.too_new(str(path), version)
    found = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if missing := sorted(set(tables.METADATA.tables) - found):
        raise StoreError(f"the store {path} is damaged: its table {missing[0]} is missing. Put back a copy")
