"""Digests of values that are the same in every process."""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from pathlib import PurePath
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType, ModuleType
from typing import Any, Final
from uuid import UUID

from flowgraph.missing import Missing

from .classes import name_of
from .parts import fields_of, is_secret
from .plain import is_plain

_DEEPEST: Final = 100
"""Deeper values have no digest: whether they can be looked at would depend on who asks."""

_sorted_json: Final = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


class _Unstable(Exception):
    """Something has no form that is the same in every process."""


def digest(value: Any) -> str | None:
    """A sha256 in hex: equal for equal values, in another process too; None when something in it has no stable form.

    Orders of dicts and sets do not count, types do. Functions and classes count by module and qualified name, secrets
    not at all. An object may have its own: `__digest__()` gives a str, or None when it has none.
    """
    try:
        form = f"json:{_sorted_json(value)}" if is_plain(value) else _form(value)
    except Exception:  # a value that cannot even be looked at has no form either
        return None
    return hashlib.sha256(form.encode("utf-8", "surrogatepass")).hexdigest()


def _form(value: Any, depth: int = 0) -> str:
    """A text of the value: the same for equal ones only, since every piece has a type, and a length or an end."""
    if depth > _DEEPEST:
        raise _Unstable
    kind = type(value)
    if kind is str:
        return f"s{len(value)}:{value}"
    if value is None or kind is bool:
        return f"{value};"
    if kind is int:
        return f"i{value:x};"
    if kind is float:
        return f"f{value!r};"
    if kind in _EXACT:
        return _JOINED[kind](value, depth + 1)
    return f"{_name(kind)}({_content(value, depth + 1)})"


def _content(value: Any, depth: int) -> str:
    """The form of an object, without its type."""
    if is_secret(value):
        return ""
    if hasattr(type(value), "__digest__"):
        return _own(value)
    if isinstance(value, Enum):
        return _form(value.name or value.value, depth)
    for kind in type(value).__mro__:
        if kind in _LEAVES:
            return _form(_LEAVES[kind](value), depth)
        if kind.__module__ in _TEXTUAL:
            return _form(str(value), depth)
    if (inside := fields_of(value)) is not None:
        return _mapping(inside, depth)
    for base, joined in _JOINED.items():
        if isinstance(value, base):
            return joined(value, depth)
    if isinstance(value, BaseException):
        return _sequence(value.args, depth)
    return _callable(value, depth)


def _own(value: Any) -> str:
    own = value.__digest__()
    if not isinstance(own, str):
        raise _Unstable
    return _form(own)


def _callable(value: Any, depth: int) -> str:
    """The form of a class, a function, or a function with something that it is called with."""
    if isinstance(value, type | FunctionType):
        return _name(value)
    if isinstance(value, MethodDescriptorType):
        return _sequence((value.__objclass__, value.__name__), depth)
    if isinstance(value, partial):
        return _sequence((value.func, value.args, value.keywords), depth)
    if isinstance(value, MethodType):
        return _sequence((value.__func__, value.__self__), depth)
    if not isinstance(value, BuiltinFunctionType):
        raise _Unstable
    owner = None if isinstance(value.__self__, ModuleType) else value.__self__
    return _form(f"{value.__module__}:{value.__qualname__}", depth) + _form(owner, depth)


def _sequence(items: Iterable[Any], depth: int) -> str:
    return f"[{''.join([_form(item, depth) for item in items])}]"


def _set(items: Iterable[Any], depth: int) -> str:
    return f"{{{''.join(sorted([_form(item, depth) for item in items]))}}}"


def _mapping(items: Mapping[Any, Any], depth: int) -> str:
    pairs = sorted([(_form(key, depth), _form(item, depth)) for key, item in items.items()])
    return f"<{''.join([key + item for key, item in pairs])}>"


def _tuple(items: Iterable[Any], depth: int) -> str:
    return f"({_sequence(items, depth)})"


def _name(thing: Any) -> str:
    name = name_of(thing)
    return f"{len(name)}:{name}"


_EXACT: Final = frozenset({list, tuple, dict, set})
"""Containers whose form shows by its brackets what they are."""
_JOINED: Final[dict[type, Callable[[Any, int], str]]] = {
    list: _sequence,
    tuple: _tuple,
    dict: _mapping,
    set: _set,
    frozenset: _set,
    deque: _sequence,
    Mapping: _mapping,
}
_TEXTUAL: Final = frozenset({"ipaddress", "pydantic.networks", "pydantic_core._pydantic_core"})
"""Modules whose values are what their texts say, such as addresses of the net."""
_LEAVES: Final[dict[type, Callable[[Any], Any]]] = {
    str: str.__str__,
    int: int.__index__,
    float: float.__float__,
    bytes: bytes.hex,
    bytearray: bytearray.hex,
    complex: lambda value: (value.real, value.imag),
    range: lambda value: (value.start, value.stop, value.step),
    datetime: lambda value: (value.isoformat(), value.fold),
    date: date.isoformat,
    time: lambda value: (value.isoformat(), value.fold),
    timedelta: lambda value: (value.days, value.seconds, value.microseconds),
    tzinfo: str,
    re.Pattern: lambda value: (value.pattern, value.flags),
    Decimal: str,
    Fraction: str,
    UUID: str,
    PurePath: str,
    Missing: repr,
}
