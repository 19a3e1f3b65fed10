"""Events as JSON lines, for machines that watch a run."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ..errors import brief
from ..events import Event
from ..outcome import MISSING, Reason


def line_of(event: Event) -> str:
    """One event as one line of JSON: `{"event": "node_finished", "at": …, "path": …, …}`."""
    from pydantic_core import to_json

    shown: dict[str, Any] = {"event": snake(type(event).__name__)}
    for field in fields(event):
        value = getattr(event, field.name)
        if value is None or value is MISSING:
            continue
        shown[field.name] = plain(value)
    return to_json(shown, fallback=str, inf_nan_mode="null").decode()


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
