"""Errors of databases and files, turned into StoreErrors that say what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from ..errors import StoreError

_ADVICE: Final = (
    ("disk is full", "nothing of this was stored, what was there stays: make room on the disk"),
    ("no space left", "nothing of this was stored, what was there stays: make room on the disk"),
    ("disk i/o error", "nothing of this was stored, what was there stays: see that its disk works and has room"),
    ("malformed", "it is damaged: put back a copy, or save what is left with `sqlite3 FILE .recover`"),
    ("not a database", "it is damaged, or no store at all"),
    ("could not decode", "it is damaged: put back a copy, or save what is left with `sqlite3 FILE .recover`"),
    ("no such table", "it is damaged: put back a copy, or save what is left with `sqlite3 FILE .recover`"),
    ("is locked", "another process has kept it busy for too long: try again"),
    ("readonly", "check that its file and folder may be written"),
    ("unable to open", "check that its file and folder may be read and written"),
)


def cannot(store: str, error: BaseException) -> StoreError:
    """The StoreError for an error of SQLite, PostgreSQL or the operating system. Has no SQL and no parameters in it."""
    original = getattr(error, "orig", None) or error
    words = " ".join(str(original).split()) or type(original).__name__
    advice = next((f"; {advice}" for part, advice in _ADVICE if part in words.lower()), "")
    return StoreError(f"the store {store} cannot be used: {words}{advice}")


@contextmanager
def translated(store: str) -> Iterator[None]:
    """Whatever goes wrong in the database, its driver or the files around it becomes a StoreError.

    UnicodeError: a text with half a surrogate pair, which no database takes.
    """
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError, UnicodeError) as error:
        raise cannot(store, error) from error
