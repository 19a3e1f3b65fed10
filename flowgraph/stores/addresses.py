"""Where a store is: a path, or the URL of a database."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import StoreError

_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")


def parse(where: str | os.PathLike[str]) -> Path | str:
    """The file of a SQLite store, links resolved, or the URL of a PostgreSQL database. Raises StoreError."""
    text = os.fspath(where)
    if not isinstance(text, str):
        raise StoreError(f"the name of a store is a text or a path, not {type(text).__name__}")
    scheme, mark, rest = text.partition("://")
    if mark and scheme in _POSTGRES:
        return f"postgresql://{rest}"
    if mark and scheme != "sqlite":
        raise StoreError(f"'{scheme}://' is no kind of store: use a path, sqlite:///PATH or postgresql://…")
    if mark and rest and not rest.startswith("/"):
        raise StoreError(f"write {_SQLITE}PATH, with three slashes (four for an absolute path)")
    path = text.removeprefix(_SQLITE) if mark else text
    if path in ("", ":memory:", "sqlite://"):
        raise StoreError("a SQLite store is a file; to keep runs in memory, use MemoryStore()")
    if "\0" in path:
        raise StoreError("the path of a store cannot hold a NUL")
    return Path(os.path.realpath(path))
