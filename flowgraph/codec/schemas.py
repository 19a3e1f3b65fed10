"""How pydantic writes and reads a type for us: bytes of every kind and every float survive, names are the fields' own."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from flowgraph.fits import adapter_for

_CONFIG: Final = {"ser_json_bytes": "base64", "val_json_bytes": "base64", "ser_json_inf_nan": "constants"}
_CONFIGURED: Final = ("model", "dataclass", "typed-dict")
"""Schemas that have a config of their own."""
_OPAQUE: Final = frozenset({"cls", "config", "default", "metadata"})
"""Parts of a schema that hold no schemas."""


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

    schema, config = _configured(adapter_for(type_).core_schema), CoreConfig(**_CONFIG)  # type: ignore[typeddict-item]
    # classes bring serializers and validators made with their own config: not to be used here
    return Schema(
        SchemaSerializer(schema, config, _use_prebuilt=False),
        SchemaValidator(schema, config, _use_prebuilt=False),
    )


def _configured(schema: Any) -> Any:
    """A schema in which every class is written and read by our config."""
    if isinstance(schema, list | tuple):
        return type(schema)(map(_configured, schema))
    if not isinstance(schema, dict):
        return schema
    copy = {key: part if key in _OPAQUE else _configured(part) for key, part in schema.items()}
    if schema.get("type") in _CONFIGURED:
        copy["config"] = {**schema.get("config", {}), **_CONFIG}
    return copy
