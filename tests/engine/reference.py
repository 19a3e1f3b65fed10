"""The rules of joins, choices and skips once more, as an interpreter that is slow, short and obviously right.

Written from the text of the rules alone, to be compared with the scheduler. It knows no order of finishing: the
outcome of a node is a function of the outcomes of its parents and of what the choices took, found by recursion.
`Join.ANY` and `at_least` depend on the order, so they are not here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from flowgraph.entry import Choice, Entry
from flowgraph.graph import Graph
from flowgraph.node import Kind, Parameter
from flowgraph.outcome import MISSING, Reason, Status

BAD = {Status.FAILED, Status.TIMED_OUT, Status.CANCELLED, Status.UPSTREAM_FAILED}
WORDS = {Status.FAILED: "failed", Status.TIMED_OUT: "timed out", Status.CANCELLED: "was cancelled"}
REASONS = {
    Status.FAILED: Reason("error", detail="boom"),
    Status.TIMED_OUT: Reason("timeout", detail="1 s"),
    Status.SKIPPED: Reason("skip", detail="nothing to do"),
    Status.CANCELLED: Reason("cancelled", detail="by itself"),
}
"""With what a node of a script ends otherwise than by success."""


@dataclass(frozen=True)
class Script:
    """How a node would end if it ran.

    failures: so many attempts fail first. end: how the attempt after them ends. labels: choice → the label that the
    node gives it. when: what its condition says, None for "raises". fallback: whether its fallback succeeds.
    """

    end: Status = Status.SUCCEEDED
    failures: int = 0
    labels: dict[int, Any] = field(default_factory=dict)
    when: bool | None = True
    fallback: bool = True


@dataclass(frozen=True)
class End:
    """How a node ended, and why."""

    status: Status
    reason: Reason | None = None


SUCCESS = End(Status.SUCCEEDED)


class Reference:
    """One graph with one script: `ends` is how each node ends, `unhandled` what makes the run fail."""

    def __init__(self, graph: Graph, script: dict[str, Script]) -> None:
        self.graph = graph
        self.script = script
        self.end = cache(self._end)
        self.below = cache(self._below)

    @cached_property
    def ends(self) -> dict[str, End]:
        return {name: self.end(name) for name in self.graph.entries}

    @cached_property
    def unhandled(self) -> list[str]:
        return [name for name in self.graph.entries if self._unhandled(name)]

    # -- edges

    @cached_property
    def uses(self) -> dict[str, dict[str, list[Parameter | None]]]:
        """node → parent → what it is a parent for: parameters, None for order; nothing for a mere chooser."""
        return {name: self._uses(entry) for name, entry in self.graph.entries.items()}

    def _uses(self, entry: Entry) -> dict[str, list[Parameter | None]]:
        found: dict[str, list[Parameter | None]] = {}
        asking = [*entry.node.parameters.values(), *(entry.when.parameters.values() if entry.when else ())]
        for parameter in asking:
            for name in self._bound_to(entry, parameter):
                found.setdefault(name, []).append(parameter)
        for name in entry.after:
            found.setdefault(name, []).append(None)
        for name in self.graph.entries:
            if any(choice.on.name == name and entry.name in choice.targets for choice in self.graph.choices):
                found.setdefault(name, [])
        return found

    def _bound_to(self, entry: Entry, parameter: Parameter) -> list[str]:
        if parameter.kind is Kind.CONTEXT or parameter.name in entry.values:
            return []
        if parameter.name in entry.bind:
            bound = entry.bind[parameter.name]
            names = [ref.name for ref in bound] if isinstance(bound, tuple) else [bound.name]
        else:
            names = [] if parameter.kind is Kind.DEFAULT else [parameter.name]
        return [name for name in names if name not in self.graph.inputs]

    def parents(self, name: str) -> list[str]:
        return list(self.uses[name])

    def children(self, name: str) -> list[str]:
        return [child for child in self.graph.entries if name in self.uses[child]]

    def required(self, name: str, parent: str) -> bool:
        return any(use is not None and use.kind is Kind.REQUIRED for use in self.uses[name][parent])

    def tolerant(self, name: str, parent: str) -> bool:
        kinds = {use.kind for use in self.uses[name][parent] if use is not None}
        return self.graph.entries[name].join.tolerant or kinds == {Kind.OUTCOME}

    def _below(self, name: str) -> set[str]:
        """The node and everything below it."""
        return {name}.union(*(self.below(child) for child in self.children(name)))

    def region(self, choice: Choice) -> set[str]:
        return set().union(*(self.below(target) for target in choice.targets))

    # -- choices

    def label(self, choice: Choice) -> Any:
        number = next(number for number, other in enumerate(self.graph.choices) if other is choice)
        return self.script[choice.on.name].labels[number]

    def known(self, choice: Choice) -> bool:
        return choice.default is not MISSING or self.label(choice) in dict(choice.cases)

    def took(self, choice: Choice) -> tuple[str, ...] | None:
        """The targets that a choice took: none of them for "straight on"; None when it took nothing."""
        if not self.succeeded(choice.on.name) or not self.known(choice):
            return None
        taken = dict(choice.cases).get(self.label(choice), choice.default)
        return None if taken is None else tuple(taken)

    def said(self, choice: Choice) -> str:
        if self.succeeded(choice.on.name):
            return str(self.label(choice))
        return "it was skipped" if self.skipped(choice.on.name) else "it failed"

    def targeting(self, name: str) -> list[Choice]:
        return [choice for choice in self.graph.choices if name in choice.targets]

    def rejoined(self, name: str) -> list[Choice]:
        """The choices that a node is a rejoin of."""
        return [c for c in self.graph.choices if name not in c.targets and self.region(c) & {*self.parents(name)}]

    # -- what a node sees

    def status(self, name: str) -> Status:
        return self.end(name).status

    def succeeded(self, name: str) -> bool:
        return self.status(name) is Status.SUCCEEDED

    def skipped(self, name: str) -> bool:
        return self.status(name) is Status.SKIPPED

    def _end(self, name: str) -> End:
        """Rules 0 to 5, in their order: the first that says something holds."""
        return next(self._verdicts(name))

    def _verdicts(self, name: str) -> Iterator[End]:
        yield from self._rule_0_target(name)
        yield from self._rule_0_rejoin(name)
        yield from self._rule_1(name)
        yield from self._rule_2(name)
        yield from self._rule_3(name)
        yield from self._rule_4(name)
        yield self._rule_5(name)

    def _rule_0_target(self, name: str) -> Iterator[End]:
        choices = self.targeting(name)
        for choice in choices:
            if self.succeeded(choice.on.name) and not self.known(choice):
                yield End(Status.UPSTREAM_FAILED, Reason("choice_error", choice.on.name, str(self.label(choice))))
            if self.status(choice.on.name) in BAD:
                yield End(Status.UPSTREAM_FAILED, self._parent_failed(choice.on.name))
        if choices and not any(self._live(name, choice) for choice in choices):
            yield End(Status.SKIPPED, Reason("not_chosen", choices[0].on.name, self.said(choices[0])))

    def _live(self, name: str, choice: Choice) -> bool:
        took = self.took(choice) or ()
        reached = set().union(*(self.below(target) for target in took if target != name))
        return name in took or any(
            self.succeeded(parent) and parent in reached and parent != choice.on.name for parent in self.parents(name)
        )

    def _rule_0_rejoin(self, name: str) -> Iterator[End]:
        for choice in self.rejoined(name):
            if self._nothing_came(name, choice):
                yield End(Status.SKIPPED, Reason("choice_ended", choice.on.name, self.said(choice)))

    def _nothing_came(self, name: str, choice: Choice) -> bool:
        chooser = choice.on.name
        if self.status(chooser) in BAD or (self.succeeded(chooser) and not self.known(choice)):
            return False  # it did not end, it was not skipped, it took nothing
        if self.took(choice) == ():
            return False  # straight on
        region = self.region(choice)
        branch = [parent for parent in self.parents(name) if parent in region]
        if not all(self.skipped(parent) for parent in branch):
            return False  # one succeeded, or failed: then rule 1 has the word
        independent = [p for p in self.parents(name) if p not in region and chooser not in self.below(p)]
        if any(self.succeeded(parent) for parent in independent):
            return False
        return not self._sent_from_elsewhere(name, choice)

    def _sent_from_elsewhere(self, name: str, choice: Choice) -> bool:
        """Not in the text, which looks at one choice at a time (see the decision record): does another one run it?"""
        if any(name in (self.took(other) or ()) for other in self.targeting(name)):
            return True
        chooser = choice.on.name
        for other in self.graph.choices:
            if other is choice or name not in self.region(other):
                continue
            if chooser in self.region(other):
                if self.skipped(chooser):
                    return True  # the choice was not even asked: the one above it decides
            elif name not in other.targets and self.took(other) == ():
                return True  # straight on from there
        return False

    def _rule_1(self, name: str) -> Iterator[End]:
        for parent in self.parents(name):
            if self.status(parent) in BAD and not self.tolerant(name, parent):
                yield End(Status.UPSTREAM_FAILED, self._parent_failed(parent))

    def _parent_failed(self, parent: str) -> Reason:
        return Reason("parent_failed", parent, WORDS.get(self.status(parent), "could not run"))

    def _rule_2(self, name: str) -> Iterator[End]:
        for parent in self.parents(name):
            if self.skipped(parent) and self.required(name, parent) and not self.tolerant(name, parent):
                yield End(Status.SKIPPED, Reason("parent_skipped", parent))

    def _rule_3(self, name: str) -> Iterator[End]:
        needs = self.graph.entries[name].needs
        wanted = self.parents(name) if needs is None else list(needs)
        tolerates = any(self.tolerant(name, parent) for parent in self.parents(name))
        taken = any(name in (self.took(choice) or ()) for choice in self.targeting(name))
        straight_on = any(self.took(choice) == () for choice in self.rejoined(name))
        if wanted and not tolerates and not taken and not straight_on and not any(map(self.succeeded, wanted)):
            yield End(Status.SKIPPED, Reason("parents_skipped", wanted[0], ", ".join(f"'{p}'" for p in wanted)))

    def _rule_4(self, name: str) -> Iterator[End]:
        if self.graph.entries[name].when is None:
            return
        if self.script[name].when is None:
            yield End(Status.FAILED, Reason("condition_error", detail="it raised"))
        elif not self.script[name].when:
            yield End(Status.SKIPPED, Reason("condition", detail="it is false"))

    def _rule_5(self, name: str) -> End:
        script, entry = self.script[name], self.graph.entries[name]
        status = script.end if script.failures < entry.policy.attempts else Status.FAILED
        if status is Status.SUCCEEDED:
            return SUCCESS
        mends = entry.fallback is not MISSING and status in (Status.FAILED, Status.TIMED_OUT)
        return SUCCESS if mends and script.fallback else End(status, REASONS[status])

    # -- how the run ends

    def _unhandled(self, name: str) -> bool:
        """A choice that failed, or a failure that some child, or nobody, does not tolerate."""
        if any(c.on.name == name and self.succeeded(name) and not self.known(c) for c in self.graph.choices):
            return True
        if self.status(name) not in BAD - {Status.UPSTREAM_FAILED}:
            return False
        children = self.children(name)
        return not children or not all(self._tolerates(child, name) for child in children)

    def _tolerates(self, child: str, parent: str) -> bool:
        chosen_by_it = any(choice.on.name == parent for choice in self.targeting(child))
        return self.tolerant(child, parent) and not chosen_by_it
