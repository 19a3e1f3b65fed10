"""Wiring: where a node's parameters get their values from, and which of those values must be looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .errors import InputError
from .fits import Check, check_for
from .handle import Ref
from .node import Kind, Node, Parameter


@dataclass(frozen=True, slots=True)
class Source:
    """Where a parameter's value comes from: one reference, or several for a list. index < 0: a graph input."""

    parameter: Parameter
    refs: tuple[tuple[int, Ref], ...]
    listed: bool = False


@dataclass(slots=True)
class Binding:
    """How a node's parameters, or those of its condition, get their values."""

    constants: dict[str, Any] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)

    def reads(self) -> Iterator[tuple[Parameter, int]]:
        """Each parameter with each node that it reads."""
        for source in self.sources:
            for index, _ in source.refs:
                if index >= 0:
                    yield source.parameter, index


Checks: TypeAlias = dict[str, Check]
"""parameter → check, for the parameters whose values may not fit."""


def input_checks(binding: Binding, declared: Callable[[int, Ref], Any]) -> Checks:
    """Checks for what a binding gives. A source that declares exactly the parameter's type was checked already."""
    checks: Checks = {}
    for source in binding.sources:
        parameter = source.parameter
        if parameter.kind is Kind.OUTCOME or source.listed or not source.refs:
            continue
        index, ref = source.refs[0]
        if not ref.keys and declared(index, ref) == parameter.type:
            continue
        if (check := check_for(parameter.type)) is not None:
            checks[parameter.name] = check
    return checks


def call_checks(node: Node, inputs: Mapping[str, Any]) -> Checks:
    """Checks for the values that a node is called with directly."""
    given = [p for p in node.parameters.values() if p.name in inputs and p.kind not in (Kind.OUTCOME, Kind.CONTEXT)]
    return {p.name: check for p in given if (check := check_for(p.type)) is not None}


def check_inputs(checks: Checks, inputs: dict[str, Any]) -> None:
    """Raise InputError for the first value that does not fit."""
    for name, check in checks.items():
        if name in inputs and (wrong := check(inputs[name])):
            raise InputError(f"parameter '{name}': {wrong}")
