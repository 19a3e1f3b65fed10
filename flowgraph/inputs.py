"""Inputs of a graph: what is given for them, checked before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import InputError
from .fits import adapter_for, describe, details, shown
from .graph import Graph
from .outcome import MISSING


def validated_inputs(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs, checked against what the graph declares, with defaults. Raises InputError with all that is wrong."""
    wrong = [f"there is no input '{name}'" for name in inputs if name not in graph.inputs]
    given: dict[str, Any] = {}
    for name, declared in graph.inputs.items():
        value = inputs.get(name, declared.default)
        if value is MISSING:
            wrong.append(f"input '{name}' ({describe(declared.type)}) is missing")
            continue
        try:
            given[name] = _converted(value, declared.type)
        except InputError as error:
            wrong.append(f"input '{name}': {error}")
    if wrong:
        known = ", ".join(f"'{name}'" for name in graph.inputs) or "none"
        raise InputError(f"graph '{graph.name}': {'; '.join(wrong)} (its inputs: {known})")
    return given


def _converted(value: Any, type_: Any) -> Any:
    if type_ is Any or (isinstance(type_, type) and type(value) is type_):
        return value
    from pydantic import PydanticUndefinedAnnotation, PydanticUserError, ValidationError

    try:
        return adapter_for(type_).validate_python(value)
    except (PydanticUserError, PydanticUndefinedAnnotation):  # pydantic has no notion of the type
        return value
    except ValidationError as error:
        raise InputError(f"expected {describe(type_)}, got {shown(value)}{details(error)}") from None
