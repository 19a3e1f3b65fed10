"""What a graph is made of: its inputs, its nodes with everything that was said about them, and its choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from .condition import Condition
from .handle import Name, Ref, names_of
from .node import Kind, Node
from .outcome import MISSING
from .policy import Join, Policy


class _End:
    __slots__ = ()

    def __repr__(self) -> str:
        return "fg.END"


END: Final = _End()
"""In a choice: the branch ends here, and what only it leads to is skipped."""


Targets: TypeAlias = Name | Sequence[Name] | _End


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a graph. `default` MISSING: it must be given."""

    name: str
    type: Any = Any
    default: Any = MISSING
    title: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """`graph.choose(on, cases)`: by the value of `on`, some targets run and the others are skipped."""

    on: Ref
    cases: tuple[tuple[Any, tuple[str, ...] | None], ...]  # label → targets; None: the branch ends
    default: tuple[str, ...] | Any | None = MISSING

    @property
    def targets(self) -> tuple[str, ...]:
        """Every node that the choice may take, in order of first mention."""
        taken = [targets for _, targets in self.cases]
        if self.default is not MISSING:
            taken.append(self.default)
        return tuple(dict.fromkeys(name for targets in taken for name in targets or ()))


@dataclass(frozen=True, slots=True)
class Entry:
    """A node in a graph, under its name, with everything that was said about it."""

    name: str
    node: Node
    bind: Mapping[str, Ref | tuple[Ref, ...]] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    when: Condition | None = None
    needs: tuple[str, ...] | None = None
    join: Join = Join.ALL
    title: str = ""
    policy: Policy = field(default_factory=Policy)
    fallback: Any = MISSING
    version: str = ""
    origin: str = ""


def reads_of(entry: Entry) -> list[Ref]:
    """What an entry's parameters and condition read, by name or by `bind`, in order. Constants are left out."""
    found: list[Ref] = []
    parameters = [*entry.node.parameters.values(), *(entry.when.parameters.values() if entry.when else ())]
    for parameter in parameters:
        bound = entry.bind.get(parameter.name)
        if bound is not None:
            found.extend(bound if isinstance(bound, tuple) else (bound,))
        elif parameter.name not in entry.values and parameter.kind not in (
            Kind.DEFAULT,
            Kind.CONTEXT,
        ):
            found.append(Ref(parameter.name))
    return found


def targets_of(targets: Targets) -> tuple[str, ...] | None:
    return None if targets is END else names_of(targets)  # type: ignore[arg-type]  # END is the only _End
