"""What errors hold, as plain JSON that says its types: nobody declares the types of an error's attributes.

Atoms and lists stand for themselves, everything else is an object of one key: what it is.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, Final

from flowgraph.errors import NotStorable
from flowgraph.missing import MISSING

from .classes import class_named, name_of
from .parts import is_model
from .plain import ATOMS
from .values import Withheld, decode, encode

_MANY: Final[dict[str, Callable[[Any], Any]]] = {"tuple": tuple, "set": set, "frozenset": frozenset}


def tagged(value: Any, error_to_json: Callable[[BaseException], dict[str, Any]]) -> Any:
    """The value as plain JSON. Raises NotStorable when it cannot be given back, or holds a secret."""
    kind = type(value)

    def inner(item: Any) -> Any:
        return tagged(item, error_to_json)

    if kind in ATOMS:
        return value
    if kind is list:
        return list(map(inner, value))
    if kind.__name__ in _MANY and kind is _MANY[kind.__name__]:
        return {kind.__name__: list(map(inner, value))}
    if kind is dict:
        return {"dict": [[inner(key), inner(item)] for key, item in value.items()]}
    if kind is bytes:
        return {"bytes": b64encode(value).decode()}
    if value is MISSING:
        return {"missing": True}
    if isinstance(value, BaseException):
        return {"error": error_to_json(value)}
    if (is_dataclass(value) or is_model(value) or isinstance(value, Enum)) and class_named(name_of(kind)) is kind:
        try:
            return {"of": [name_of(kind), encode(value, kind)]}
        except Withheld as error:
            raise NotStorable("it holds a secret") from error
    raise NotStorable(f"a {kind.__qualname__} cannot be stored")


def untagged(row: Any, error_from_json: Callable[[dict[str, Any]], BaseException]) -> Any:
    """The inverse of `tagged`. Raises whatever a row that is none of its own leads to."""

    def inner(item: Any) -> Any:
        return untagged(item, error_from_json)

    if isinstance(row, list):
        return list(map(inner, row))
    if not isinstance(row, dict):
        return row
    ((kind, inside),) = row.items()
    match kind:
        case "dict":
            return {inner(key): inner(item) for key, item in inside}
        case "bytes":
            return b64decode(inside)
        case "missing":
            return MISSING
        case "error":
            return error_from_json(inside)
        case "of":
            name, text = inside
            return decode(text, class_named(name))
        case _:
            return _MANY[kind](map(inner, inside))
