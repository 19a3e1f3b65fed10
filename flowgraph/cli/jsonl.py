"""Events as JSON lines, for machines that watch a run."""

from __future__ import annotations

import contextlib
import json
from dataclasses import fields
from typing import Any

from ..errors import brief
from ..events import Event
from ..fits import shown
from ..outcome import MISSING, Reason


def line_of(event: Event) -> str:
    """One event as one line of JSON: `{"event": "node_finished", "at": …, "path": …, …}`."""
    line: dict[str, Any] = {"event": snake(type(event).__name__)}
    for field in fields(event):
        value = getattr(event, field.name)
        if value is None or value is MISSING:
            continue
        line[field.name] = plain(value)
    return json_text(line)


def json_text(value: Any, indent: int | None = None) -> str:
    """Any value as JSON that can be printed anywhere. What JSON cannot hold is told in words; never raises."""
    from pydantic_core import to_json

    with contextlib.suppress(Exception):  # half a surrogate pair, a value that holds itself, a repr that raises
        return to_json(value, indent=indent, fallback=shown_in_words, inf_nan_mode="null", bytes_mode="base64").decode()
    try:
        return json.dumps(value, indent=indent, default=shown_in_words)
    except Exception:
        return json.dumps(shown_in_words(value))


def shown_in_words(value: Any) -> str:
    """A value's type and a short repr."""
    return shown(value, 200)


def plain(value: Any) -> Any:
    """Reasons and errors in words; anything else as it is."""
    if isinstance(value, Reason):
        return {"kind": value.kind, "node": value.node, "text": str(value)}
    if isinstance(value, BaseException):
        return brief(value)
    return value


def snake(name: str) -> str:
    """NodeFinished → node_finished."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
