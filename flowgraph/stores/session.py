"""Transactions: those that write, one at a time on a connection that stays open, and those that read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, RootTransaction
from sqlalchemy.exc import DBAPIError

from . import refusals
from .database import Database
from .failures import translated

T = TypeVar("T")


class Transaction:
    """Runs the statements of tables.py. Handed to the function that is the transaction, and of no use after it."""

    __slots__ = ("_change", "_connection", "_sql")

    def __init__(self, connection: Connection, database: Database) -> None:
        self._connection = connection
        self._sql = database.sql
        self._change = database.change

    @property
    def connection(self) -> Connection:
        return self._connection

    def run(self, statement: str, *parameters: object) -> int:
        """Perform a statement: how many rows it changed."""
        return self._change(self._connection, self._sql(statement), parameters)

    def run_all(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Perform a statement once for each row of parameters."""
        if rows:
            self._change(self._connection, self._sql(statement), list(rows))

    def one(self, statement: str, *parameters: object) -> Any:
        """The first row that is found, or None."""
        return self._connection.exec_driver_sql(self._sql(statement), parameters).first()

    def all(self, statement: str, *parameters: object) -> Sequence[Any]:
        """Every row that is found."""
        return self._connection.exec_driver_sql(self._sql(statement), parameters).all()


class Session:
    """A database at work. Everything that goes wrong in it is a StoreError.

    mutex: held while something is written, so at most one thread writes; it may be taken again by its holder.
    """

    def __init__(self, database: Database) -> None:
        self.mutex = threading.RLock()
        self._database = database
        self._writing: Connection | None = None
        self._closed = False

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Perform `work` as one transaction: all of it, or nothing when it raises.

        When the server turns out to be gone before anything was committed, it is tried once more on a new connection,
        since a server that was restarted between two writes is no reason to fail.
        """
        with self.mutex, translated(self._database.name):
            transaction, result = self._perform(work)
            try:
                transaction.commit()
            except BaseException:
                # A connection that failed to commit may still be in the middle of it.
                self._drop_writer()
                raise
            return result

    def _perform(self, work: Callable[[Transaction], T]) -> tuple[RootTransaction, T]:
        try:
            return self._begin(work)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            self._drop_writer()
        return self._begin(work)

    def _begin(self, work: Callable[[Transaction], T]) -> tuple[RootTransaction, T]:
        connection = self._writer()
        transaction = connection.begin()
        try:
            return transaction, work(Transaction(connection, self._database))
        except BaseException:
            transaction.rollback()
            raise

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Perform `work` on one state of everything, beside whatever is written meanwhile. It changes nothing."""
        self._check_open()
        with translated(self._database.name), self._database.reader.connect() as connection, connection.begin():
            return work(Transaction(connection, self._database))

    def close(self) -> None:
        """Let go of all connections, and of the locks."""
        with self.mutex:
            self._closed = True
            with translated(self._database.name):
                self._drop_writer()
                self._database.locks.close()
                self._database.writer.dispose()

    def _check_open(self) -> None:
        if self._closed:
            raise refusals.closed(self._database.name)

    def _writer(self) -> Connection:
        self._check_open()
        if self._writing is None:
            self._writing = self._database.writer.connect()
        return self._writing

    def _drop_writer(self) -> None:
        if self._writing is not None:
            self._writing.invalidate()
            self._writing.close()
            self._writing = None
