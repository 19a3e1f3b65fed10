"""Whether values fit types: strict checks by pydantic that leave a valid value as it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

Check: TypeAlias = Callable[[Any], str | None]
"""Gives None for a value that fits, else what is wrong with it, in words."""

_EXACT: Final = (str, int, float, bool, bytes, list, dict, tuple, set, type(None))
"""Types for which an instance of exactly this class needs no further look."""

_OPAQUE: Final = frozenset({"cls", "config", "default", "metadata"})
"""Parts of a pydantic schema that hold no schemas."""


def check_for(type_: Any) -> Check | None:
    """The check for a type, or None when every value fits it (Any, object, nothing declared)."""
    if type_ is Any or type_ is object or type_ is inspect.Parameter.empty:
        return None
    try:
        return _check_for(type_)
    except TypeError:  # not hashable: an Annotated with a list in it, say
        return _lazy(type_)


def describe(type_: Any) -> str:
    """The type's name as a person would write it."""
    if type_ is None or type_ is type(None):
        return "None"
    return type_.__name__ if isinstance(type_, type) and not hasattr(type_, "__args__") else _short(type_)


def shown(value: Any, limit: int = 60) -> str:
    """A value's type and a short repr, for messages. Never raises."""
    try:
        text = repr(value)
    except Exception:
        text = "<no repr>"
    return f"{type(value).__name__} {text if len(text) <= limit else text[: limit - 1] + '…'}"


@cache
def _check_for(type_: Any) -> Check:
    return _lazy(type_)


def _lazy(type_: Any) -> Check:
    """A check whose pydantic schema is built when first needed: most values never get that far."""
    exact = type_ if type_ in _EXACT else None
    validator: list[Callable[[Any], str | None]] = []

    def check(value: Any) -> str | None:
        if type(value) is exact:
            return None
        if not validator:
            validator.append(_validator(type_))
        return validator[0](value)

    return check


def _validator(type_: Any) -> Callable[[Any], str | None]:
    from pydantic import PydanticUndefinedAnnotation, PydanticUserError, ValidationError
    from pydantic_core import SchemaError, SchemaValidator

    if isinstance(type_, type) and issubclass(type_, tuple) and hasattr(type_, "_fields"):
        return lambda value: None if isinstance(value, type_) else f"expected {describe(type_)}, got {shown(value)}"
    try:
        adapter = adapter_for(type_)
    except (PydanticUserError, PydanticUndefinedAnnotation, SchemaError):
        return lambda value: None  # a type that pydantic has no notion of is not checked

    schema = _by_instance(adapter.core_schema)
    validator = adapter.validator if schema == adapter.core_schema else SchemaValidator(schema)

    def validate(value: Any) -> str | None:
        try:
            validator.validate_python(value, strict=True)
        except ValidationError as error:
            return f"expected {describe(type_)}, got {shown(value)}{details(error)}"
        return None

    return validate


def _by_instance(schema: Any) -> Any:
    """A pydantic schema with its models taken by isinstance: strict validation, too, would make one of a mapping."""
    if isinstance(schema, dict):
        if schema.get("type") == "model":
            return {"type": "is-instance", "cls": schema["cls"], "ref": schema.get("ref")}
        return {key: part if key in _OPAQUE else _by_instance(part) for key, part in schema.items()}
    if isinstance(schema, list | tuple):
        return type(schema)(map(_by_instance, schema))
    return schema


def adapter_for(type_: Any) -> Any:
    """A pydantic TypeAdapter that takes plain classes by isinstance."""
    from pydantic import ConfigDict, TypeAdapter, errors

    try:
        return TypeAdapter(type_, config=ConfigDict(arbitrary_types_allowed=True))
    except errors.PydanticUserError as error:
        if error.code != "type-adapter-config-unused":
            raise
        return TypeAdapter(type_)


def details(error: Any) -> str:
    """The places and messages of a pydantic ValidationError when they say more than the type's name."""
    found = [
        f"{'.'.join(map(str, e['loc']))}: {e['msg']}" if e["loc"] else e["msg"]
        for e in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    return f" ({'; '.join(found[:3])}{'; …' if len(found) > 3 else ''})" if found else ""


def _short(type_: Any) -> str:
    return str(type_).replace("typing.", "").replace("NoneType", "None")
