"""Binding: the values that a node, or its condition, gets when it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .errors import InputError
from .handle import Ref
from .node import Kind, Parameter
from .outcome import MISSING, Outcome, Status
from .prompts import part
from .wiring import Binding


class Values:
    """What a graph's nodes can read: its inputs, and what the nodes before them produced."""

    __slots__ = ("_outcome_of", "inputs", "outputs")

    def __init__(self, inputs: dict[str, Any], size: int, outcome_of: Callable[[int], Outcome[Any]]) -> None:
        self.inputs = inputs
        self.outputs: list[Any] = [MISSING] * size
        self._outcome_of = outcome_of

    def bound(self, binding: Binding) -> dict[str, Any]:
        """The values for a binding. Raises InputError when a part that is read is not there."""
        values = dict(binding.constants)
        for source in binding.sources:
            if source.listed:
                values[source.parameter.name] = [self._value(ref, source.parameter) for ref in source.refs]
                continue
            value = self._value(source.refs[0], source.parameter)
            if value is not MISSING:
                values[source.parameter.name] = value
        return values

    def read(self, index: int, ref: Ref) -> Any:
        """The value of a reference; MISSING when its node produced none."""
        value = self.inputs[ref.name] if index < 0 else self.outputs[index]
        if value is MISSING:
            return MISSING
        for key in ref.keys:
            try:
                value = part(value, key)
            except (LookupError, AttributeError, TypeError) as error:
                raise InputError(f"'{ref}' is not there: {error.args[0] if error.args else error}") from None
        return value

    def _value(self, at: tuple[int, Ref], parameter: Parameter) -> Any:
        index, ref = at
        if parameter.kind is Kind.OUTCOME:
            return self._outcome(index, ref)
        value = self.read(index, ref)
        if value is MISSING and parameter.kind is not Kind.DEFAULT:
            return None
        return value

    def _outcome(self, index: int, ref: Ref) -> Outcome[Any]:
        if index < 0:
            return Outcome(Status.SUCCEEDED, self.read(index, ref))
        outcome = self._outcome_of(index)
        if not outcome.status.final:  # a join with a quorum started without it
            return Outcome(Status.SKIPPED, path=outcome.path)
        value = self.read(index, ref)
        return replace(outcome, value=None if value is MISSING else value)
