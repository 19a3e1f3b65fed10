"""Marks for fields that pydantic alone could not write and read: errors, and values that nobody declares a type for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .attributes import tagged, untagged
from .failures import decode_error, encode_error


class StoredError:
    """Marks a field that holds an error or None: `Annotated[Exception | None, StoredError()]`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return _written_by(
            lambda error: None if error is None else encode_error(error),
            lambda row: None if row is None else decode_error(row),
        )


class StoredValue:
    """Marks a field of any type: it is written with its type, if that is a dataclass, a model, an enum or plain."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return _written_by(lambda value: tagged(value, encode_error), lambda row: untagged(row, decode_error))


def _written_by(write: Callable[[Any], Any], read: Callable[[Any], Any]) -> Any:
    from pydantic_core import core_schema

    return core_schema.json_or_python_schema(
        json_schema=core_schema.no_info_plain_validator_function(read),
        python_schema=core_schema.any_schema(),
        serialization=core_schema.plain_serializer_function_ser_schema(write, when_used="json"),
    )
