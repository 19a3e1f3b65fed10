"""Values of declared types as texts, each with the proof that loading gives it back."""

from __future__ import annotations

import inspect
from functools import cache
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from flowgraph.errors import NotStorable, StoreError, brief
from flowgraph.fits import check_for, describe

from .details import readable
from .parts import holds_secret
from .plain import ATOMS, dumped, is_plain, loaded, strange_part
from .proof import difference
from .schemas import Schema, schema_for

_OPEN: Final = (Any, object, inspect.Parameter.empty)
"""Types that declare nothing."""


class Withheld(Exception):
    """A value holds a secret and must not be written. `masked`: its JSON text, lossy, with the secrets masked.

    `digest(value)` compares it with what it is in another process.
    """

    def __init__(self, masked: str) -> None:
        self.masked = masked
        super().__init__("the value holds a secret and is not stored")


def encode(value: Any, type_: Any = Any, where: str = "") -> str:
    """The value as JSON text, from which `decode` with the same type gives an equal value of the same type.

    where: the path of the node that gave it, for messages.

    Raises:
        NotStorable: there is no such text.
        Withheld: the value holds a secret.
    """
    try:
        if type(value) is type_ and type_ in ATOMS:
            return dumped(value)
        if _takes_plain(type_):
            if is_plain(value) and _misfit(value, type_) is None:
                return dumped(value)
            if _open(type_):
                return _refused_as_strange(value, where)
        elif value is None and type_ is None:
            return "null"
    except (ValueError, RecursionError) as error:
        raise NotStorable(f"{_given(value, where)}, which cannot be written as JSON: {brief(error)}") from error
    return _encoded(value, type_, where)


def decode(text: str, type_: Any = Any) -> Any:
    """The value that `encode` wrote.

    Raises:
        StoreError: the text is damaged, or does not fit the type (any more).
    """
    try:
        if not _takes_plain(type_):
            return _schema(type_).load(text)
        value = loaded(text)
        misfit = _misfit(value, type_)
    except Exception as error:  # a validator of a user may raise anything
        raise StoreError(f"{_no_longer(type_)}: {brief(error)}") from error
    if misfit is not None:
        raise StoreError(f"{_no_longer(type_)}: {misfit}")
    return value


def _encoded(value: Any, type_: Any, where: str) -> str:
    """The text by way of pydantic, and the proof."""
    if holds_secret(value):
        raise Withheld(dumped(readable(value)))
    try:
        schema = _schema(type_)
        text = dumped(schema.dump(value))
    except Exception as error:  # a serializer of a user may raise anything
        raise NotStorable(
            f"{_given(value, where)}, which cannot be written as {describe(type_)}: {_why(error)}. Return plain JSON, "
            "or a dataclass or pydantic model of types that pydantic can write"
        ) from error
    try:
        back = schema.load(text)
    except Exception as error:
        raise NotStorable(
            f"{_given(value, where)}, which cannot be read back as {describe(type_)}: {_why(error)}. "
            "What is written must be valid for the same type"
        ) from error
    if (found := difference(value, back, lambda: dumped(schema.dump(back)) == text)) is not None:
        raise NotStorable(
            f"{_given(value, where)}, which would not come back equal as {describe(type_)}: {found}. "
            "Declare the type that it has, or return one that pydantic writes and reads without loss"
        )
    return text


def _refused_as_strange(value: Any, where: str) -> str:
    if holds_secret(value):
        raise Withheld(dumped(readable(value)))
    place, part = strange_part(value) or ("", value)
    inside = f" with something of type {type(part).__qualname__} at {place}" if place else ""
    raise NotStorable(
        f"{_given(value, where)}{inside}, but declares no type: only plain JSON (dict, list, str, int, float, bool, "
        "None) can be stored then. Declare what it returns, such as a pydantic model or a dataclass"
    )


def _given(value: Any, where: str) -> str:
    kind = type(value).__qualname__
    return f"'{where}' gave a value of type {kind}" if where else f"a value of type {kind} is to be stored"


def _why(error: Exception) -> str:
    return brief(error).rstrip(".:")


def _no_longer(type_: Any) -> str:
    return f"a stored value does not fit {'plain JSON' if _open(type_) else describe(type_)} (has the type changed?)"


def _open(type_: Any) -> bool:
    return any(type_ is one for one in _OPEN)


def _misfit(value: Any, type_: Any) -> str | None:
    check = check_for(type_)
    return None if check is None else check(value)


def _takes_plain(type_: Any) -> bool:
    """Whether a type is made of the types of JSON alone, so that JSON text is all there is to it."""
    try:
        return _takes_plain_cached(type_)
    except TypeError:  # not hashable
        return False


@cache
def _takes_plain_cached(type_: Any) -> bool:
    if _open(type_) or type_ in ATOMS or type_ is None or type_ is list or type_ is dict:
        return True
    origin, args = get_origin(type_), get_args(type_)
    if origin is Literal:
        return all(type(arg) in ATOMS for arg in args)
    if origin is dict and args[0] is not str:
        return False
    return origin in (list, dict, Union, UnionType) and all(map(_takes_plain_cached, args))


def _schema(type_: Any) -> Schema:
    try:
        return _schema_cached(type_)
    except TypeError:
        return schema_for(type_)


_schema_cached: Final = cache(schema_for)
