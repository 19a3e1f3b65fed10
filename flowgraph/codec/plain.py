"""Plain JSON: which values are, and their texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

ATOMS: Final = frozenset({str, int, float, bool, type(None)})
_TEXT: Final = frozenset({str})

_compact: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_ascii: Final = json.JSONEncoder(separators=(",", ":")).encode
_WRITERS: Final[dict[type, Callable[[Any], str]]] = {
    int: int.__repr__,
    bool: lambda value: "true" if value else "false",
    type(None): lambda _: "null",
}
"""Quicker than to make ready for what may come inside."""


def is_plain(value: Any) -> bool:
    """Whether a value is plain JSON by its exact types. Raises RecursionError when it is too deep or holds itself."""
    kind = type(value)
    if kind in ATOMS:
        return True
    if kind is dict:
        return _TEXT.issuperset(map(type, value)) and _all_plain(value.values())
    return kind is list and _all_plain(value)


def _all_plain(values: Any) -> bool:
    return ATOMS.issuperset(map(type, values)) or all(map(is_plain, values))


def dumped(value: Any) -> str:
    """The text of plain JSON. NaN and the infinities are written as Python reads them.

    Raises:
        ValueError: a text of it cannot be given back, a number is too long, or it holds itself.
    """
    text = _WRITERS.get(type(value), _compact)(value)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates: no file and no database takes them, escaped ones they do
        text = _ascii(value)
        if json.loads(text) != value:
            raise ValueError("a text in it has two halves of a surrogate pair side by side") from None
    return text


loaded: Final = json.loads
"""The inverse of `dumped`."""


def strange_part(value: Any, path: str = "") -> tuple[str, Any] | None:
    """The first part of a value that is no plain JSON, with its place in it; None when there is none."""
    if type(value) is dict:
        for key, item in value.items():
            if type(key) is not str:
                return f"{path}[{type(key).__name__} key]", key
            if (found := strange_part(item, f"{path}['{key}']")) is not None:
                return found
    elif type(value) is list:
        for index, item in enumerate(value):
            if (found := strange_part(item, f"{path}[{index}]")) is not None:
                return found
    elif type(value) not in ATOMS:
        return path, value
    return None
