"""The scheduler: a pure state machine that decides what runs, when, and how everything ended.

Commands come out, events go in. It has no clock, does no I/O, starts no task, draws no random number and never
iterates over a set: the same events in the same order always give the same commands, so that the same code decides
in a live run, on resume and on a distributed engine. It never calls what a user wrote: it asks (`Ask`), the driver
evaluates, and the answer is an event.

One schedule serves one scope: the nodes of a graph, or the children that a running node spawns one by one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .commands import (
    Answered,
    Ask,
    Command,
    Decide,
    Ended,
    Event,
    FallBack,
    Question,
    Settle,
    Sleep,
    Start,
    Stopped,
    Woke,
)
from .errors import InternalError
from .outcome import Reason, Status
from .rules import Rules, Taken
from .unit import PlanChoice, PlanNode

PENDING: Final = Status.PENDING
RUNNING: Final = Status.RUNNING
RETRYING: Final = Status.RETRYING
SUCCEEDED: Final = Status.SUCCEEDED
SKIPPED: Final = Status.SKIPPED
OWN_FAILURES: Final = (Status.FAILED, Status.TIMED_OUT, Status.CANCELLED)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a scope ended. unhandled: the nodes whose failure nothing handled, in order."""

    status: Status
    unhandled: tuple[int, ...] = ()


