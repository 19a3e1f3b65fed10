"""Verdicts: what a user says about a round of a loop, as a callable or as the text of a safe expression."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias

from flowgraph.errors import ConditionError, brief
from flowgraph.expressions import Expression

RoundFunction: TypeAlias = str | Callable[..., Any]
"""A text such as "output.score >= 8", or a callable (sync or async) on `output`, `iteration`, `history`."""

_KNOWN: Final = ("output", "iteration", "history")


class Verdict:
    """A callable or an expression over a round, bound by the names of its parameters.

    output: what the round gave. iteration: its number, from 0. history: the outputs of all rounds so far, this one
    included, oldest first.

    Raises ValueError, when it is built, for a name that it cannot be given, and TypeError for what is neither a text
    nor a callable.
    """

    __slots__ = ("_function", "names", "text", "what")

    def __init__(self, function: RoundFunction, what: str) -> None:
        self.what = what
        self._function: Callable[..., Any] | Expression
        if isinstance(function, str):
            self._function = Expression(function)
            self.names, self.text = self._function.names, function
            unknown = [name for name in self.names if name not in _KNOWN]
        elif callable(function):
            self._function = function
            self.names, unknown = _names_of(function)
            self.text = getattr(function, "__name__", type(function).__name__)
        else:
            raise TypeError(f"{what}= wants a callable or the text of an expression, not {function!r}")
        if unknown:
            raise ValueError(f"{what}= asks for '{unknown[0]}': it can be given {', '.join(_KNOWN)}")

    async def of(self, output: Any, iteration: int, history: Sequence[Any]) -> Any:
        """What it says of a round. Raises ConditionError when it raises."""
        known = {"output": output, "iteration": iteration, "history": list(history)}
        given = {name: known[name] for name in self.names}
        try:
            value = self._function(given) if isinstance(self._function, Expression) else self._function(**given)
            return await value if isinstance(value, Awaitable) else value
        except Exception as error:
            raise ConditionError(f"{self.what}= ({self.text}) raised in round {iteration}: {brief(error)}") from error

    async def holds(self, output: Any, iteration: int, history: Sequence[Any]) -> bool:
        """Whether it is true of a round. Raises ConditionError when it raises, or gives neither true nor false."""
        value = await self.of(output, iteration, history)
        try:
            return bool(value)
        except Exception as error:
            gave = f"{self.what}= ({self.text}) gave a {type(value).__name__} in round {iteration}"
            raise ConditionError(f"{gave}, which is neither true nor false: {brief(error)}") from error


def _names_of(function: Callable[..., Any]) -> tuple[tuple[str, ...], list[str]]:
    """The names that a callable takes of those known, and those that it wants beside them."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise TypeError(f"{function!r} has no signature that could be read: wrap it in a def") from None
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    names = tuple(p.name for p in named if p.name in _KNOWN)
    unknown = [p.name for p in named if p.name not in _KNOWN and p.default is p.empty]
    return names, unknown + [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY and p.default is p.empty]


async def best_of(score: Verdict, outputs: Sequence[Any]) -> Any:
    """The output with the highest score, of equals the first. Raises ConditionError."""
    scores = [_number(await score.of(one, n, outputs[: n + 1]), n) for n, one in enumerate(outputs)]
    return outputs[scores.index(max(scores))]


def _number(score: Any, iteration: int) -> float:
    """A score as a number; NaN counts as the worst."""
    try:
        value = float(score)
    except (TypeError, ValueError):
        raise ConditionError(f"score= gave {score!r} for round {iteration}, which is not a number") from None
    return -math.inf if math.isnan(value) else value
