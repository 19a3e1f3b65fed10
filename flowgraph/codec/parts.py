"""What values are made of: the fields of dataclasses and pydantic models, what containers hold, and secrets."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from flowgraph.missing import MISSING

from .plain import ATOMS

MASK: Final = "**********"
"""Stands for a secret, in texts and in digests."""

_HOLDERS: Final = (list, tuple, set, frozenset, deque)


def is_secret(value: Any) -> bool:
    """Whether a value is one of pydantic's secrets."""
    types = sys.modules.get("pydantic.types")  # no secret was made before that is loaded
    return types is not None and isinstance(value, types.SecretStr | types.SecretBytes | types.Secret)


def is_model(value: Any) -> bool:
    """Whether a value is an instance of a pydantic model."""
    main = sys.modules.get("pydantic.main")
    return main is not None and isinstance(value, main.BaseModel)


def fields_of(value: Any, *, every: bool = False) -> dict[str, Any] | None:
    """The fields of a dataclass or pydantic model that take part in its equality; None for other values.

    every: also those of a dataclass that do not.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name, MISSING) for f in fields(value) if every or f.compare}
    if not is_model(value):
        return None
    names = type(value).model_fields
    known = {name: item for name, item in vars(value).items() if name in names}
    return known | (value.__pydantic_extra__ or {}) | (value.__pydantic_private__ or {})


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
