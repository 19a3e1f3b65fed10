"""Conditions: the `when` of a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from .expressions import Expression
from .node import Parameter, signature_of

When: TypeAlias = str | Callable[..., Any]


class Condition:
    """A `when`: parameters that bind like a node's, and a verdict on their values."""

    __slots__ = ("function", "parameters", "text")

    def __init__(self, when: When) -> None:
        self.function: Callable[..., Any] | Expression
        if isinstance(when, str):
            self.function = Expression(when)
            self.parameters = {name: Parameter(name) for name in self.function.names}
            self.text = when
        else:
            self.function = when
            self.parameters, _ = signature_of(when)
            if odd := [p for p in self.parameters.values() if p.only_named]:
                why = f"a condition cannot take '{odd[0].name}', which is {odd[0].only_named}"
                raise TypeError(f"{why}: name each value that it reads")
            name = getattr(when, "__name__", type(when).__name__)
            self.text = f"{'condition' if name == '<lambda>' else name}({', '.join(self.parameters)})"

    def holds(self, values: dict[str, Any]) -> Any:
        """The verdict, or an awaitable of it. Raises what the condition raises."""
        return self.function(values) if isinstance(self.function, Expression) else self.function(**values)
