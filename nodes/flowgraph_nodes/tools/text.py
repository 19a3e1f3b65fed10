"""Any value as text for a model: never a crash, never a hang.

Text is left as it is, a value that is written as text stands there bare, everything else becomes JSON. What JSON
does not know: datetime, date, time, timedelta in
ISO 8601; UUID, Decimal, Path and other types pydantic knows as text; an Enum as its value; sets as sorted lists;
dataclasses and pydantic models as objects; bytes as `{"base64": …, "bytes": <length>}`; NaN and infinities as
the texts "NaN", "Infinity", "-Infinity"; keys as text; an exception as `Kind: message`; a value inside itself as
"<circular>"; more than 40 levels as "<too deep>"; anything else as its `str()`, or `<Kind object>` if that raises.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import AsyncIterator, Iterator, Mapping, Set
from contextlib import contextmanager
from enum import Enum
from typing import Any, Final

import pydantic_core
from pydantic import BaseModel

from flowgraph_nodes.wire import sound

_DEEPEST: Final = 40


def to_text(value: Any) -> str:
    """The value as a model reads it (see the module's docstring)."""
    try:
        plain = _Plain().of(value)
    except Exception:  # a container whose own methods raise
        plain = _shown(value)
    return sound(plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False))


class _Plain:
    """Turns a value into what JSON knows; remembers which containers it is in."""

    def __init__(self) -> None:
        self._inside: set[int] = set()

    def of(self, value: Any) -> Any:
        if isinstance(value, Enum):
            value = value.value
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else json.dumps(float(value))
        if isinstance(value, bytes | bytearray | memoryview):
            raw = bytes(value)
            return {"base64": base64.b64encode(raw).decode("ascii"), "bytes": len(raw)}
        with self._within(value) as refusal:
            return refusal or self._container(value)

    def _container(self, value: Any) -> Any:
        if isinstance(value, BaseModel):
            return self._model(value)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {f.name: self.of(getattr(value, f.name, None)) for f in dataclasses.fields(value)}
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, Set):
            return sorted((self.of(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
        if isinstance(value, list | tuple):
            return [self.of(item) for item in value]
        return _atom(value)

    def _model(self, value: BaseModel) -> Any:
        try:
            return self.of(value.model_dump(mode="python", by_alias=True))
        except Exception:
            return _shown(value)

    def _mapping(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        for key, item in value.items():
            name = key if type(key) is str else to_text(key)
            while name in plain:  # 1 and "1" are two keys
                name += "'"
            plain[name] = self.of(item)
        return plain

    @contextmanager
    def _within(self, value: Any) -> Iterator[str | None]:
        if id(value) in self._inside:
            yield "<circular>"
        elif len(self._inside) >= _DEEPEST:
            yield "<too deep>"
        else:
            self._inside.add(id(value))
            try:
                yield None
            finally:
                self._inside.discard(id(value))


def _atom(value: Any) -> Any:
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {_shown(value)}"
    if isinstance(value, Iterator | AsyncIterator):  # it may never end, and would be used up
        return _shown(value)
    try:
        plain = pydantic_core.to_jsonable_python(value)
    except Exception:
        return _shown(value)
    return plain if isinstance(plain, str) else _shown(value)


def _shown(value: Any) -> str:
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__} object>"
