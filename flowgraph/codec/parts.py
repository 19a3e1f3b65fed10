"""What values are made of: the fields of dataclasses and pydantic models, what containers hold, and secrets."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final

from flowgraph.missing import MISSING

from .plain import ATOMS

MASK: Final = "**********"
"""Stands for a secret, in texts and in digests."""

_HOLDERS: Final = (list, tuple, set, frozenset, deque)


def is_secret(value: Any) -> bool:
    """Whether a value is one of pydantic's secrets."""
    kind: type = type(value)
    return _is_secret_type(kind)


def is_model(value: Any) -> bool:
    """Whether a value is an instance of a pydantic model."""
    kind: type = type(value)
    return _is_model_type(kind)


def fields_of(value: Any, *, every: bool = False) -> dict[str, Any] | None:
    """The fields of a dataclass or pydantic model that take part in its equality; None for other values.

    every: also those of a dataclass that do not.
    """
    kind: type = type(value)
    names = _field_names(kind, every)
    if names is None:
        return None
    if not _is_model_type(kind):
        return {name: getattr(value, name, MISSING) for name in names}
    inside = vars(value)
    known = {name: inside[name] for name in names if name in inside}
    more, own = value.__pydantic_extra__, value.__pydantic_private__
    return known | (more or {}) | (own or {}) if more or own else known


@cache
def _is_secret_type(kind: type) -> bool:
    types = sys.modules.get("pydantic.types")  # no class of secrets was made before that is loaded
    return types is not None and issubclass(kind, (types.SecretStr, types.SecretBytes, types.Secret))


@cache
def _is_model_type(kind: type) -> bool:
    main = sys.modules.get("pydantic.main")
    return main is not None and issubclass(kind, main.BaseModel)


@cache
def _field_names(kind: type, every: bool) -> tuple[str, ...] | None:
    if is_dataclass(kind):
        return tuple(f.name for f in fields(kind) if every or f.compare)
    return tuple(kind.model_fields) if _is_model_type(kind) else None  # type: ignore[attr-defined]


def holds_secret(value: Any) -> bool:
    """Whether there is a secret in a value: in its containers, models and dataclasses, however deep."""
    stack, seen = [value], dict[int, Any]()
    while stack:
        item = stack.pop()
        if type(item) in ATOMS:
            continue
        if is_secret(item):
            return True
        if id(item) not in seen:
            seen[id(item)] = item
            stack.extend(_inside(item))
    return False


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, _HOLDERS):
        return value
    return (fields_of(value, every=True) or {}).values()