class Schedule:
    """The state of one scope. Verbs: `start`, `feed`, `spawn`, `verdict`.

    begun: how many attempts of each node lie behind it, in a run that was taken up again.
    """

    __slots__ = (
        "_admitted",
        "_attempt",
        "_cut",
        "_early",
        "_failed",
        "_failures",
        "_nodes",
        "_open",
        "_out",
        "_rules",
        "_settled",
        "_troubled",
        "_waiting",
        "choices",
        "statuses",
        "taken",
    )

    def __init__(
        self, nodes: tuple[PlanNode, ...] = (), choices: tuple[PlanChoice, ...] = (), begun: Sequence[int] | None = None
    ) -> None:
        self.choices = choices
        self.statuses: list[Status] = [PENDING] * len(nodes)
        self.taken: list[Taken | None] = [None] * len(choices)
        self._nodes = list(nodes)
        self._rules = Rules(self._nodes, choices, self.statuses, self.taken)
        self._admitted = [False] * len(nodes)
        self._attempt = list(begun or [0] * len(nodes))
        self._waiting = [len(node.parents) + len(node.targeted) for node in nodes]
        self._early = [_worth_a_look(node) for node in nodes]
        self._troubled = [False] * len(nodes)  # some parent ended otherwise than by success
        self._failed: list[int] = []  # nodes that failed by themselves, or whose choice did
        self._cut: dict[int, None] = {}  # nodes that ended because everything was stopped
        self._failures: dict[int, Ended] = {}  # last failures that a retry or a fallback may yet mend
        self._settled: deque[int] = deque()  # final, but its readers have not heard yet
        self._open = len(nodes) + len(choices)
        self._out: list[Command] = []

    @property
    def done(self) -> bool:
        """Whether every node is final and every choice made."""
        return self._open == 0

    def attempt(self, node: int) -> int:
        """The number of the node's last attempt; 0 when it never ran."""
        return self._attempt[node]

    def start(self) -> list[Command]:
        """Begin: what has no parents runs."""
        for index, node in enumerate(self._nodes):
            if not node.parents:
                self._admit(index)
        return self._flush()

    def renew(self, node: int) -> None:
        """A node that has just been told to run begins from its first attempt, whatever lies behind it."""
        self._attempt[node] = 1

    def spawn(self, name: str, attempts: int = 1, begun: int = 0) -> tuple[int, list[Command]]:
        """Add a node without parents and start it: its number, and what to do."""
        index = len(self._nodes)
        self._nodes.append(PlanNode(name, attempts=attempts))
        self.statuses.append(PENDING)
        self._admitted.append(False)
        self._attempt.append(begun)
        self._waiting.append(0)
        self._early.append(0)
        self._troubled.append(False)
        self._open += 1
        self._admit(index)
        return index, self._flush()

    def feed(self, event: Event) -> list[Command]:
        """Take an event in and say what is to be done, and what is decided, because of it."""
        if type(event) is Ended:
            if not self.statuses[event.node].final:  # a late answer changes nothing
                self._ended(event)
        elif type(event) is Answered:
            self._answered(event)
        elif type(event) is Woke:
            if self.statuses[event.node] is RETRYING:
                self._try(event.node)
        elif type(event) is Stopped:
            self._stop(event.detail)
        self._spread()
        return self._flush()

    def verdict(self) -> Verdict:
        """How the scope ended. Raises InternalError when work is left that nothing would ever do."""
        if not self.done:
            left = [node.name for node, status in zip(self._nodes, self.statuses, strict=True) if not status.final]
            left += [self._nodes[c.chooser].name for c, t in zip(self.choices, self.taken, strict=True) if t is None]
            raise InternalError(f"the run stalled: nothing more will become of {', '.join(left[:5])}")
        unhandled = tuple(index for index in sorted(dict.fromkeys(self._failed)) if self._unhandled(index))
        return Verdict(Status.FAILED if unhandled else SUCCEEDED, unhandled)

    def lost(self) -> int | None:
        """The first node whose failure nothing handles, and nothing that may still run can; None if there is none.

        Under the run policy "stop" the driver stops the scope then.
        """
        for index in self._failed:
            if self._unhandled(index) and not any(
                self._may_reach_quorum(c, index) for c in self._nodes[index].children
            ):
                return index
        return None

    # -- one node

    def _admit(self, index: int) -> None:
        """Every rule that needs no asking is passed: ask for the condition, or run."""
        self._admitted[index] = True
        if self._nodes[index].conditional:
            self.statuses[index] = RUNNING
            self._out.append(Ask(Question.WHEN, index))
        else:
            self._try(index)

    def _try(self, index: int) -> None:
        self.statuses[index] = RUNNING
        self._attempt[index] += 1
        self._out.append(Start(index, self._attempt[index]))

    def _ended(self, event: Ended) -> None:
        index, status, reason = event
        failure = self._failures.pop(index, None)
        if failure is not None:  # it was the fallback that ended
            self._settle(index, *((status, None) if status is SUCCEEDED else failure[1:]))
        elif status is SUCCEEDED or status is SKIPPED:
            self._settle(index, status, reason)
        elif status is not Status.CANCELLED and self._attempt[index] < self._nodes[index].attempts:
            self.statuses[index] = RETRYING
            self._failures[index] = event
            self._out.append(Ask(Question.RETRY, index, self._attempt[index]))
        else:
            self._give_up(event)

    def _give_up(self, event: Ended) -> None:
        """The last attempt has failed: fall back, or fail."""
        index, status, reason = event
        if self._nodes[index].fallback and status is not Status.CANCELLED:
            self._failures[index] = event
            self._out.append(FallBack(index))
        else:
            self._settle(index, status, reason)

    def _answered(self, event: Answered) -> None:
        question, index, subject = event.ask
        if question is Question.CHOICE:
            self._chosen(subject, event)
        elif self.statuses[index].final:
            return
        elif question is Question.RETRY:
            failure = self._failures.pop(index)
            if event.answer is None:
                self._give_up(failure)
            elif event.answer == 0:
                self._try(index)
            else:
                self._out.append(Sleep(index, float(event.answer)))
        elif event.error is not None:
            self._settle(index, Status.FAILED, event.error)
        elif event.answer:
            self._out.append(Decide(index, "when", event.detail, ()))
            self._try(index)
        else:
            self._settle(index, SKIPPED, Reason("condition", detail=event.detail))

    def _settle(self, index: int, status: Status, reason: Reason | None) -> None:
        self.statuses[index] = status
        self._open -= 1
        self._out.append(Settle(index, status, reason))
        if status in OWN_FAILURES:
            self._failed.append(index)
        self._settled.append(index)

    def _stop(self, detail: str) -> None:
        for index, status in enumerate(self.statuses):
            if not status.final:
                self._cut[index] = None
                self._settle(index, Status.CANCELLED, Reason("cancelled", detail=detail))
        self._settled.clear()
        self.taken[:] = [taken or Taken(detail=detail) for taken in self.taken]
        self._open = 0

    # -- what follows from it

    def _spread(self) -> None:
        """Tell readers that a parent is final, and theirs when that settles them, without recursion."""
        while self._settled:
            index = self._settled.popleft()
            node, fine = self._nodes[index], self.statuses[index] is SUCCEEDED
            for choice in node.chooses:
                if fine:
                    self._out.append(Ask(Question.CHOICE, index, choice))
                else:
                    skipped = self.statuses[index] is SKIPPED
                    self._decided(choice, Taken(detail="it was skipped" if skipped else "it failed", skipped=skipped))
            for child in node.children:
                if not fine:
                    self._troubled[child] = True
                self._heard(child)

    def _heard(self, child: int) -> None:
        """One of the things that a node waits for is there."""
        self._waiting[child] -= 1
        if self._waiting[child] <= self._early[child]:
            self._look(child)

    def _look(self, index: int) -> None:
        """Settle or admit a pending node, when what is known by now allows it."""
        if self.statuses[index] is not PENDING or self._waiting[index] > self._early[index]:
            return
        node = self._nodes[index]
        if node.join.quorum is not None:
            known, verdict = self._rules.quorum(index)
        else:
            known, verdict = self._rules.early(index) if node.targeted else (True, None)
            if known and verdict is None:
                known, verdict = self._look_full(index)
        if known:
            self._judge(index, verdict)

    def _look_full(self, index: int) -> tuple[bool, tuple[Status, Reason] | None]:
        """When all parents are final and, unless all of them succeeded, the choices above are made."""
        if self._waiting[index]:
            return False, None
        if not self._troubled[index]:
            return True, None
        return (True, self._rules.verdict(index)) if self._rules.choices_made(index) else (False, None)

    def _judge(self, index: int, verdict: tuple[Status, Reason] | None) -> None:
        if verdict is None:
            self._admit(index)
        else:
            self._settle(index, *verdict)

    def _chosen(self, number: int, event: Answered) -> None:
        choice = self.choices[number]
        if self.taken[number] is not None:  # a late answer changes nothing
            return
        if event.error is not None:
            self._failed.append(choice.chooser)
            self._decided(number, Taken(detail=event.detail, failed=event.error))
            return
        assert event.answer is not None, "a choice is answered with the number of a case"
        targets = choice.cases[int(event.answer)]
        self._out.append(Decide(choice.chooser, "choice", event.detail, targets or ()))
        self._decided(number, Taken(targets=targets, detail=event.detail))

    def _decided(self, number: int, taken: Taken) -> None:
        self.taken[number] = taken
        self._open -= 1
        for target in self.choices[number].targets:
            self._heard(target)
        for rejoin in self.choices[number].rejoins:
            self._look(rejoin)

    # -- how it all ended

    def _unhandled(self, index: int) -> bool:
        """Whether a node failed by itself, or its choice did, and nothing below takes care of it."""
        for choice in self._nodes[index].chooses:
            taken = self.taken[choice]
            if taken is not None and taken.failed is not None:
                return True
        if self.statuses[index] not in OWN_FAILURES or index in self._cut:
            return False
        children = self._nodes[index].children
        if any(self._reached_quorum(child, index) for child in children):
            return False
        return not children or not all(self._tolerates(child, index) for child in children)

    def _tolerates(self, child: int, parent: int) -> bool:
        """Whether a child runs although this parent failed. (A target of the parent's choice never does.)"""
        edges = self._nodes[child].parents
        return any(edge.parent == parent and edge.tolerant and not edge.control for edge in edges)

    def _reached_quorum(self, child: int, parent: int) -> bool:
        node = self._nodes[child]
        feeds = any(edge.parent == parent and edge.data for edge in node.parents)
        return node.join.quorum is not None and feeds and self._admitted[child]

    def _may_reach_quorum(self, child: int, parent: int) -> bool:
        feeds = any(edge.parent == parent and edge.data for edge in self._nodes[child].parents)
        return self._nodes[child].join.quorum is not None and feeds and self.statuses[child] is PENDING

    def _flush(self) -> list[Command]:
        out, self._out = self._out, []
        return out


def _worth_a_look(node: PlanNode) -> int:
    """For how few things a node must still be waiting before it can be settled."""
    parents, quorum = len(node.parents), node.join.quorum
    if node.targeted:
        return parents + len(node.targeted)
    if quorum is None:
        return 0
    if not all(edge.data for edge in node.parents):
        return parents
    return parents - min(quorum, parents - quorum + 1)
