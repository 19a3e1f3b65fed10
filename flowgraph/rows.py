"""Rows: lasting events as JSON texts in a versioned envelope, and back. What a store holds of a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final, NamedTuple

from . import events as ev
from .codec import decode_error, encode_detail, encode_error
from .errors import Break, StoreError
from .outcome import MISSING, Reason, Status, Usage

VERSION: Final = 1
"""Of the envelope. Rows of a higher one were written by a newer flowgraph."""

INLINE: Final = 2_048
"""Longer texts (characters) stand outside of the row, once for all rows that have the same."""

_KINDS: Final[dict[str, type[ev.Lasting]]] = {
    "run_started": ev.RunStarted,
    "run_resumed": ev.RunResumed,
    "run_paused": ev.RunPaused,
    "run_finished": ev.RunFinished,
    "graph_started": ev.GraphStarted,
    "node_started": ev.NodeStarted,
    "node_retrying": ev.NodeRetrying,
    "node_falling_back": ev.NodeFallingBack,
    "node_waiting": ev.NodeWaiting,
    "spawned": ev.Spawned,
    "decided": ev.Decided,
    "gate_opened": ev.GateOpened,
    "gate_answered": ev.GateAnswered,
    "node_finished": ev.NodeFinished,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}


class Row(NamedTuple):
    """An event as text. values: digest → text of what it refers to."""

    text: str
    values: Mapping[str, str]


def row_of(event: ev.Lasting, text: str | None = None) -> Row:
    """An event as a row. text: what the run layer has encoded already: an output, an answer, a run's inputs."""
    kind = type(event)
    known: dict[str, Any] = {"v": VERSION, "e": _NAMES[kind]}
    texts: dict[str, str] = {}
    for name, default in _FIELDS[kind]:
        if name in ("seq", "value") or (name == "inputs" and kind is ev.RunStarted):
            continue  # what users gave comes as text, and is not even compared
        value = getattr(event, name)
        if value is default or value == default:
            continue
        if name == "error":
            known.update(_broken(value) if isinstance(value, Break) else {"error": encode_error(value)})
        elif name == "detail":
            if kind is ev.NodeFinished:
                texts["detail"] = encode_detail(value)
            else:
                known["detail"] = value
        elif name in ("spec", "schema") and value is not None:
            texts[name] = _dumped(value)
        elif (plain := _PLAIN.get(name)) is not None:
            known[name] = plain(value)
        else:
            known[name] = value
    if text is not None:
        texts["inputs" if kind is ev.RunStarted else "value"] = text
    return _joined(known, texts)


def event_of(text: str, seq: int, values: Mapping[str, str]) -> ev.Lasting:
    """The event of a row. Raises StoreError when it cannot be read."""
    try:
        row = json.loads(text)
        version, kind = int(row.pop("v")), str(row.pop("e"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"event {seq} is damaged: {error}") from error
    if version > VERSION or kind not in _KINDS:
        raise StoreError(f"event {seq} was written by a newer flowgraph ('{kind}', version {version}): update this one")
    try:
        for name in [name for name in row if name.endswith("_ref")]:
            row[name.removesuffix("_ref")] = json.loads(values[row.pop(name)])
        if "break" in row:
            row["error"] = Break(row["value"]) if row.pop("break") else Break()
        for name, convert in _CONVERT.items():
            if name in row and (name != "error" or isinstance(row[name], dict)):
                row[name] = convert(row[name])
        if kind == "node_finished" and row["status"] is not Status.SUCCEEDED:
            row.setdefault("value", MISSING)
        return _KINDS[kind](seq=seq, **row)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"event {seq} ('{kind}') is damaged: {type(error).__name__}: {error}") from error


def _joined(known: dict[str, Any], texts: dict[str, str]) -> Row:
    """The row's text, with long texts outside of it."""
    values: dict[str, str] = {}
    parts: list[str] = []
    for name, text in texts.items():
        if len(text) > INLINE:
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            values[digest] = text
            known[f"{name}_ref"] = digest
        else:
            parts.append(f'"{name}":{text}')
    return Row(_dumped(known)[:-1] + "".join(f",{part}" for part in parts) + "}", values)


def _broken(signal: Break) -> dict[str, Any]:
    """A succeeded node run that ends the loop around it: with the value of its output, or without any."""
    return {"break": signal.value is not MISSING}


def _used(usage: Usage) -> dict[str, Any]:
    return {f.name: value for f in fields(usage) if (value := getattr(usage, f.name)) != f.default}


_dumped: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False, ensure_ascii=True).encode
_PLAIN: Final[dict[str, Callable[[Any], Any]]] = {
    "reason": lambda reason: [reason.kind, reason.node, reason.detail],
    "usage": _used,
    "status": str,
}
_CONVERT: Final[dict[str, Callable[[Any], Any]]] = {
    "reason": lambda row: Reason(*row),
    "usage": lambda row: Usage(**row),
    "status": Status,
    "error": decode_error,
    "nodes": lambda rows: tuple(tuple(row) for row in rows),
    "edges": lambda rows: tuple(tuple(row) for row in rows),
    "taken": tuple,
    "unhandled": tuple,
    "causes": tuple,
    "withheld": lambda row: tuple(row) if isinstance(row, list) else row,
}
_FIELDS: Final = {kind: tuple((f.name, f.default) for f in fields(kind)) for kind in _KINDS.values()}
