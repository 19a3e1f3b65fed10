"""JSON schemas of tool parameters: from signatures and pydantic models, and in the closed, strict form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema

from flowgraph.outcome import MISSING
from flowgraph_nodes.errors import ToolDefinitionError
from flowgraph_nodes.tools.signature import Parameter, Signature

JsonSchema = dict[str, Any]

_OF_SCHEMAS: Final = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_LIST_OF_SCHEMAS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMA: Final = ("items", "additionalProperties", "not", "contains", "propertyNames")


class _Generator(GenerateJsonSchema):
    """Leaves out the titles made from field names, and defaults that JSON cannot hold."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - pydantic's own

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def model_of(signature: Signature, name: str) -> tuple[type[BaseModel], JsonSchema]:
    """A pydantic model whose field `f<n>` is the n-th parameter, under the parameter's name outside; and its schema.

    Raises:
        ToolDefinitionError: a parameter's type has no JSON schema.
    """
    fields = {f"f{number}": _field(parameter) for number, parameter in enumerate(signature.parameters)}
    config = ConfigDict(extra="allow" if signature.open else "forbid")
    try:
        model: type[BaseModel] = create_model(name, __config__=config, **cast(Any, fields))
        return model, schema_of(model)
    except Exception as error:
        raise ToolDefinitionError(f"tool '{name}': {_culprit(signature, error)}") from error


def schema_of(model: type[BaseModel]) -> JsonSchema:
    """The JSON schema of a pydantic model, by alias; references into `$defs` stay resolvable."""
    schema = model.model_json_schema(schema_generator=_Generator)
    schema.pop("title", None)
    schema.pop("description", None)  # it is the tool's
    return schema


def checked_schema(schema: Mapping[str, Any], name: str) -> JsonSchema:
    """A ready JSON schema of a tool, as it was given.

    Raises:
        ToolDefinitionError: it does not describe an object.
    """
    if schema.get("type", "object") != "object":
        raise ToolDefinitionError(f"tool '{name}': its schema must be an object, not {schema['type']!r}")
    return {"type": "object", "properties": {}, **schema}


def closed(schema: Mapping[str, Any], name: str) -> JsonSchema:
    """The strict form that providers want: every object closed, every property required, optional ones nullable.

    Source: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas

    Raises:
        ToolDefinitionError: a part cannot be closed (a mapping with free keys, a value of any type).
    """
    definitions = schema.get("$defs", {})

    def close(part: Mapping[str, Any]) -> JsonSchema:
        if "$ref" in part and len(part) > 1:  # a reference may have nothing beside it
            target = definitions.get(str(part["$ref"]).rpartition("/")[2], {})
            part = {**target, **{key: value for key, value in part.items() if key != "$ref"}}
        part = {key: value for key, value in part.items() if key not in ("default", "discriminator")}
        if "oneOf" in part:
            part["anyOf"] = part.pop("oneOf")
        if not part.keys() & {"type", "$ref", "anyOf", "allOf", "enum", "const"}:
            raise ToolDefinitionError(f"tool '{name}' cannot be strict: a part of its schema takes any value")
        if part.get("type") == "object" or "properties" in part:
            part = _closed_object(part, name)
        return over_parts(part, close)

    return close(schema)


def over_parts(schema: Mapping[str, Any], change: Callable[[Mapping[str, Any]], JsonSchema]) -> JsonSchema:
    """A copy of the schema with `change` applied to each schema right inside it."""
    copy = dict(schema)
    for key in copy.keys() & _OF_SCHEMAS:
        copy[key] = {name: change(part) for name, part in copy[key].items()}
    for key in copy.keys() & _LIST_OF_SCHEMAS:
        copy[key] = [change(part) for part in copy[key]]
    for key in copy.keys() & _SCHEMA:
        if isinstance(copy[key], Mapping):
            copy[key] = change(copy[key])
    return copy


def _closed_object(part: Mapping[str, Any], name: str) -> JsonSchema:
    properties = part.get("properties", {})
    if part.get("additionalProperties") or part.get("patternProperties") or ("properties" not in part):
        raise ToolDefinitionError(f"tool '{name}' cannot be strict: an object in its schema has free keys")
    required = part.get("required", ())
    return {
        **part,
        "properties": {
            key: value if key in required or _nullable(value) else {"anyOf": [value, {"type": "null"}]}
            for key, value in properties.items()
        },
        "required": list(properties),
        "additionalProperties": False,
    }


def _nullable(part: Mapping[str, Any]) -> bool:
    kind = part.get("type")
    return kind == "null" or (isinstance(kind, list) and "null" in kind) or any(map(_nullable, part.get("anyOf", ())))


def _field(parameter: Parameter) -> tuple[Any, Any]:
    """The parameter as pydantic's `create_model` takes a field.

    A description given by `Field` replaces that of the docstring, so it stands behind it.
    """
    default = parameter.default
    metadata = [Field(description=parameter.description)] if parameter.description else []
    hint = parameter.hint
    if get_origin(hint) is Annotated:
        hint, *given = get_args(hint)
        metadata += given
    if isinstance(default, FieldInfo):
        metadata.append(default)
    if metadata:
        hint = Annotated[hint, *metadata]
    if default is MISSING or isinstance(default, FieldInfo):
        return hint, Field(alias=parameter.name)
    return hint, Field(default, alias=parameter.name)


def _culprit(signature: Signature, error: Exception) -> str:
    """Which parameter has no schema, and why."""
    for parameter in signature.parameters:
        try:
            TypeAdapter(parameter.hint).json_schema(schema_generator=_Generator)
        except Exception as found:
            reason = str(found).split("\n", 1)[0]
            return f"the type of parameter '{parameter.name}' has no JSON schema: {reason}"
    return f"no JSON schema can be made: {error}"
