"""Plans: a graph in the form that the scheduler reads, with every name resolved to a number.

Compiling collects what is wrong with names and bindings on the way; `checks.py` adds the rest. A plan is made once
per revision of a graph and shared by all its runs.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from .entry import Choice, Entry
from .errors import Problem
from .events import Outline
from .fits import Check, check_for
from .graph import Graph
from .handle import Ref
from .map import MapNode
from .node import Kind, Parameter
from .outcome import MISSING
from .policy import Policy
from .regions import Regions
from .unit import Edge, PlanChoice, PlanNode
from .wiring import Binding, Checks, Source, input_checks


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A compiled graph. Lists run by node number, in the order in which the nodes were added."""

    graph: Graph
    names: tuple[str, ...]
    nodes: tuple[PlanNode, ...]
    entries: tuple[Entry, ...]
    bindings: tuple[Binding, ...]
    conditions: tuple[Binding | None, ...]
    policies: tuple[Policy, ...]
    choices: tuple[PlanChoice, ...]
    outputs: Ref | dict[str, Ref]  # as declared, else the nodes that nobody reads
    order: tuple[int, ...]  # topological; shorter than nodes when there is a cycle
    problems: tuple[Problem, ...]
    weights: tuple[int, ...]  # nodes on the longest path from here on: that comes first when slots are scarce
    input_checks: tuple[Checks, ...]
    output_checks: tuple[Check | None, ...]
    outline: Outline

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The edges: names of a parent and its child."""
        return tuple((self.names[e.parent], node.name) for node in self.nodes for e in node.parents)

    @property
    def name(self) -> str:
        """The graph's name."""
        return self.graph.name

    @property
    def title(self) -> str:
        """The graph's title."""
        return self.graph.title

    @property
    def cyclic(self) -> bool:
        """Whether some nodes can never become ready."""
        return len(self.order) < len(self.nodes)


_MAX_COMPARED: Final = 300_000
"""Names compared to find near ones, in one graph: about half a second."""


def plan_of(graph: Graph) -> Plan:
    """The plan of a graph as it stands now. Never raises for a wrong graph: see `Plan.problems`."""
    revision, plan = graph.compiled or (-1, None)
    if plan is None or revision != graph.revision:
        plan = _Compiler(graph).compile()
        graph.compiled = (graph.revision, plan)  # on the graph itself, so that the two are freed together
    return plan


