"""Maps: a node run once per item of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .errors import Break, InputError
from .gather import along_with
from .node import Kind, Node, Parameter
from .outcome import Outcome
from .policy import Policy

if TYPE_CHECKING:
    from .context import Context

OnItemFailure: TypeAlias = Literal["fail", "keep", "drop"]


class MapNode:
    """A node that calls `inner` once per item, as children `<path>[0]`, `<path>[1]`, …, and lists the outputs.

    An empty list gives []. An item that skips itself is left out of the list (under "keep" its outcome stays).
    A `Break` in an item ends the loop around the map, when all items have ended and none failed under "fail".
    """

    kind = "map"

    def __init__(
        self,
        inner: Node,
        each: tuple[str, ...],
        policy: Policy,
        max_concurrency: int | None = None,
        on_item_failure: OnItemFailure = "fail",
    ) -> None:
        if on_item_failure not in ("fail", "keep", "drop"):
            raise ValueError(f"on_item_failure must be 'fail', 'keep' or 'drop', not {on_item_failure!r}")
        if max_concurrency is not None and max_concurrency < 1:
            raise ValueError(f"max_concurrency must be at least 1, not {max_concurrency!r}")
        if not each:
            raise ValueError("a map needs each=: the parameter that takes the items, and where the list comes from")
        self.inner = inner
        self.name = inner.name
        self.title = getattr(inner, "title", "") or ""
        self.each = each
        self.policy = policy
        self.max_concurrency = max_concurrency
        self.on_item_failure = on_item_failure
        self.parameters = {
            name: self._parameter(p) for name, p in inner.parameters.items() if p.kind is not Kind.CONTEXT
        }
        for name in each:
            self.parameters.setdefault(name, Parameter(name))
        item = inner.output_type
        self.output_type: Any = list if item is Any else list[item]  # type: ignore[valid-type]
        if on_item_failure == "keep":
            self.output_type = list[Outcome[item]]  # type: ignore[valid-type]

    def _parameter(self, parameter: Parameter) -> Parameter:
        if parameter.name not in self.each:
            return parameter
        item = parameter.type
        return Parameter(parameter.name, list if item is Any else list[item])  # type: ignore[valid-type]

    def problems(self) -> list[str]:
        """Names in `each` that are no parameter of the mapped node."""
        missing = [name for name in self.each if name not in self.inner.parameters]
        return [f"each= names '{name}', which is no parameter of '{self.inner.name}'" for name in missing]

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> list[Any]:
        """Run every item, then decide what failures mean."""
        lists = {name: _items(name, inputs.pop(name)) for name in self.each}
        if len({len(items) for items in lists.values()}) > 1:
            sizes = ", ".join(f"'{name}' has {len(items)}" for name, items in lists.items())
            raise InputError(f"lists that a map goes through in step must be equally long: {sizes}")
        count = len(next(iter(lists.values())))
        calls = [
            ctx.call(
                self.inner,
                {**inputs, **{name: items[index] for name, items in lists.items()}},
                item=index,
                policy=self.policy,
                outcome=True,
            )
            for index in range(count)
        ]
        outcomes: list[Outcome[Any]] = await ctx.gather(*calls, max_concurrency=self.max_concurrency)
        return self._result(outcomes)

    def _result(self, outcomes: list[Outcome[Any]]) -> list[Any]:
        if self.on_item_failure == "keep":
            for outcome in outcomes:
                if outcome.ok and isinstance(outcome.error, Break):
                    raise outcome.error
            return outcomes
        failed = [outcome for outcome in outcomes if outcome.status.bad]
        if failed and self.on_item_failure == "fail":
            first, *others = failed
            error = first.error or RuntimeError(str(first.reason))
            error.add_note(f"item {first.path} of {len(outcomes)}; {len(others)} other items failed too")
            raise along_with(error, [outcome.error for outcome in others if outcome.error is not None])
        return [outcome.unwrap() for outcome in outcomes if outcome.ok]


def _items(name: str, value: Any) -> list[Any]:
    if isinstance(value, str | bytes | dict) or not hasattr(value, "__iter__"):
        raise InputError(f"a map goes through '{name}', which is not a list but a {type(value).__name__}")
    return list(value)
