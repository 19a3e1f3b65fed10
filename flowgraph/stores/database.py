"""What a SQL store needs of a kind of database: how to connect, and locks that die with the process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from sqlalchemy import Connection, Engine

Parameters: TypeAlias = tuple[Any, ...] | list[tuple[Any, ...]]


class Locks(Protocol):
    """One lock a run, which the operating system or the server takes back when the process dies.

    Not for several threads: the store calls them one at a time.
    """

    def alone(self, writing: Connection) -> None:
        """Until this transaction ends, no other process takes or drops locks; so a lock can be tried for a moment."""
        ...

    def take(self, run_id: str) -> bool:
        """Take a lock, or keep it; False when somebody else holds it. To be called when `alone`."""
        ...

    def drop(self, run_id: str, writing: Connection | None = None) -> None:
        """Give a lock back, if it is held. writing: the transaction it is done in; None when none can be had."""
        ...

    def keep_values(self, writing: Connection) -> None:
        """Until this transaction ends, no other one adds values: whoever drops unused ones sees every use."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


@dataclass(frozen=True, slots=True)
class Database:
    """A database that is ready to be used.

    name: for messages, without a password. writer, reader: engines for transactions that write (on SQLite they begin
    as writers, so that they wait for their turn instead of failing midway) and for those that see one state of
    everything. sql: adapts the parameters of a statement to the driver. change: performs a statement that gives no
    rows (with a tuple of parameters once, with a list of them many times) and says how many it changed.
    """

    name: str
    writer: Engine
    reader: Engine
    locks: Locks
    sql: Callable[[str], str]
    change: Callable[[Connection, str, Parameters], int]
