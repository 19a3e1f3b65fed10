"""When a node runs: the rules of joins, choices and skips.

Parents are the nodes named by parameters (data), `after` (order), `when`, and the choosers that target it (control).
Graph inputs and constants are not parents. One edge per parent: required if any use is, tolerant if its parameter is
an Outcome or the join is DONE. Once all are final (rule 0 as soon as its own parents are):

0. A target of a choice that is not *live* → `skipped` (not chosen), whatever its other parents did. Live: a choice
   took it, or a succeeded parent is, or lies below, another target that the same choice took; the chooser itself never
   activates. So a node that is both a direct choice and the rejoin of the other branch runs either way. Several
   choosers on one target: any of them (use `when` for both). A failed chooser makes its targets upstream_failed; a
   skipped one takes nothing.
   A *rejoin* of a choice (a node with a parent at or below the targets, itself no target) is skipped when none of
   those parents succeeded and the choice ended (`fg.END`), was skipped, or took targets that produced nothing, unless
   an independent parent (neither the chooser nor above it) succeeded. A label that maps to `[]` means "straight on":
   the rejoin runs.
1. A parent on a non-tolerant edge failed, timed out, was cancelled or is upstream_failed → `upstream_failed`. Failure
   outranks skip.
2. A skipped parent on a required, non-tolerant parameter → `skipped`.
3. No edge tolerates, no choice took it, and none of its `needs` (default: all parents) succeeded → `skipped`.
   `needs=("a", "b")` wants at least one of these; `needs=()` runs with Nones and defaults.
4. `when` is false → `skipped`; `when` that raises → `failed` (ConditionError), never "false".
5. Else it runs.

What the text leaves open (docs/decisions/0004): a rejoin whose own branch *failed* is left to rule 1, for failure
outranks skip; "straight on" counts as taking the rejoins in rule 3; and where several choices meet in a rejoin, it
runs when another one sends it on: by taking it, by going straight on from elsewhere than above this choice, or by
standing above this choice when this one was skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from .outcome import Reason, Status
from .unit import Edge, PlanChoice, PlanNode, Rejoin, Target

SUCCEEDED: Final = Status.SUCCEEDED
SKIPPED: Final = Status.SKIPPED

Verdict: TypeAlias = tuple[Status, Reason]


@dataclass(slots=True)
class Taken:
    """What became of a choice. targets: None when it ended the branch, took nothing or failed."""

    targets: tuple[int, ...] | None = None
    detail: str = ""
    skipped: bool = False
    failed: Reason | None = None

    @property
    def straight_on(self) -> bool:
        """Whether the label mapped to no target at all."""
        return self.targets == ()


class Rules:
    """The rules over one set of statuses. Pure: reads what the scheduler knows, decides one node at a time."""

    __slots__ = ("choices", "nodes", "status", "taken")

    def __init__(
        self,
        nodes: Sequence[PlanNode],
        choices: Sequence[PlanChoice],
        status: list[Status],
        taken: list[Taken | None],
    ) -> None:
        self.nodes = nodes
        self.choices = choices
        self.status = status
        self.taken = taken

    def early(self, index: int) -> tuple[bool, Verdict | None]:
        """Rule 0 for a target, as soon as it can be said: (whether it can, verdict)."""
        node = self.nodes[index]
        if any(self.taken[target.choice] is None for target in node.targeted):
            return False, None
        if (failed := self._chooser_failed(node)) is not None:
            return True, failed
        if not node.targeted or any(self._live(target, index) for target in node.targeted):
            return True, None
        if any(not self.status[parent].final for target in node.targeted for parent, _ in target.through):
            return False, None
        first = node.targeted[0]
        chooser = self.choices[first.choice].chooser
        return True, (SKIPPED, Reason("not_chosen", self.nodes[chooser].name, self._state(first.choice).detail))

    def choices_made(self, index: int) -> bool:
        """Whether every choice that the node is a rejoin of is made. One of its parents may end before that."""
        return all(self.taken[rejoin.choice] is not None for rejoin in self.nodes[index].rejoins)

    def verdict(self, index: int) -> Verdict | None:
        """Rules 0 to 3, all parents being final: how the node ends without running, or None when it may run."""
        node = self.nodes[index]
        return (
            self.early(index)[1]
            or self._dead_rejoin(index, node)
            or self._upstream_failed(node.parents)
            or self._parent_skipped(node.parents)
            or self._nothing_arrived(index, node)
        )

    def quorum(self, index: int) -> tuple[bool, Verdict | None]:
        """The same for `Join.ANY` and `at_least`: (whether it can be said yet, verdict)."""
        node = self.nodes[index]
        status, wanted = self.status, node.join.quorum or 1
        data = [edge.parent for edge in node.parents if edge.data]
        others = tuple(edge for edge in node.parents if edge.awaited)
        if any(not status[edge.parent].final for edge in others):
            return False, None
        known, verdict = self.early(index)
        verdict = verdict or self._upstream_failed(others) or self._parent_skipped(others)
        if verdict or not known:
            return known, verdict
        succeeded = sum(status[parent] is SUCCEEDED for parent in data)
        if succeeded >= wanted:
            return True, None
        open_ = sum(not status[parent].final for parent in data)
        if succeeded + open_ >= wanted:
            return False, None
        detail = f"{wanted} of {len(data)} had to succeed"
        failed = any(status[parent].bad for parent in data)
        return True, (Status.UPSTREAM_FAILED if failed else SKIPPED, Reason("quorum", detail=detail))

    # -- rule 0

    def _chooser_failed(self, node: PlanNode) -> Verdict | None:
        for target in node.targeted:
            failed, chooser = self._state(target.choice).failed, self.choices[target.choice].chooser
            if failed is not None:
                return Status.UPSTREAM_FAILED, failed
            if self.status[chooser].bad:
                return Status.UPSTREAM_FAILED, self._failed(chooser)
        return None

    def _live(self, target: Target, index: int) -> bool:
        taken = self._state(target.choice).targets
        if not taken:
            return False
        if index in taken:
            return True
        return any(
            self.status[parent] is SUCCEEDED and any(other in taken for other in others)
            for parent, others in target.through
        )

    def _dead_rejoin(self, index: int, node: PlanNode) -> Verdict | None:
        for rejoin in node.rejoins:
            if self._nothing_came(rejoin) and not self._sent_on(rejoin, index, node):
                chooser = self.nodes[self.choices[rejoin.choice].chooser].name
                return SKIPPED, Reason("choice_ended", chooser, self._state(rejoin.choice).detail)
        return None

    def _nothing_came(self, rejoin: Rejoin) -> bool:
        """Whether nothing came out of the branches of a choice, and nothing that has nothing to do with it."""
        state, chooser = self._state(rejoin.choice), self.choices[rejoin.choice].chooser
        if state.failed is not None or self.status[chooser].bad:
            return False
        if any(self.status[parent] is not SKIPPED for parent in rejoin.branch):
            return False
        return not any(self.status[parent] is SUCCEEDED for parent in rejoin.independent)

    def _sent_on(self, rejoin: Rejoin, index: int, node: PlanNode) -> bool:
        """Whether some choice runs the node although nothing came out of the branches of this one."""
        if self._taken(index, node):
            return True
        chooser = self.nodes[self.choices[rejoin.choice].chooser]
        above = [target.choice for target in chooser.targeted] + [other.choice for other in chooser.rejoins]
        if above and self._state(rejoin.choice).skipped:
            return True  # it was not even asked: the choices above it decide
        return any(self._state(other.choice).straight_on and other.choice not in above for other in node.rejoins)

    # -- rules 1 to 3

    def _upstream_failed(self, edges: Sequence[Edge]) -> Verdict | None:
        for edge in edges:
            if not edge.tolerant and self.status[edge.parent].bad:
                return Status.UPSTREAM_FAILED, self._failed(edge.parent)
        return None

    def _parent_skipped(self, edges: Sequence[Edge]) -> Verdict | None:
        for edge in edges:
            if edge.required and not edge.tolerant and self.status[edge.parent] is SKIPPED:
                return SKIPPED, Reason("parent_skipped", self.nodes[edge.parent].name)
        return None

    def _nothing_arrived(self, index: int, node: PlanNode) -> Verdict | None:
        needs = tuple(edge.parent for edge in node.parents) if node.needs is None else node.needs
        if not needs or any(self.status[parent] is SUCCEEDED for parent in needs):
            return None
        if any(edge.tolerant for edge in node.parents) or self._taken(index, node):
            return None
        if any(self._state(rejoin.choice).straight_on for rejoin in node.rejoins):
            return None
        names = ", ".join(f"'{self.nodes[parent].name}'" for parent in needs)
        return SKIPPED, Reason("parents_skipped", self.nodes[needs[0]].name, names)

    def _taken(self, index: int, node: PlanNode) -> bool:
        """Whether a choice took the node by name."""
        return any(index in (self._state(target.choice).targets or ()) for target in node.targeted)

    def _failed(self, parent: int) -> Reason:
        words = {Status.TIMED_OUT: "timed out", Status.CANCELLED: "was cancelled", Status.FAILED: "failed"}
        return Reason("parent_failed", self.nodes[parent].name, words.get(self.status[parent], "could not run"))

    def _state(self, choice: int) -> Taken:
        state = self.taken[choice]
        assert state is not None, "the rules are asked only when the choices that they need are made"
        return state