class _Compiler:
    """One pass over a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.names = tuple(graph.entries)
        self.index = {name: i for i, name in enumerate(self.names)}
        self.gives = [entry.node.output_type for entry in graph.entries.values()]
        self.problems: list[Problem] = []
        self.nearest: dict[tuple[str, float], list[str]] = {}

    def compile(self) -> Plan:
        graph = self.graph
        entries = tuple(graph.entries.values())
        bindings = tuple(self._binding(e, e.node.parameters.values()) for e in entries)
        conditions = tuple(self._binding(e, e.when.parameters.values(), "when") if e.when else None for e in entries)
        choices = [c for c in graph.choices if self._choice_is_sound(c)]
        choosers = self._choosers(choices)
        edges = [self._edges(*row, choosers) for row in zip(entries, bindings, conditions, strict=True)]
        children = self._children(edges)
        order = _topological(edges, children)
        web = Regions(self.index, choices, edges, children, order)
        policies = tuple(_own_policy(e, graph.policy) for e in entries)
        nodes = tuple(
            PlanNode(
                name=entry.name,
                parents=tuple(edges[i]),
                children=tuple(children[i]),
                chooses=web.chooses(i),
                targeted=web.targeted.get(i, ()),
                rejoins=web.rejoins.get(i, ()),
                needs=None if entry.needs is None else tuple(self._indices(entry.needs, entry.name, "needs")),
                join=entry.join,
                conditional=entry.when is not None,
                attempts=policies[i].attempts,
                fallback=entry.fallback is not MISSING,
            )
            for i, entry in enumerate(entries)
        )
        self._check_outputs()
        return Plan(
            graph=graph,
            names=self.names,
            nodes=nodes,
            entries=entries,
            bindings=bindings,
            conditions=conditions,
            policies=policies,
            choices=tuple(web.compiled),
            outputs=graph.sinks() if graph.outputs is None else graph.outputs,
            order=order,
            problems=tuple(self.problems),
            weights=_weights(order, children),
            input_checks=tuple(input_checks(binding, self._declared) for binding in bindings),
            output_checks=tuple(check_for(type_) for type_ in self.gives),
            outline=tuple((entry.name, entry.node.kind, entry.title) for entry in entries),
        )

    def _declared(self, index: int, ref: Ref) -> Any:
        """The type that a source's values are checked for where they are made."""
        inputs = self.graph.inputs
        return inputs[ref.name].type if index < 0 else self.gives[index]

    def _binding(self, entry: Entry, parameters: Iterable[Parameter], part: str = "") -> Binding:
        """Find where each parameter's value comes from; report the names that nothing provides."""
        binding = Binding()
        for parameter in parameters:
            if parameter.kind is Kind.CONTEXT:
                continue
            if parameter.name in entry.values:
                binding.constants[parameter.name] = entry.values[parameter.name]
                continue
            bound = entry.bind.get(parameter.name)
            if bound is None and parameter.kind is Kind.DEFAULT:
                self._warn_of_near_miss(entry, parameter)
                continue
            refs = bound if isinstance(bound, tuple) else (bound or Ref(parameter.name),)
            found = [(self._lookup(ref.name), ref) for ref in refs]
            for index, ref in found:
                if index is None:
                    self._unprovided(entry, parameter, ref.name, named=bound is not None, part=part)
            sources = tuple((index, ref) for index, ref in found if index is not None)
            binding.sources.append(Source(parameter, sources, isinstance(bound, tuple)))
        if not part:
            self._check_option_names(entry)
        return binding

    def _lookup(self, name: str) -> int | None:
        return -1 if name in self.graph.inputs else self.index.get(name)

    def _unprovided(self, entry: Entry, parameter: Parameter, name: str, *, named: bool, part: str) -> None:
        what = f"the condition's parameter '{parameter.name}'" if part else f"parameter '{parameter.name}'"
        bound = f" is bound to '{name}', which" if named else f" needs '{name}', which"
        self._report(entry.name, f"{what}{bound} is neither a node nor an input{self._hint(name)}")

    def _warn_of_near_miss(self, entry: Entry, parameter: Parameter) -> None:
        near = [name for name in self._near(parameter.name, 0.85) if name != entry.name]
        if near:
            message = (
                f"parameter '{parameter.name}' has a default and so is not bound to '{near[0]}': "
                f"write bind={{'{parameter.name}': '{near[0]}'}} if it should be"
            )
            self.problems.append(Problem(entry.name, message, "warning"))

    def _check_option_names(self, entry: Entry) -> None:
        known = {**entry.node.parameters, **(entry.when.parameters if entry.when else {})}
        for option, given in (("bind", entry.bind), ("values", entry.values)):
            for name in given:
                if name not in known:
                    near = difflib.get_close_matches(name, list(known), 1)
                    hint = f": did you mean '{near[0]}'?" if near else f": it has {', '.join(known) or 'none'}"
                    self._report(entry.name, f"{option}= names '{name}', which is no parameter of it{hint}")
        for name in [name for name in entry.bind if name in entry.values]:
            self._report(entry.name, f"'{name}' is given by bind= and by values=: leave one out")

    def _near(self, name: str, cutoff: float) -> list[str]:
        """Up to two nodes or inputs whose names are like this one. A large graph is not searched without end."""
        if self._lookup(name) is not None:
            return [name]
        if (name, cutoff) not in self.nearest:
            known = [*self.names, *self.graph.inputs]
            cheap = len(self.nearest) * len(known) < _MAX_COMPARED
            self.nearest[name, cutoff] = difflib.get_close_matches(name, known, 2, cutoff) if cheap else []
        return self.nearest[name, cutoff]

    def _hint(self, name: str) -> str:
        if name in self.graph.inputs:
            return ", but an input"
        near = self._near(name, 0.6)
        return f": did you mean '{near[0]}'?" if near else ""

    def _report(self, where: str, message: str) -> None:
        self.problems.append(Problem(where, message))

    def _indices(self, names: Iterable[str], where: str, option: str) -> Iterator[int]:
        for name in names:
            if name in self.index:
                yield self.index[name]
            elif name not in self.graph.inputs:
                self._report(where, f"{option}= names '{name}', which is not a node{self._hint(name)}")

    def _choice_is_sound(self, choice: Choice) -> bool:
        sound = True
        for name in (choice.on.name, *choice.targets):
            if name not in self.index:
                message = f"choose() names '{name}', which is not a node{self._hint(name)}"
                self._report(choice.on.name, message)
                sound = False
        return sound

    def _edges(
        self, entry: Entry, binding: Binding, condition: Binding | None, choosers: dict[str, tuple[int, ...]]
    ) -> list[Edge]:
        """One edge per parent, in declared order: parameters, condition, after, choosers."""
        uses: dict[int, list[Parameter | None]] = {}
        for parameter, index in binding.reads():
            uses.setdefault(index, []).append(parameter)
        data, awaited = set(uses), set[int]()
        for parameter, index in condition.reads() if condition else ():
            uses.setdefault(index, []).append(parameter)
            awaited.add(index)
        for index in self._indices(entry.after, entry.name, "after"):
            uses.setdefault(index, []).append(None)
            awaited.add(index)
        control = choosers.get(entry.name, ())
        for index in control:
            uses.setdefault(index, [])
        awaited.update(control)
        return [
            Edge(
                parent=index,
                required=any(use.kind is Kind.REQUIRED for use in kinds if use),
                tolerant=entry.join.tolerant or _takes_outcomes_only(kinds),
                data=index in data,
                control=index in control,
                awaited=index in awaited,
            )
            for index, kinds in uses.items()
        ]

    def _choosers(self, choices: list[Choice]) -> dict[str, tuple[int, ...]]:
        """target → the nodes whose choices may take it."""
        found: dict[str, set[int]] = {}
        for choice in choices:
            for target in choice.targets:
                found.setdefault(target, set()).add(self.index[choice.on.name])
        return {target: tuple(sorted(nodes)) for target, nodes in found.items()}

    @staticmethod
    def _children(edges: list[list[Edge]]) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in edges]
        for index, parents in enumerate(edges):
            for edge in parents:
                children[edge.parent].append(index)
        return children

    def _check_outputs(self) -> None:
        outputs = self.graph.outputs
        refs = [outputs] if isinstance(outputs, Ref) else list((outputs or {}).values())
        for ref in refs:
            if ref.name not in self.index and ref.name not in self.graph.inputs:
                self._report("", f"output() names '{ref.name}', which is not a node{self._hint(ref.name)}")


def _own_policy(entry: Entry, lower: Policy) -> Policy:
    """How the node itself is tried; a map's settings are those of its items, but for the slots that they share."""
    if isinstance(entry.node, MapNode):
        return Policy(group=entry.node.policy.group, priority=entry.node.policy.priority)
    return entry.policy.over(lower)


def _weights(order: tuple[int, ...], children: list[list[int]]) -> tuple[int, ...]:
    weights = [1] * len(children)
    for index in reversed(order):
        weights[index] = 1 + max((weights[child] for child in children[index]), default=0)
    return tuple(weights)


def _takes_outcomes_only(uses: list[Parameter | None]) -> bool:
    kinds = [parameter.kind for parameter in uses if parameter is not None]
    return bool(kinds) and all(kind is Kind.OUTCOME for kind in kinds)


def _topological(edges: list[list[Edge]], children: list[list[int]]) -> tuple[int, ...]:
    """Numbers so that parents come first; what lies on or below a cycle is left out."""
    waiting = [len(parents) for parents in edges]
    order = [index for index, count in enumerate(waiting) if count == 0]
    for index in order:  # grows while we walk it
        for child in children[index]:
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    return tuple(order)
