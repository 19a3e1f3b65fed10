"""PostgreSQL: one database, used from several machines."""

from __future__ import annotations

import hashlib
import importlib.util
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, inspect, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ..errors import StoreError
from . import tables
from .database import Database
from .failures import translated

KEEPALIVE: Final = {"tcp_keepalives_idle": 30, "tcp_keepalives_interval": 10, "tcp_keepalives_count": 3}
"""Seconds, seconds, times: when the server gives up a client whose machine is gone, and with it its locks."""


def open_server(address: str) -> Database:
    """Connect, and make the tables if there are none. Raises StoreError."""
    url = _url(address)
    name = url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)
    engine = create_engine(url, hide_parameters=True, pool_pre_ping=True, pool_size=5, max_overflow=20)
    try:
        with translated(name), engine.begin() as connection:
            _alone(connection)
            if not inspect(connection).has_table(tables.META.name):
                tables.create(connection)
    except StoreError:
        engine.dispose()
        raise
    return Database(
        name=name,
        writer=engine,
        reader=engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True),
        locks=AdvisoryLocks(engine),
        sql=lambda statement: statement.replace("?", "%s"),
        change=lambda connection, statement, parameters: connection.exec_driver_sql(statement, parameters).rowcount,
    )


def _url(address: str) -> URL:
    if importlib.util.find_spec("psycopg") is None:
        raise StoreError("PostgreSQL needs its driver: pip install 'flowgraph-agents[postgres]'")
    try:
        return make_url(address).set(drivername="postgresql+psycopg")
    except (SQLAlchemyError, ValueError):
        # Neither the address nor what was said of it may be shown: a password stands in it.
        raise StoreError(
            "the address of the store cannot be read: write postgresql://user:password@host:port/database, "
            "with special characters of the password as %XX"
        ) from None


def _alone(connection: Connection) -> None:
    """Until the end of the transaction, keep others from making tables, and from taking and dropping locks."""
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (_number("flowgraph"),))


def _number(text: str) -> int:
    """A hash that fits the key of an advisory lock: 64 bits with a sign."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


class AdvisoryLocks:
    """Session locks on one connection of their own: the server frees them when it ends.

    When it is lost the locks are taken again with the next call, as far as nobody else took them meanwhile; if
    somebody did, the epoch of the claim keeps its old owner from writing.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._connection: Connection | None = None
        self._taken: set[str] = set()

    def alone(self, writing: Connection) -> None:
        _alone(writing)

    def keep_values(self, writing: Connection) -> None:
        writing.exec_driver_sql("LOCK TABLE flowgraph_values IN SHARE ROW EXCLUSIVE MODE")

    def take(self, run_id: str) -> bool:
        # The server counts how often a session takes a lock, and a transaction that is tried again must not count.
        if run_id not in self._taken and self._ask("SELECT pg_try_advisory_lock(%s)", run_id):
            self._taken.add(run_id)
        return run_id in self._taken

    def drop(self, run_id: str, writing: Connection | None = None) -> None:
        if run_id in self._taken:
            self._taken.discard(run_id)
            self._ask("SELECT pg_advisory_unlock(%s)", run_id)

    def close(self) -> None:
        self._taken.clear()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(self, sql: str, run_id: str) -> Any:
        try:
            return self._once(sql, run_id)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            self._lose()
            return self._once(sql, run_id)

    def _once(self, sql: str, run_id: str) -> Any:
        if self._connection is None:
            self._connection = self._connect()
        with self._connection.begin():
            return self._connection.exec_driver_sql(sql, (_number(f"run {run_id}"),)).scalar_one()

    def _connect(self) -> Connection:
        connection = self._engine.connect()
        # Out of the pool: back in it, it would keep its locks.
        connection.detach()
        with connection.begin():
            for setting, value in KEEPALIVE.items():
                connection.exec_driver_sql(f"SET {setting} = {value}")
            for run_id in self._taken:
                connection.exec_driver_sql("SELECT pg_try_advisory_lock(%s)", (_number(f"run {run_id}"),))
        return connection

    def _lose(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
