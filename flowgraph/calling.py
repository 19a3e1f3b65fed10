"""Calling functions by name only, whatever kinds of parameters they have."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def by_name(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as one that takes every parameter by its name: `*args` as a list, `**kwargs` as a dict.

    The function itself when it can be called so.
    """
    parameters = inspect.signature(function).parameters.values()
    if all(parameter.kind in _BY_NAME for parameter in parameters):
        return function
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "")
    more = next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), "")
    before = (inspect.Parameter.POSITIONAL_ONLY, *([inspect.Parameter.POSITIONAL_OR_KEYWORD] if rest else []))
    placed = [(p.name, p.default) for p in parameters if p.kind in before]

    def call(**inputs: Any) -> Any:
        arguments = [inputs.pop(name, default) for name, default in placed]
        arguments += inputs.pop(rest, ())
        others = inputs.pop(more, {})
        return function(*arguments, **inputs, **others)

    return call
