"""Whether a value that was loaded is the one that was stored: equal, and of the same types all through."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .parts import fields_of
from .plain import ATOMS


def difference(stored: Any, back: Any, same_text: Callable[[], bool]) -> str | None:
    """What is not the same, with its place, in words; None when nothing is.

    same_text: asked when something in it cannot be compared by `==`: whether `back` is written as the same text.
    """
    doubts: list[str] = []
    found = _differ(stored, back, doubts)
    if found is None and doubts and not same_text():
        found = doubts
    return None if found is None else _sentence(found)


def _sentence(found: list[str]) -> str:
    words, *path = found
    place = "".join(reversed(path))
    return f"at {place}, {words}" if place else words


def _differ(a: Any, b: Any, doubts: list[str]) -> list[str] | None:
    """The first difference, in words, and then the steps to it from the inside out."""
    kind = type(a)
    if kind is not type(b):
        return [f"{kind.__qualname__} would become {type(b).__qualname__}"]
    if kind in ATOMS:
        return None if a == b or (a != a and b != b) else ["the value would be another"]
    if isinstance(a, list | tuple):
        return _differ_in_order(a, b, doubts)
    if isinstance(a, Mapping):
        return _differ_by_key(a, b, doubts)
    if isinstance(a, set | frozenset):
        same = a == b and {(type(item), item) for item in a} == {(type(item), item) for item in b}
        return None if same else ["its members would be others"]
    if (inside := fields_of(a)) is not None:
        return _differ_in_fields(inside, fields_of(b) or {}, doubts)
    return _differ_as_objects(a, b, doubts)


def _differ_in_order(a: Any, b: Any, doubts: list[str]) -> list[str] | None:
    if len(a) != len(b):
        return [f"{len(a)} items would become {len(b)}"]
    for index, (one, other) in enumerate(zip(a, b, strict=True)):
        if (found := _differ(one, other, doubts)) is not None:
            return [*found, f"[{index}]"]
    return None


def _differ_by_key(a: Mapping[Any, Any], b: Mapping[Any, Any], doubts: list[str]) -> list[str] | None:
    if len(a) != len(b):
        return [f"{len(a)} keys would become {len(b)}"]
    for (key, one), (other_key, other) in zip(a.items(), b.items(), strict=True):
        if (found := _differ(key, other_key, doubts)) is not None:
            return [*found, "[a key]"]
        if (found := _differ(one, other, doubts)) is not None:
            return [*found, f"[{key!r}]"]
    return None


def _differ_in_fields(a: dict[str, Any], b: dict[str, Any], doubts: list[str]) -> list[str] | None:
    for name, one in a.items():
        if name not in b:
            return ["it would be lost", f".{name}"]
        if (found := _differ(one, b[name], doubts)) is not None:
            return [*found, f".{name}"]
    return ["there would be more in it"] if b.keys() - a.keys() else None


def _differ_as_objects(a: Any, b: Any, doubts: list[str]) -> list[str] | None:
    other = ["the value would be another"]
    same = _equal(a, b)
    if same is None or _equal(a, a) is not True:
        doubts[:] = other
        return None
    return None if same else other


def _equal(a: Any, b: Any) -> bool | None:
    """What `==` says; None when it says nothing: it compares identities, raises, or gives no bool."""
    if not any("__eq__" in vars(kind) for kind in type(a).__mro__[:-1]):
        return None
    try:
        same = a == b
    except Exception:  # whatever a user's raises
        return None
    return same if isinstance(same, bool) else None
