"""The tables of a SQL store, the SQL that works on them, and how older ones are brought up to date.

The SQL is written once, for SQLite and PostgreSQL alike; `?` stands for a parameter in both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlalchemy import BigInteger, Column, Connection, Double, Index, MetaData, Table, Text

from .base import SCHEMA

METADATA: Final = MetaData()

# The schema's version and the counter of claims. Its form is a promise to every later version.
META: Final = Table("flowgraph_meta", METADATA, Column("name", Text, primary_key=True), Column("number", BigInteger))

Table(
    "flowgraph_runs",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("graph", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("started", Double, nullable=False),
    Column("updated", Double, nullable=False),
    Column("length", BigInteger, nullable=False),
    Column("due", Double),
    Column("forked_from", Text, nullable=False),
    Column("owner", Text, nullable=False),  # the last; whether it lives is the locks' to know
    Column("epoch", BigInteger, nullable=False),
)
Table(
    "flowgraph_events",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("data", Text, nullable=False),
)
Table(
    "flowgraph_values",
    METADATA,
    Column("digest", Text, primary_key=True),
    Column("data", Text, nullable=False),
)
USES: Final = Table(
    "flowgraph_uses",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("digest", Text, primary_key=True),
)
Index("flowgraph_uses_by_digest", USES.c.digest)
Table(
    "flowgraph_memos",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("data", Text, nullable=False),
    Column("at", Double, nullable=False),
)

VERSION: Final = "SELECT number FROM flowgraph_meta WHERE name = 'schema'"
SET_VERSION: Final = "UPDATE flowgraph_meta SET number = ? WHERE name = 'schema'"
# One counter for all runs: a run that was deleted and made anew never has the epoch of an old claim again.
NEXT_EPOCH: Final = "UPDATE flowgraph_meta SET number = number + 1 WHERE name = 'epoch'"
EPOCH: Final = "SELECT number FROM flowgraph_meta WHERE name = 'epoch'"

_HEAD: Final = "run_id, graph, status, started, updated, length, due, forked_from, owner"
HEADS: Final = f"SELECT {_HEAD} FROM flowgraph_runs ORDER BY started DESC, run_id"  # noqa: S608
HEAD: Final = f"SELECT {_HEAD} FROM flowgraph_runs WHERE run_id = ?"  # noqa: S608
FENCE: Final = "SELECT epoch, length, owner FROM flowgraph_runs WHERE run_id = ?"
CREATE: Final = (
    f"INSERT INTO flowgraph_runs ({_HEAD}, epoch) VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?) "  # noqa: S608
    "ON CONFLICT (run_id) DO NOTHING"
)
OWN: Final = "UPDATE flowgraph_runs SET owner = ?, epoch = ? WHERE run_id = ?"
DISOWN: Final = "UPDATE flowgraph_runs SET owner = '' WHERE run_id = ? AND epoch = ?"
ABANDON: Final = "UPDATE flowgraph_runs SET owner = '' WHERE run_id = ?"

ADVANCE: Final = (
    "UPDATE flowgraph_runs SET graph = ?, status = ?, started = ?, updated = ?, length = ?, due = ?, forked_from = ? "
    "WHERE run_id = ? AND epoch = ? AND length = ?"
)
ADD_EVENT: Final = "INSERT INTO flowgraph_events (run_id, seq, data) VALUES (?, ?, ?)"
ADD_VALUE: Final = "INSERT INTO flowgraph_values (digest, data) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING"
ADD_USE: Final = "INSERT INTO flowgraph_uses (run_id, digest) VALUES (?, ?) ON CONFLICT (run_id, digest) DO NOTHING"

EVENTS: Final = "SELECT seq, data FROM flowgraph_events WHERE run_id = ? ORDER BY seq"
VALUES: Final = (
    "SELECT used.digest, stored.data FROM flowgraph_uses AS used "
    "LEFT JOIN flowgraph_values AS stored ON stored.digest = used.digest WHERE used.run_id = ?"
)

DELETE_VALUES: Final = (
    "DELETE FROM flowgraph_values WHERE digest IN (SELECT digest FROM flowgraph_uses WHERE run_id = ?) AND NOT EXISTS "
    "(SELECT 1 FROM flowgraph_uses AS other WHERE other.digest = flowgraph_values.digest AND other.run_id <> ?)"
)
DELETE: Final = (
    "DELETE FROM flowgraph_uses WHERE run_id = ?",
    "DELETE FROM flowgraph_events WHERE run_id = ?",
    "DELETE FROM flowgraph_runs WHERE run_id = ?",
)

RECALL: Final = "SELECT data, at FROM flowgraph_memos WHERE key = ?"
REMEMBER: Final = (
    "INSERT INTO flowgraph_memos (key, data, at) VALUES (?, ?, ?) "
    "ON CONFLICT (key) DO UPDATE SET data = excluded.data, at = excluded.at"
)
FORGET: Final = "DELETE FROM flowgraph_memos WHERE at < ?"

MIGRATIONS: Final[tuple[Callable[[Connection], None], ...]] = ()
"""The first leads from version 1 to version 2, and so on: one for each version but the first."""


def create(connection: Connection) -> None:
    """Make the tables, empty."""
    METADATA.create_all(connection, checkfirst=False)
    connection.execute(META.insert(), [{"name": "schema", "number": SCHEMA}, {"name": "epoch", "number": 0}])
