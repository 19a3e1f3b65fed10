"""Loops: a node that runs its body again and again, each round on what the one before gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, get_args

from flowgraph.context import Context
from flowgraph.errors import Break, InputError
from flowgraph.node import NAME, Kind, Node, Parameter, as_node
from flowgraph.outcome import MISSING, Outcome
from flowgraph.prompts import part

from .errors import LoopExhausted
from .repeats import Repeats
from .verdict import RoundFunction, Verdict, best_of

OnExhausted: TypeAlias = Literal["error", "last", "best"]

_OUTPUT: Final = "output"


class LoopFlow:
    """A node that runs `body` in rounds, as children `<path>#0`, `<path>#1`, …, and gives the output of the last.

        polish = LoopFlow(improve, until="output.score >= 8", carry={"draft": "output.text"}, max_iterations=5)

    body: any node or graph; its parameters are the loop's, and bind like any node's before the first round.
    until: ends the loop when it is true of a round: a callable (sync or async) on `output`, `iteration` (from 0),
    `history` (all outputs so far), bound by name, or a safe expression on these. None: only `Break` ends it.
    max_iterations: at most so many rounds (at least 1).
    carry: parameter → the part of a round's output that the next round gets for it ("output", "output.text"); the
    other parameters stay as they were. Default: a body with one parameter (or one without a default) gets the output.
    score: like `until`, a number for each round, the higher the better; wanted for "best".
    on_exhausted: what happens when no round satisfies `until`: "error" raises LoopExhausted with the last output,
    "last" takes the last output, "best" that with the highest score (of equals the first).
    stall: so many equal outputs in a row count as exhausted, too (at least 2; None: never). An object that a round
    changes and returns again is another output.
    name: default the body's. title: free text for drawings.

    `raise fg.Break(value)` in the body ends this loop, and no loop around it, at once, with `value` as the output;
    without a value, with the output of the round before (None in the first). A round that fails, fails the loop.

    Raises ValueError or TypeError when something does not fit, here and not in the run.
    """

    kind = "loop"

    def __init__(
        self,
        body: Any,
        *,
        until: RoundFunction | None = None,
        max_iterations: int = 10,
        carry: Mapping[str, str] | None = None,
        score: RoundFunction | None = None,
        on_exhausted: OnExhausted = "error",
        stall: int | None = 2,
        name: str | None = None,
        title: str = "",
    ) -> None:
        self.inner: Node = as_node(body)
        self.name = self.inner.name if name is None else name
        if not NAME.fullmatch(self.name):
            raise ValueError(f"a loop cannot be named {self.name!r}: use letters, digits, _ and - (not first)")
        self.title = title or getattr(self.inner, "title", "") or ""
        self.until = None if until is None else Verdict(until, "until")
        self.score = None if score is None else Verdict(score, "score")
        self.max_iterations = _at_least(max_iterations, 1, "max_iterations")
        self.stall = None if stall is None else _at_least(stall, 2, "stall")
        self.on_exhausted = on_exhausted
        if on_exhausted not in get_args(OnExhausted):
            raise ValueError(f"on_exhausted must be 'error', 'last' or 'best', not {on_exhausted!r}")
        if (on_exhausted == "best") != (self.score is not None):
            raise ValueError("score= and on_exhausted='best' go together: give both or neither")
        self.carry = _sole_parameter(self.parameters) if carry is None else dict(carry)
        if problems := self.problems():
            raise ValueError(problems[0])

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The body's, without its context."""
        return {name: p for name, p in self.inner.parameters.items() if p.kind is not Kind.CONTEXT}

    @property
    def output_type(self) -> Any:
        """The body's."""
        return self.inner.output_type

    def problems(self) -> list[str]:
        """What is wrong with `carry`, as far as it can be seen without running."""
        known, found = self.parameters, []
        for name, source in self.carry.items():
            if name not in known:
                found.append(f"carry= names '{name}', which is no parameter of '{self.inner.name}': {_listed(known)}")
            if source.split(".")[0] != _OUTPUT or not all(source.split(".")):
                found.append(f'carry= gives \'{name}\' {source!r}: write "output" or a part, such as "output.text"')
        return found

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Any:
        """Run the rounds. Raises LoopExhausted, ConditionError, and what a round raises."""
        history: list[Any] = []
        repeats = Repeats(self.stall)
        for iteration in range(self.max_iterations):
            outcome = await ctx.call(self.inner, inputs, round=iteration, outcome=True)
            try:
                output = outcome.unwrap()
            except Break as signal:
                return self._broken(ctx, signal, history)
            history.append(output)
            if self.until is not None and await self.until.holds(output, iteration, history):
                ctx.keep(iterations=len(history), ended="until")
                return output
            if repeats.after(output):
                return await self._exhausted(ctx, history, stalled=True)
            inputs = {**inputs, **self._carried(outcome)}
        return await self._exhausted(ctx, history, stalled=False)

    def _carried(self, outcome: Outcome[Any]) -> dict[str, Any]:
        """What the next round gets."""
        parameters, values = self.inner.parameters, {}
        for name, source in self.carry.items():
            value = outcome.value
            for key in source.split(".")[1:]:
                try:
                    value = part(value, key)
                except (LookupError, AttributeError, TypeError) as error:
                    detail = error.args[0] if error.args else error
                    raise InputError(f"carry= of '{name}': '{source}' is not there: {detail}") from None
            values[name] = replace(outcome, value=value) if parameters[name].kind is Kind.OUTCOME else value
        return values

    def _broken(self, ctx: Context[Any], signal: Break, history: list[Any]) -> Any:
        ctx.keep(iterations=len(history) + 1, ended="break")
        if signal.value is not MISSING:
            return signal.value
        return history[-1] if history else None

    async def _exhausted(self, ctx: Context[Any], history: list[Any], *, stalled: bool) -> Any:
        ctx.keep(iterations=len(history), ended="stalled" if stalled else "exhausted")
        if self.on_exhausted == "error":
            raise LoopExhausted(ctx.path, history[-1], len(history), stalled=stalled)
        if self.score is None:
            return history[-1]
        return await best_of(self.score, history)

    def __repr__(self) -> str:
        return f"LoopFlow({self.inner!r}, max_iterations={self.max_iterations})"


def _at_least(number: int, least: int, what: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise ValueError(f"{what} must be a whole number of at least {least}, not {number!r}")
    return number


def _sole_parameter(parameters: Mapping[str, Parameter]) -> dict[str, str]:
    """The default of `carry`."""
    wanted = [name for name, p in parameters.items() if p.kind is not Kind.DEFAULT] or list(parameters)
    return {wanted[0]: _OUTPUT} if len(wanted) == 1 else {}


def _listed(parameters: Mapping[str, Parameter]) -> str:
    return f"it has {', '.join(parameters)}" if parameters else "it has none"
