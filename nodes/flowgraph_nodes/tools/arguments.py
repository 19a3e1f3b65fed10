"""Reading the arguments a model wrote: text in, validated Python values out.

The rules: no text, white space and null mean no arguments. Anything else must be a JSON object, or a JSON string
that holds one (unwrapped once); of a repeated key the last holds. A value sent as JSON text ("4", "[1,2]") is
unwrapped once where the text itself does not fit. null for an optional parameter that takes no null means its
default. Whatever does not fit is an error that names the fields; nothing is silently dropped.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from flowgraph_nodes.errors import ArgumentsError
from flowgraph_nodes.tools.schema import JsonSchema
from flowgraph_nodes.tools.signature import Signature

_Path = tuple[int | str, ...]
_NO_VALUE: Final = object()


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a target is called with."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


class Reader(Protocol):
    """Turns the object a model wrote into arguments for the target.

    Raises:
        ArgumentsError: it does not fit.
    """

    def __call__(self, given: dict[str, Any]) -> Arguments: ...


def parsed(text: str | None) -> dict[str, Any]:
    """The object that a call's arguments text stands for.

    Raises:
        ArgumentsError: it is not a JSON object.
    """
    if text is None or not text.strip():
        return {}
    value = _loaded(text)
    if isinstance(value, str):
        value = _loaded(value) if value.strip() else None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ArgumentsError(f"arguments must be one JSON object, not {_kind(value)}")
    return value


@dataclass(frozen=True, slots=True)
class SignatureReader:
    """Reads arguments for a callable by the model made of its signature (see `model_of`)."""

    model: type[BaseModel]
    signature: Signature
    strict: bool = False

    def __call__(self, given: dict[str, Any]) -> Arguments:
        instance = validated(self.model, _without_nulls(self.model, given) if self.strict else given)
        args: list[Any] = []
        kwargs: dict[str, Any] = dict(instance.model_extra or {})
        for number, parameter in enumerate(self.signature.parameters):
            name = f"f{number}"
            # the target knows its own defaults, unless they are pydantic's to make
            ours = name in instance.model_fields_set or isinstance(parameter.default, FieldInfo)
            if parameter.positional:
                args.append(getattr(instance, name) if ours else parameter.default)
            elif ours:
                kwargs[parameter.name] = getattr(instance, name)
        return Arguments(tuple(args), kwargs)


@dataclass(frozen=True, slots=True)
class ModelReader:
    """Reads arguments as an instance of a pydantic model, which is the target's one argument."""

    model: type[BaseModel]
    strict: bool = False

    def __call__(self, given: dict[str, Any]) -> Arguments:
        return Arguments((validated(self.model, _without_nulls(self.model, given) if self.strict else given),))


@dataclass(frozen=True, slots=True)
class SchemaReader:
    """Reads arguments by a ready JSON schema: names, and JSON text at the top. The target checks the rest."""

    schema: JsonSchema

    def __call__(self, given: dict[str, Any]) -> Arguments:
        properties: Mapping[str, Any] = self.schema.get("properties", {})
        problems = [f"{name}: is missing" for name in self.schema.get("required", ()) if name not in given]
        if self.schema.get("additionalProperties") is False:
            problems += [f"{name}: no such argument" for name in given if name not in properties]
        if problems:
            raise ArgumentsError(_listed(problems, properties))
        return Arguments(kwargs={name: _by_type(value, properties.get(name)) for name, value in given.items()})


def validated(model: type[BaseModel], given: Mapping[str, Any]) -> BaseModel:
    """An instance of `model`, values that came as JSON text unwrapped where they do not fit as they are.

    Raises:
        ArgumentsError: with one line per field that is wrong.
    """
    data: Any = dict(given)
    mended: set[_Path] = set()
    while True:
        try:
            return model.model_validate(data)
        except ValidationError as error:
            changed = _mend(data, error, mended)
            if changed is None:
                raise ArgumentsError(_explained(error, model)) from None
            data = changed


def _without_nulls(model: type[BaseModel], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without the nulls that stand for absent ones in the strict form."""
    absent = {info.alias or name for name, info in model.model_fields.items() if not info.is_required()}
    return {key: value for key, value in given.items() if value is not None or key not in absent}


def _mend(data: Any, error: ValidationError, mended: set[_Path]) -> Any:
    """A copy in which JSON text and stray nulls at the wrong fields are replaced; None if there are none."""
    paths = {_path_in(data, item["loc"]) for item in error.errors(include_url=False, include_context=False)}
    copied: Any = None
    for path in sorted(paths - mended - {()}, key=str):
        value = _at(data, path)
        inner = _NO_VALUE if value is None else _unwrapped(value)
        if value is not None and inner is _NO_VALUE:
            continue
        mended.add(path)
        copied = copy.deepcopy(data) if copied is None else copied
        owner = _at(copied, path[:-1])
        if inner is not _NO_VALUE:
            owner[path[-1]] = inner
        elif isinstance(owner, dict):
            del owner[path[-1]]
    return copied


def _path_in(data: Any, loc: _Path) -> _Path:
    """The part of an error's location that is in the data; the rest names members of unions and the like."""
    path: list[int | str] = []
    for key in loc:
        if key not in _keys(data):
            break
        data = data[key]
        path.append(key)
    return tuple(path)


def _keys(data: Any) -> Container[int | str]:
    if isinstance(data, dict):
        return data.keys()
    return range(len(data)) if isinstance(data, list) else ()


def _at(data: Any, path: _Path) -> Any:
    for key in path:
        data = data[key]
    return data


def _unwrapped(value: Any) -> Any:
    if not isinstance(value, str):
        return _NO_VALUE
    try:
        inner = json.loads(value)
    except (ValueError, RecursionError):
        return _NO_VALUE
    return _NO_VALUE if isinstance(inner, str) else inner


def _by_type(value: Any, schema: Any) -> Any:
    """The value, unwrapped when it is JSON text of the type that the schema asks for."""
    wanted = schema.get("type") if isinstance(schema, Mapping) else None
    kinds = {wanted} if isinstance(wanted, str) else set(wanted or ())
    if not isinstance(value, str) or not kinds or "string" in kinds:
        return value
    inner = _unwrapped(value)
    kind = _kind(inner)
    fits = kind in kinds or (kind == "integer" and "number" in kinds)
    return inner if inner is not _NO_VALUE and fits else value


def _kind(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ArgumentsError("arguments are nested too deeply") from None
    except ValueError as error:
        raise ArgumentsError(f"arguments are not valid JSON: {error}") from None


def _explained(error: ValidationError, model: type[BaseModel]) -> str:
    problems: list[str] = []
    for item in error.errors(include_url=False, include_input=False, include_context=False):
        where = ".".join(map(str, item["loc"]))
        match item["type"]:
            case "missing":
                problems.append(f"{where}: is missing")
            case "extra_forbidden":
                problems.append(f"{where}: no such argument")
            case _:
                problems.append(f"{where}: {item['msg']}" if where else item["msg"])
    names = [info.alias or name for name, info in model.model_fields.items()]
    return _listed(list(dict.fromkeys(problems)), dict.fromkeys(names))


def _listed(problems: list[str], names: Mapping[str, Any]) -> str:
    shown = "; ".join(problems[:10]) + (f"; and {len(problems) - 10} more" if len(problems) > 10 else "")
    return f"{shown} (arguments: {', '.join(names) or 'none'})"
