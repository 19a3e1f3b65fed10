"""How pydantic writes and reads a type for us: all bytes and floats survive, members of unions say what they are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final, NamedTuple
from uuid import UUID

from flowgraph.fits import adapter_for

_CONFIG: Final[dict[str, Any]] = {
    "ser_json_bytes": "base64",
    "val_json_bytes": "base64",
    "ser_json_inf_nan": "constants",
}
_CONFIGURED: Final = ("model", "dataclass", "typed-dict")
"""Schemas that have a config of their own."""
_OPAQUE: Final = frozenset({"cls", "config", "default", "metadata"})
"""Parts of a schema that hold no schemas."""
_LEAVES: Final[dict[str, type]] = {
    "bytes": bytes,
    "date": date,
    "datetime": datetime,
    "decimal": Decimal,
    "time": time,
    "timedelta": timedelta,
    "uuid": UUID,
}
"""Schemas of types that are written as text, so that a union with text could not tell."""


class Schema(NamedTuple):
    """A type's serializer and validator, of pydantic_core."""

    serializer: Any
    validator: Any

    def dump(self, value: Any) -> Any:
        """The value as plain JSON. Raises whatever the serializers of its types raise."""
        return self.serializer.to_python(value, mode="json", by_alias=False, warnings=False)

    def load(self, text: str) -> Any:
        """The value that a text stands for. Raises whatever the validators of its types raise."""
        return self.validator.validate_json(text, by_alias=False, by_name=True)


def schema_for(type_: Any) -> Schema:
    """Build the schema. Raises pydantic's errors for a type that it has no notion of."""
    from pydantic_core import CoreConfig, SchemaSerializer, SchemaValidator

    core = adapter_for(type_).core_schema
    schema = _adapted(core, {item["ref"]: item for item in core.get("definitions", ())})
    config = CoreConfig(**_CONFIG)  # type: ignore[typeddict-item]
    return Schema(_built(SchemaSerializer, schema, config), _built(SchemaValidator, schema, config))


def _built(kind: Any, schema: Any, config: Any) -> Any:
    """A serializer or validator that takes nothing from those that classes bring: they were made with other configs."""
    try:
        return kind(schema, config, _use_prebuilt=False)
    except TypeError:  # a pydantic that cannot be told so: what it then loses is refused by the proof
        return kind(schema, config)


def _adapted(schema: Any, definitions: dict[str, Any]) -> Any:
    """A schema in which every class is written and read by our config, and members of unions have their names."""
    if isinstance(schema, list | tuple):
        return type(schema)(_adapted(part, definitions) for part in schema)
    if not isinstance(schema, dict):
        return schema
    copy = {key: part if key in _OPAQUE else _adapted(part, definitions) for key, part in schema.items()}
    if schema.get("type") in _CONFIGURED:
        copy["config"] = {**schema.get("config", {}), **_CONFIG}
    elif schema.get("type") == "union":
        copy["choices"] = [_member(choice, definitions) for choice in copy["choices"]]
    return copy


def _member(choice: Any, definitions: dict[str, Any]) -> Any:
    """A member of a union: a class, or what would look like text, is written with its name beside it."""
    schema = choice[0] if isinstance(choice, tuple) else choice
    kind = _class_of(schema, definitions)
    if kind is None:
        return choice
    from pydantic_core import core_schema

    name = core_schema.typed_dict_field(core_schema.literal_schema([kind.__qualname__]))
    config = core_schema.CoreConfig(**_CONFIG)  # type: ignore[typeddict-item]
    named = {"is": name, "value": core_schema.typed_dict_field(schema)}
    writing = core_schema.wrap_serializer_function_ser_schema(_writer(kind), schema=schema)
    return core_schema.no_info_after_validator_function(
        itemgetter("value"),
        core_schema.typed_dict_schema(named, extra_behavior="forbid", config=config),
        serialization=writing,
    )


def _writer(kind: type) -> Callable[[Any, Any], Any]:
    from pydantic_core import PydanticSerializationUnexpectedValue

    def write(value: Any, handler: Any) -> Any:
        if type(value) is not kind:
            raise PydanticSerializationUnexpectedValue(f"no {kind.__qualname__}")
        return {"is": kind.__qualname__, "value": handler(value)}

    return write


def _class_of(schema: Any, definitions: dict[str, Any]) -> type | None:
    """The class that a member of a union stands for, None when it is no such class."""
    while True:
        kind = schema["type"]
        if kind in ("model", "dataclass"):
            found: type = schema["cls"]
            return found
        if kind == "definition-ref":
            schema = definitions[schema["schema_ref"]]
        elif kind.startswith("function-") and "schema" in schema:
            schema = schema["schema"]
        else:
            return _LEAVES.get(kind)
