"""Checks: everything that is wrong with a graph, and the graphs inside it, found before anything runs.

Linear, without recursion on a graph's length. What is costly to import is imported when it is needed: networkx to
describe a cycle, the comparison of types where two of them differ, pydantic for constants that are no plain values.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Literal
from weakref import ReferenceType, WeakKeyDictionary

from .deadjoins import dead_joins
from .entry import Choice, Entry
from .errors import GraphError, Problem
from .fits import check_for, describe, shown
from .graph import Graph
from .handle import Ref
from .node import Kind
from .outcome import MISSING
from .plan import Plan, plan_of
from .wiring import Binding

_checked: WeakKeyDictionary[Graph, list[tuple[ReferenceType[Graph], int]]] = WeakKeyDictionary()
"""Graphs without errors → the revisions at which they, and all graphs inside them, were found so."""


def check(graph: Graph) -> list[Problem]:
    """Everything that is wrong ("error": a run refuses it) or doubtful ("warning") in a graph.

    Errors first, then warnings, both in the order in which inputs and nodes were added; graphs inside a graph are
    checked, too, with `where` as "outer/inner". Never raises for a wrong graph; an empty list is a clean bill.
    """
    return _problems(*_contained(graph))


def checked(graph: Graph) -> Plan:
    """The plan of a graph without errors. Raises GraphError with all of them.

    A graph that passed is not looked at again until it, or a graph inside it, is changed.
    """
    passed = _checked.get(graph)
    if passed is None or any((one := known()) is None or one.revision != revision for known, revision in passed):
        contained, circles = _contained(graph)
        problems = _problems(contained, circles)
        if errors := [problem for problem in problems if problem.severity == "error"]:
            raise GraphError(graph.name, errors)
        _checked[graph] = [(ReferenceType(one.graph), one.graph.revision) for one in contained]
    return plan_of(graph)


class _Place:
    """A graph at the place where it is used: under the path and the rank of a node, or on its own ("")."""

    __slots__ = ("graph", "path", "rank")

    def __init__(self, graph: Graph, path: str = "", rank: tuple[int, ...] = ()) -> None:
        self.graph, self.path, self.rank = graph, path, rank

    def of(self, where: str) -> str:
        """The path of one of its nodes."""
        return "/".join(name for name in (self.path, where) if name)


def _contained(graph: Graph) -> tuple[list[_Place], list[Problem]]:
    """The graph and every graph inside it, each once; and those that contain themselves, which cannot be planned."""
    places: list[_Place] = []
    circles: list[Problem] = []
    seen, open_ = {graph}, set[Graph]()
    waiting: list[tuple[_Place, bool]] = [(_Place(graph), False)]
    while waiting:
        place, done = waiting.pop()
        if done:
            open_.remove(place.graph)
            continue
        if place.graph in open_:
            text = f"graph '{place.graph.name}' contains itself: put what is repeated into a loop"
            circles.append(Problem(place.path, text))
            continue
        if place.path and place.graph in seen:
            continue
        seen.add(place.graph)
        open_.add(place.graph)
        places.append(place)
        inner = [_Place(found, place.of(path), (*place.rank, i)) for i, path, found in _inside(place.graph)]
        waiting += [(place, True), *((one, False) for one in reversed(inner))]
    return places, circles


def _inside(graph: Graph) -> Iterator[tuple[int, str, Graph]]:
    """The graphs that nodes run: number of the node, path, graph."""
    for index, entry in enumerate(graph.entries.values(), 1 + len(graph.inputs)):
        for path, node in _nodes(entry):
            if isinstance(node, Graph):
                yield index, path, node


def _nodes(entry: Entry) -> Iterator[tuple[str, Any]]:
    """What an entry runs, with what is inside (of a map, a loop), and its fallback: path, node."""
    for path, outer in ((entry.name, entry.node), (f"{entry.name}/fallback", entry.fallback)):
        thing: Any = outer
        seen = set[int]()
        while isinstance(getattr(thing, "kind", None), str) and id(thing) not in seen:
            yield path, thing
            seen.add(id(thing))
            thing = None if isinstance(thing, Graph) else getattr(thing, "inner", None)


def _problems(places: list[_Place], circles: list[Problem]) -> list[Problem]:
    if circles:
        return circles
    memo: dict[Any, bool] = {}
    ranked: dict[Problem, tuple[int, ...]] = {}
    for place in places:
        rank = {name: i for i, name in enumerate(("", *place.graph.inputs, *place.graph.entries))}
        for found in _Checker(plan_of(place.graph), memo).run():
            problem = Problem(place.of(found.where), found.message, found.severity)
            ranked.setdefault(problem, (*place.rank, rank.get(found.where.partition("/")[0], -1)))
    return sorted(ranked, key=lambda problem: (problem.severity == "warning", ranked[problem]))


class _Checker:
    """The checks of one graph. Each method looks for one kind of mistake and reports it."""

    def __init__(self, plan: Plan, memo: dict[Any, bool]) -> None:
        self.plan, self.graph, self.memo = plan, plan.graph, memo
        self.found: list[Problem] = list(plan.problems)
        self.gives = [entry.node.output_type for entry in plan.entries]
        self.index = {name: i for i, name in enumerate(plan.names)}
        self.unwired = {problem.where for problem in self.found if problem.severity == "error"}

    def run(self) -> list[Problem]:
        """All problems of the graph, by node and kind."""
        for index, entry in enumerate(self.plan.entries):
            self._own(entry)
            self._types(entry, self.plan.bindings[index], "parameter")
            self._types(entry, self.plan.conditions[index] or Binding(), "the condition's parameter")
            if entry.name not in self.unwired:
                self._join(index, entry)
        for choice in self.graph.choices:
            if all(name in self.index for name in (choice.on.name, *choice.targets)):
                self._choice(choice)
        self._graph()
        return self.found

    def _report(self, where: str, message: str, severity: Literal["error", "warning"] = "error") -> None:
        self.found.append(Problem(where, message, severity))

    def _graph(self) -> None:
        """Cycles, dead joins, no nodes at all, inputs that nobody reads, outputs that a choice may leave out."""
        plan, outputs = self.plan, self.graph.outputs
        if not plan.nodes:
            self._report("", "the graph has no nodes: add one with graph.add or @graph.node")
        refs = self.graph.sinks() if outputs is None else outputs
        ends = {ref.name for ref in ([refs] if isinstance(refs, Ref) else refs.values())}
        sources = [source for binding in (*plan.bindings, *plan.conditions) if binding for source in binding.sources]
        read = {ref.name for source in sources for _, ref in source.refs} | ends
        for name in self.graph.inputs:
            if name not in read:
                self._report(name, "the input is not used: remove it, or name a parameter after it", "warning")
        if plan.cyclic:
            self.found += _cycles(plan)
        elif plan.choices:
            self.found += dead_joins(plan)
            self.found += _skipped_ends(plan, [self.index[name] for name in ends if name in self.index])

    def _own(self, entry: Entry) -> None:
        """What nodes say of themselves, and graphs that run as a node without saying which output is theirs."""
        for path, node in _nodes(entry):
            if not isinstance(node, Graph):
                for text in getattr(node, "problems", list)():
                    self._report(path, text)
            elif node.outputs is None and not isinstance(sinks := node.sinks(), Ref) and sinks:
                several = f"graph '{node.name}' runs as a node, but ends in several nodes ({_listed(sinks)})"
                self._report(path, f"{several}: say with {node.name}.output(...) which of them it gives")

    # -- types

    def _types(self, entry: Entry, binding: Binding, what: str) -> None:
        """Constants and sources that can never fit the parameters that they feed."""
        parameters = (entry.node if what == "parameter" else entry.when or entry.node).parameters
        for name, value in binding.constants.items():
            kind, wanted = parameters[name].kind, parameters[name].type
            if kind is not Kind.OUTCOME and (wrong := _misfit(value, wanted)):
                self._report(entry.name, f"{what} '{name}': values= gives what does not fit: {wrong}")
        for source in binding.sources:
            name, wanted = source.parameter.name, source.parameter.type
            if source.listed:
                if self._disjoint(list, wanted):
                    text = f"{what} '{name}' wants {describe(wanted)}, but bind= gives it a list"
                    self._report(entry.name, f"{text}: bind one node, or annotate it list[...]")
                    continue
                wanted = _element(wanted)
            for index, ref in source.refs:
                given = self._given(index, ref, entry.name)
                if self._disjoint(given, wanted):
                    text = f"{what} '{name}' wants {describe(wanted)}, but '{ref}' gives {describe(given)}"
                    self._report(entry.name, f"{text}: change one of the two, or bind another node or part")

    def _given(self, index: int, ref: Ref, where: str) -> Any:
        """The type of what a reference reads; a part that cannot be there is reported, and counts as Any."""
        hint = self.graph.inputs[ref.name].type if index < 0 else self.gives[index]
        for key in ref.keys:
            if hint is Any:
                break
            from .disjoint import part_of

            try:
                hint = part_of(hint, key)
            except LookupError as error:
                self._report(where, f"'{ref}' is never there: {error.args[0]}")
                return Any
        return hint

    def _disjoint(self, given: Any, wanted: Any) -> bool:
        """`disjoint`, which is imported only where two types differ, and asked once for each pair."""
        if given is wanted or given == wanted or any(hint is Any or hint is object for hint in (given, wanted)):
            return False
        from .disjoint import disjoint

        try:
            if (given, wanted) not in self.memo:
                self.memo[given, wanted] = disjoint(given, wanted)
            return self.memo[given, wanted]
        except TypeError:  # not hashable: an Annotated with a list in it, say
            return disjoint(given, wanted)

    # -- joins and choices

    def _join(self, index: int, entry: Entry) -> None:
        """Joins that can never start, or that start without what a parameter cannot do without."""
        binding, join, node = self.plan.bindings[index], entry.join, self.plan.nodes[index]
        data = {parent for _, parent in binding.reads()}
        if join.quorum is not None and join.quorum > len(data):
            text = f"it starts when {join.quorum} of the nodes that its parameters read succeeded, but they read only"
            self._report(entry.name, f"{text} {len(data)}: lower the number, or bind more nodes")
        parents = {self.plan.names[edge.parent] for edge in node.parents}
        for name in [name for name in entry.needs or () if name not in parents]:
            what = "is an input, not a node" if name in self.graph.inputs else "it does not wait for"
            self._report(entry.name, f"needs= names '{name}', which {what}: name nodes that it reads or comes after")
        if not join.tolerant and (join.quorum or len(data)) >= len(data):
            return
        for source in binding.sources:
            names = [str(ref) for i, ref in source.refs if i >= 0]
            wanted = _element(source.parameter.type) if source.listed else source.parameter.type
            strict = not source.listed and wanted is Any
            if names and source.parameter.kind is Kind.REQUIRED and (strict or self._disjoint(None, wanted)):
                text = f"parameter '{source.parameter.name}' may get nothing from {_listed(names)} under Join '{join}'"
                self._report(entry.name, f"{text}: annotate it fg.Maybe[...] or fg.Outcome[...], or give a default")

    def _choice(self, choice: Choice) -> None:
        """Labels that can never come, values without a case, targets that are named twice."""
        where = choice.on.name
        given = self._given(self.index[where], choice.on, where)
        labels = {(type(label), label): label for label, _ in choice.cases}
        if not labels and choice.default is MISSING:
            self._report(where, f"choose() on '{choice.on}' has no case: give it one, or a default")
        for label, targets in (*choice.cases, ("default", choice.default)):
            for name in dict.fromkeys(name for name in targets or () if (targets or ()).count(name) > 1):
                self._report(where, f"choose() names '{name}' twice for {label!r}: leave one out", "warning")
        if given is Any:
            return
        from .disjoint import cases_of

        if (values := cases_of(given)) is None:
            for kind, label in labels:
                if self._disjoint(given, kind):
                    text = f"choose() has a case for {shown(label)}, but '{choice.on}' gives {describe(given)}"
                    self._report(where, f"{text}: labels match by type and value")
            return
        known = {(type(value), value): value for value in values}
        for key, label in labels.items():
            if key not in known:
                text = f"choose() has a case for {label!r}, which '{choice.on}' never gives: it gives"
                self._report(where, f"{text} {_listed(values)}{_near(label, values)}")
        missing = [value for key, value in known.items() if key not in labels]
        if missing and choice.default is MISSING:
            text = f"choose() has no case for {_listed(missing)}, which '{choice.on}' may give"
            self._report(where, f"{text}: add a case ([] goes straight on, fg.END ends the branch), or a default")


def _misfit(value: Any, wanted: Any) -> str | None:
    """What is wrong with a constant; None where nothing can be said."""
    fits = check_for(wanted)
    try:
        return fits(value) if fits else None
    except Exception:  # a validator of the user's may raise what it likes: the run will show it
        return None


def _element(hint: Any) -> Any:
    from .disjoint import element_of

    return Any if hint is Any else element_of(hint)


def _listed(names: Iterable[Any]) -> str:
    every = [repr(name) for name in names]
    return ", ".join(every[:8]) + (f" and {len(every) - 8} more" if len(every) > 8 else "")


def _near(label: Any, values: Iterable[Any]) -> str:
    """A hint at the value that was meant: equal but of another type, or spelt nearly so."""
    texts = {str(getattr(value, "value", value)): value for value in values}
    near = difflib.get_close_matches(str(getattr(label, "value", label)), list(texts), 1)
    if not near:
        return ""
    typed = ": labels match by type and value" if near[0] == str(getattr(label, "value", label)) else ""
    return f": did you mean {texts[near[0]]!r}?" if not typed else f", such as {texts[near[0]]!r}{typed}"


def _skipped_ends(plan: Plan, ends: list[int]) -> Iterator[Problem]:
    """Outputs that are surely skipped when a choice gives a certain label: a warning for each."""
    starts = [0]
    for choice in plan.choices:
        starts.append(starts[-1] + len(choice.cases))
    blocks = [((1 << b) - 1) & ~((1 << a) - 1) for a, b in pairwise(starts)]
    may = [(1 << starts[-1]) - 1] * len(plan.nodes)  # bit: this label may have been given when the node runs
    for index in plan.order:
        node, live = plan.nodes[index], 0
        for target in node.targeted:
            number = target.choice
            taken = sum(1 << starts[number] + i for i, c in enumerate(plan.choices[number].cases) if index in (c or ()))
            live |= may[plan.choices[number].chooser] & (taken | ~blocks[number])
            for parent, _ in target.through:
                live |= may[parent]
        may[index] &= live if node.targeted else -1
        for edge in node.parents if node.join.quorum is None else ():
            may[index] &= may[edge.parent] if edge.required and not edge.tolerant else -1
    for end in ends:
        if left := ~may[end] & ((1 << starts[-1]) - 1):
            bit = (left & -left).bit_length() - 1
            number = next(i for i, block in enumerate(blocks) if block >> bit & 1)
            choice, case = plan.choices[number], bit - starts[number]
            label = repr(choice.labels[case]) if case < len(choice.labels) else "any other value"
            text = f"an output of the graph, it is skipped when '{choice.source}' gives {label}"
            yield Problem(plan.names[end], f"{text}: let a later node join the branches with fg.Maybe", "warning")


def _cycles(plan: Plan) -> Iterator[Problem]:
    """Every knot of nodes that wait for each other, each shown by one circle in it."""
    import networkx as nx

    left = sorted(set(range(len(plan.nodes))) - set(plan.order))
    web: nx.DiGraph[int] = nx.DiGraph()
    web.add_nodes_from(left)
    web.add_edges_from((edge.parent, index) for index in left for edge in plan.nodes[index].parents)
    for knot in sorted(map(sorted, nx.strongly_connected_components(web))):
        members = set(knot)
        inner: nx.DiGraph[int] = nx.DiGraph((a, b) for a in knot for b in web.successors(a) if b in members)
        if inner:
            circle = [a for a, _ in nx.find_cycle(inner)]
            first = circle.index(min(circle))
            yield _circle(plan, [*circle[first:], *circle[:first]])


def _circle(plan: Plan, circle: list[int]) -> Problem:
    names = [plan.names[index] for index in circle]
    pairs = list(zip(circle, [*circle[1:], circle[0]], strict=True))
    uses = [_use(plan, parent, child) for parent, child in pairs[:10]]
    more = f"; and {len(pairs) - 10} more" if len(pairs) > 10 else ""
    way = " → ".join(names[:20]) + (" → …" if len(names) > 20 else "") + f" → {names[0]}"
    back = any("chooses" in use for use in uses)
    remedy = "a choice cannot lead back up" if back else "a graph has no way back"
    text = f"{way} is a cycle: {'; '.join(uses)}{more}. Take one of these out: {remedy}"
    return Problem(names[0], f"{text}; what is repeated goes into one node, a loop (LoopFlow)")


def _use(plan: Plan, parent: int, child: int) -> str:
    """What makes a child wait for a parent, in words."""
    mine, theirs = f"'{plan.names[child]}'", f"'{plan.names[parent]}'"
    for binding, what in ((plan.bindings[child], "parameter"), (plan.conditions[child], "its condition's parameter")):
        for parameter, index in binding.reads() if binding else ():
            if index == parent:
                return f"{mine} reads {theirs} ({what} '{parameter.name}')"
    if plan.names[parent] in plan.entries[child].after:
        return f"{mine} comes after {theirs} (after=)"
    return f"{theirs} chooses {mine} (choose)"
