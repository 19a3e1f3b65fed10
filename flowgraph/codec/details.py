"""What nodes keep beside their output, as JSON: readable, lossy, and never a reason to fail."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from .parts import MASK, fields_of, is_secret
from .plain import ATOMS, dumped, is_plain

_DEEPEST: Final = 100
_LISTS: Final = (list, tuple, set, frozenset, deque)


def encode_detail(detail: Mapping[str, Any]) -> str:
    """A node's details as JSON text. Never raises: what is no JSON becomes the next best, secrets are masked."""
    for form in (_as_it_is, readable, _names):
        try:
            return dumped(form(detail))
        except Exception:  # noqa: S112  # then the next best
            continue
    return "{}"


def readable(value: Any, depth: int = 0) -> Any:
    """The value as plain JSON. Objects that cannot be written become the name of their type, secrets a mask."""
    if type(value) in ATOMS:
        return value
    if is_secret(value):
        return MASK
    if depth > _DEEPEST:
        return _name(value)
    if isinstance(value, Enum):
        return readable(value.value, depth + 1)
    if isinstance(value, Mapping):
        return {_key(key): readable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, _LISTS):
        return [readable(item, depth + 1) for item in value]
    if (inside := fields_of(value, every=True)) is not None:
        return {name: readable(item, depth + 1) for name, item in inside.items()}
    return _leaf(value)


def _as_it_is(detail: Any) -> Any:
    if not is_plain(detail):
        raise TypeError("not plain JSON")
    return detail


def _names(detail: Mapping[Any, Any]) -> dict[str, str]:
    return {key: _name(item) for key, item in detail.items() if type(key) is str and key.isascii()}


def _key(key: Any) -> str:
    plain = readable(key)
    return plain if type(plain) is str else str(plain)


def _leaf(value: Any) -> Any:
    from pydantic_core import to_jsonable_python

    try:
        written = to_jsonable_python(value, fallback=_name, serialize_unknown=True)
    except Exception:
        return _name(value)
    return written if is_plain(written) else _name(value)


def _name(value: Any) -> str:
    return f"<{type(value).__name__}>"
