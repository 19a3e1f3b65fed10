"""Stores: where the journals of runs live.

base.py holds the protocol. memory.py, and sql.py for SQLite and PostgreSQL, fulfil it; opening.py finds the store for a
name. Nothing of SQL is imported before a SQL store is made.
"""

from typing import TYPE_CHECKING, Any

from .base import SCHEMA, Batch, Claim, Head, Journal, Memo, Store
from .memory import MemoryStore
from .opening import open_store

if TYPE_CHECKING:
    from .sql import SQLStore

__all__ = [
    "SCHEMA",
    "Batch",
    "Claim",
    "Head",
    "Journal",
    "Memo",
    "MemoryStore",
    "SQLStore",
    "Store",
    "open_store",
]


def __getattr__(name: str) -> Any:
    if name == "SQLStore":
        from .sql import SQLStore

        return SQLStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
