"""A store in a SQL database: SQLite or PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..errors import RunBusy, RunExists, RunNotFound, StoreError
from . import addresses, refusals, tables
from .base import SCHEMA, Batch, Claim, Head, Journal, Memo
from .database import Database
from .failures import translated
from .session import Session, Transaction


class SQLStore:
    """Runs in a SQLite file, or in a PostgreSQL database. See `Store` for the methods.

    where: a path, "sqlite:///path" or "postgresql://user:password@host/database". The file, or the tables, are made
    when there are none. A server that is lost while it commits leaves open whether that batch is stored: reading the
    run tells.
    """

    instant = False

    def __init__(self, where: str | os.PathLike[str]) -> None:
        database = _open(where)
        self._name = database.name
        self._locks = database.locks
        self._session = Session(database)
        self._held: dict[str, Claim] = {}
        try:
            self._upgrade()
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        return self._name

    def claim(self, run_id: str, new: Head | None = None) -> Claim:
        with self._session.mutex:
            try:
                claim = self._session.write(lambda writing: self._claim(writing, run_id, new))
            except BaseException:
                self._drop_lock(run_id)
                raise
            self._held[run_id] = claim
            return claim

    def _claim(self, writing: Transaction, run_id: str, new: Head | None) -> Claim:
        self._locks.alone(writing.connection)
        row = writing.one(tables.FENCE, run_id)
        if new is None and row is None:
            raise self._not_found(run_id)
        if new is not None and row is not None:
            raise RunExists(f"there is a run {run_id} in {self._name} already")
        self._take_lock(run_id, row.owner if row else "")
        writing.run(tables.NEXT_EPOCH)
        claim = Claim(run_id, refusals.this_process(), writing.one(tables.EPOCH).number)
        if new is None:
            writing.run(tables.OWN, claim.owner, claim.epoch, run_id)
        else:
            started = (new.graph, new.status, new.started, new.updated)
            writing.run(tables.CREATE, run_id, *started, new.due, new.forked_from, claim.owner, claim.epoch)
        return claim

    def _take_lock(self, run_id: str, owner: str) -> None:
        """owner: who had it last, as far as is noted."""
        if run_id in self._held or not self._locks.take(run_id):
            raise RunBusy(run_id, owner or "another process")

    def _drop_lock(self, run_id: str) -> None:
        """Outside of a transaction, when there is no other way."""
        if run_id not in self._held:
            with translated(self._name):
                self._locks.drop(run_id)

    def release(self, claim: Claim) -> None:
        with self._session.mutex:
            if self._held.get(claim.run_id) != claim:
                return
            del self._held[claim.run_id]
            try:
                self._session.write(lambda writing: self._release(writing, claim))
            finally:
                # Even if it could not be noted that nobody owns the run: nobody does.
                self._drop_lock(claim.run_id)

    def _release(self, writing: Transaction, claim: Claim) -> None:
        writing.run(tables.DISOWN, claim.run_id, claim.epoch)
        self._locks.drop(claim.run_id, writing.connection)

    def write(self, batches: Sequence[Batch]) -> None:
        """As `Store.write`. When one batch is refused nothing of the call is stored, and the error names its run."""
        with self._session.mutex:
            for batch in batches:
                if self._held.get(batch.claim.run_id) != batch.claim:
                    raise refusals.lost(batch.claim, self._name, "it was released")
            if batches:
                self._session.write(lambda writing: self._add(writing, batches))

    def _add(self, writing: Transaction, batches: Sequence[Batch]) -> None:
        events: list[tuple[object, ...]] = []
        uses: list[tuple[object, ...]] = []
        values: dict[str, str] = {}
        for batch in batches:
            run_id, head, length = batch.claim.run_id, batch.head, batch.first + len(batch.rows)
            changed = (head.graph, head.status, head.started, head.updated, length, head.due, head.forked_from)
            if writing.run(tables.ADVANCE, *changed, run_id, batch.claim.epoch, batch.first) != 1:
                raise self._refusal(writing, batch)
            events += [(run_id, seq, row) for seq, row in enumerate(batch.rows, batch.first)]
            uses += [(run_id, digest) for digest in batch.values]
            values.update(batch.values)
        # Sorted, so that two writers of the same values do not wait for each other for ever on PostgreSQL. Values come
        # before their uses: a run that is deleted meanwhile either sees the use, or is waited for with the value.
        writing.run_all(tables.ADD_VALUE, sorted(values.items()))
        writing.run_all(tables.ADD_USE, uses)
        writing.run_all(tables.ADD_EVENT, events)

    def _refusal(self, writing: Transaction, batch: Batch) -> StoreError:
        row = writing.one(tables.FENCE, batch.claim.run_id)
        if row is None:
            return refusals.lost(batch.claim, self._name, "it was deleted")
        if row.epoch != batch.claim.epoch:
            return refusals.lost(batch.claim, self._name, f"claimed meanwhile by {row.owner or 'another process'}")
        return refusals.does_not_follow(batch.claim.run_id, self._name, batch.first, row.length)

    def read(self, run_id: str) -> Journal:
        head, events, values = self._session.read(
            lambda reading: (
                reading.one(tables.HEAD, run_id),
                reading.all(tables.EVENTS, run_id),
                reading.all(tables.VALUES, run_id),
            )
        )
        if head is None:
            raise self._not_found(run_id)
        if len(events) != head.length or (events and events[-1].seq != head.length - 1):
            raise refusals.short(run_id, self._name, head.length, len(events))
        for digest, text in values:
            if text is None:
                raise refusals.without_value(run_id, self._name, digest)
        (owned,) = self._with_owners([head])
        return Journal(owned, [text for _, text in events], dict(values))

    def heads(self) -> list[Head]:
        return self._with_owners(self._session.read(lambda reading: reading.all(tables.HEADS)))

    def _with_owners(self, rows: Sequence[Any]) -> list[Head]:
        """Heads without the owners that are noted but dead."""
        heads = [Head(*row) for row in rows]
        noted = [head.run_id for head in heads if head.owner]
        dead: set[str] = set()
        # Trying a lock takes a writer's turn. Where there is none to be had (the disk is full), the note stands.
        with suppress(StoreError):
            dead = self._session.write(lambda writing: self._abandoned(writing, noted)) if noted else dead
        return [replace(head, owner="") if head.run_id in dead else head for head in heads]

    def _abandoned(self, writing: Transaction, noted: Sequence[str]) -> set[str]:
        """Which of these runs, all with an owner, are owned by a process that died. It is noted."""
        self._locks.alone(writing.connection)
        dead = {run_id for run_id in noted if run_id not in self._held and self._locks.take(run_id)}
        for run_id in dead:
            self._locks.drop(run_id, writing.connection)
            writing.run(tables.ABANDON, run_id)
        return dead

    def delete(self, run_id: str) -> None:
        with self._session.mutex:
            try:
                self._session.write(lambda writing: self._delete(writing, run_id))
            finally:
                self._drop_lock(run_id)

    def _delete(self, writing: Transaction, run_id: str) -> None:
        self._locks.alone(writing.connection)
        row = writing.one(tables.FENCE, run_id)
        if row is None:
            raise self._not_found(run_id)
        self._take_lock(run_id, row.owner)
        self._locks.keep_values(writing.connection)
        writing.run(tables.DELETE_VALUES, run_id, run_id)
        for statement in tables.DELETE:
            writing.run(statement, run_id)
        self._locks.drop(run_id, writing.connection)

    def recall(self, key: str) -> Memo | None:
        row = self._session.read(lambda reading: reading.one(tables.RECALL, key))
        return None if row is None else Memo(row.data, row.at)

    def remember(self, key: str, memo: Memo) -> None:
        self._session.write(lambda writing: writing.run(tables.REMEMBER, key, memo.text, memo.at))

    def forget(self, before: float) -> int:
        return self._session.write(lambda writing: writing.run(tables.FORGET, before))

    def close(self) -> None:
        with self._session.mutex:
            for claim in list(self._held.values()):
                # What cannot be noted is no reason to stay open: the lock is gone all the same.
                with suppress(StoreError):
                    self.release(claim)
            self._session.close()

    def _not_found(self, run_id: str) -> RunNotFound:
        return RunNotFound(f"there is no run {run_id} in {self._name}")

    def _upgrade(self) -> None:
        """Bring older tables up to date. Raises StoreError when they are newer."""

        def version(at_work: Transaction) -> int:
            found: int = at_work.one(tables.VERSION).number
            if found > SCHEMA:
                raise refusals.too_new(self._name, found)
            return found

        def work(writing: Transaction) -> None:
            self._locks.alone(writing.connection)
            for step in tables.MIGRATIONS[version(writing) - 1 :]:
                step(writing.connection)
            writing.run(tables.SET_VERSION, SCHEMA)

        if self._session.read(version) < SCHEMA:
            self._session.write(work)


def _open(where: str | os.PathLike[str]) -> Database:
    address = addresses.parse(where)
    if isinstance(address, str):
        from .postgres import open_server

        return open_server(address)
    from .sqlite import open_file

    return open_file(address)
