"""Runs in stores: what is there, read back as records; answers that are given while nothing of the run is at work."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from contextlib import closing
from os import PathLike
from typing import Any, TypeAlias

from . import events as ev
from .codec import encode, holds_secret
from .errors import AnswerRefused, RunNotFound, StoreError
from .missing import MISSING
from .outcome import Status
from .record import Run
from .rows import event_of, row_of
from .spec import read_document
from .stores import Batch, Head, Journal, Store, open_store

Where: TypeAlias = str | PathLike[str] | Store
"""A store, or where one is: a path (a SQLite file) or the address of a PostgreSQL database."""


def runs(store: Where) -> list[Head]:
    """All runs of a store, the latest first. Raises StoreError."""
    with closing(open_store(store)) as opened:
        return opened.heads()


def load_run(run_id: str, *, store: Where) -> Run:
    """A run as it is stored; outputs are plain JSON: the types are the graph's. Raises RunNotFound, StoreError."""
    with closing(open_store(store)) as opened:
        return record_of(opened.read(run_id))


def answer(run_id: str, path: str, value: Any, *, store: Where) -> None:
    """Answer a gate of a paused run; `fg.resume` then goes on. value: plain JSON.

    Raises AnswerRefused, and changes nothing, when no such gate is open or the value does not fit; RunBusy while the
    run is at work (answer there, with `run.answer`); RunNotFound, StoreError.
    """
    with closing(open_store(store)) as opened:
        claim = opened.claim(run_id)
        try:
            journal = opened.read(run_id)
            record = record_of(journal)
            plain = checked_answer(record, path, value)
            if wants_secret(record, path):
                raise AnswerRefused(
                    f"gate '{path}' wants a secret, which is not stored: give it to fg.resume(answers=)"
                )
            event = ev.GateAnswered(time.time(), path, journal.head.length, plain)
            row = row_of(event, encode(event.value))
            record.apply(event)
            opened.write([Batch(claim, _head(journal.head, record), journal.head.length, [row.text], row.values)])
        finally:
            opened.release(claim)


def record_of(journal: Journal) -> Run:
    """The record of a stored run. Raises StoreError when it is damaged, RunNotFound when it has no events yet."""
    if not journal.rows:
        raise RunNotFound(
            f"of run {journal.head.run_id} nothing is stored but its name, since whoever made it was stopped before it "
            "began: start it again with fg.run"
        )
    try:
        events = [event_of(row, number, journal.values) for number, row in enumerate(journal.rows)]
    except StoreError as error:
        raise StoreError(f"run {journal.head.run_id} cannot be read: {error}") from error
    first = events[0] if events else None
    if not isinstance(first, ev.RunStarted) or first.spec is None:
        raise StoreError(f"run {journal.head.run_id} is damaged: it does not begin with its start")
    try:
        spec, outputs = read_document(first.spec)
        record = Run(spec, outputs)
        for event in events:
            record.apply(event)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"run {journal.head.run_id} is damaged: {type(error).__name__}: {error}") from error
    return record


def checked_answer(record: Run, path: str, value: Any) -> Any:
    """An answer to an open gate of a run that is not at work, as plain JSON. Raises AnswerRefused."""
    gate = next((gate for gate in record.gates if gate.path == path), None)
    if gate is None:
        known = ", ".join(f"'{gate.path}'" for gate in record.gates) or "none"
        node = record.nodes.get(path)
        was = " any more: it was answered" if node and node.gate and node.gate.answer is not MISSING else ""
        raise AnswerRefused(f"no gate '{path}' of run {record.id} is open{was}; open are: {known}")
    import jsonschema
    from pydantic_core import to_jsonable_python

    if callable(secret := getattr(value, "get_secret_value", None)):
        value = secret()
    if holds_secret(value):
        raise AnswerRefused(f"gate '{path}' asks {gate.question!r}: give an answer with secrets in it as plain JSON")
    try:
        plain = to_jsonable_python(value)
        jsonschema.validate(plain, gate.schema)
    except (jsonschema.ValidationError, ValueError) as error:
        why = error.message if isinstance(error, jsonschema.ValidationError) else str(error)
        wanted = json.dumps(gate.schema, ensure_ascii=False)
        raise AnswerRefused(f"gate '{path}' asks {gate.question!r}: {why} (wanted: {wanted})") from None
    return plain


def wants_secret(record: Run, path: str) -> bool:
    """Whether the answer to a gate is a secret, or holds one: then it must not be stored."""
    gate = record.nodes[path].gate
    return gate is not None and '"writeOnly": true' in json.dumps(gate.schema)


def checked_answers(record: Run, answers: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Answers to open gates, all of them checked, and those for gates that may yet open. Raises AnswerRefused.

    One that was given before, in the same words, is left out: so a script that is run again goes on.
    """
    if not isinstance(answers, Mapping):
        known = ", ".join(f"'{gate.path}'" for gate in record.gates) or "none"
        raise AnswerRefused(f"answers= wants a mapping of path → answer, for one or more of the open gates: {known}")
    now: dict[str, Any] = {}
    later: dict[str, Any] = {}
    for path, value in answers.items():
        if _may_open(record, path):
            later[path] = value
        elif not _was_given(record, path, value):
            now[path] = checked_answer(record, path, value)
    return now, later


def _may_open(record: Run, path: str) -> bool:
    """Whether there is no such gate yet, and it may lie at or below a node that has not succeeded."""
    node, top = record.nodes.get(path), record.nodes.get(re.split(r"[/#\[~]", path)[0])
    if top is None or top.status is Status.SUCCEEDED:
        return False
    return node is None or (node.gate is None and node.status is not Status.SUCCEEDED)


def _was_given(record: Run, path: str, value: Any) -> bool:
    node = record.nodes.get(path)
    return node is not None and node.gate is not None and node.gate.answer is not MISSING and node.gate.answer == value


def _head(head: Head, record: Run) -> Head:
    """The head of a run after an answer."""
    dues = [gate.due for gate in record.gates if gate.due is not None]
    status = str(record.status if record.status is not Status.RUNNING else head.status)
    return Head(
        head.run_id,
        head.graph,
        status,
        head.started,
        record.events[-1].at,
        len(record.events),
        min(dues, default=None),
        head.forked_from,
    )
