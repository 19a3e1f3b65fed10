"""The replay of one graph of a resumed run: which of its node runs are given back, and what has changed meanwhile."""

from __future__ import annotations

import json
from collections.abc import Sequence

from .commands import Answered, Ask, Decide, Ended, Event, FallBack, Settle
from .host import Host
from .node_run import NodeRun
from .outcome import Status
from .past import Past, Recorded
from .plan import Plan
from .unit import Edge


class Replay:
    """What the journal says of the nodes of one graph. begun: how many attempts of each lie behind it.

    A node run is given back when it succeeded, or skipped itself, or failed and the graph takes care of that; and when
    everything that it read is what it was. So a result never mixes two generations.
    """

    def __init__(self, past: Past, plan: Plan, runs: Sequence[NodeRun]) -> None:
        self._past = past
        self._plan = plan
        self._runs = runs
        self.recorded: list[Recorded | None] = [past.take(run.path) for run in runs]
        self._changed: set[int] = set()  # nodes that have ended otherwise than before
        self.begun = [self._behind(index, recorded) for index, recorded in enumerate(self.recorded)]

    def _behind(self, index: int, recorded: Recorded | None) -> int:
        attempts = self._plan.nodes[index].attempts
        if recorded is None:
            return 0
        return attempts - 1 if self._stays_failed(index) else recorded.begun(attempts)

    def touched(self, index: int) -> bool:
        """Whether the node, or something that it reads, is not what it was: then it runs afresh."""
        recorded = self.recorded[index]
        if recorded is None or not recorded.attempt:
            return False
        if self._past.changed(self._runs[index].path):
            return True
        sources = self._plan.bindings[index].sources
        return any(at in self._changed for source in sources for at, _ in source.refs)

    def given_back(self, host: Host, index: int) -> Event | None:
        """How the node run ended, by the journal. None when it has to run."""
        recorded = self.recorded[index]
        if recorded is None:
            return None
        if self._stays_failed(index) or recorded.falling:
            host.error, host.given = recorded.error, not recorded.falling
            host.continues = recorded.continues
            host.attempt = recorded.attempt
            timed_out = recorded.reason is not None and recorded.reason.kind == "timeout"
            return Ended(index, Status.TIMED_OUT if timed_out else Status.FAILED, recorded.reason)
        return Ended(index, recorded.status, recorded.reason) if host.give_back() else None

    def fallen(self, host: Host, work: FallBack) -> Event | None:
        """How the fallback of a node run ended that has failed for good."""
        recorded = self.recorded[work.node]
        return Ended(work.node, recorded.status, recorded.reason) if host.given and recorded else None

    def answered(self, ask: Ask) -> Answered | None:
        """What a condition was, when what it reads is what it was."""
        recorded, binding = self.recorded[ask.node], self._plan.conditions[ask.node]
        path = self._runs[ask.node].path
        if recorded is None or binding is None or self._past.changed(path):
            return None
        if any(at in self._changed for source in binding.sources for at, _ in source.refs):
            return None
        if recorded.reason is not None and recorded.reason.kind == "condition":
            return Answered(ask, False, recorded.reason.detail)
        return Answered(ask, True, self._past.conditions[path]) if path in self._past.conditions else None

    def decided(self, decide: Decide) -> bool:
        """Whether the journal has the same decision already."""
        run = self._runs[decide.node]
        if decide.what == "when":
            return self._past.conditions.get(run.path) == decide.detail
        return run.chosen == decide.detail and decide.node not in self._changed

    def settle(self, host: Host, settle: Settle) -> None:
        """Note whether a node ended otherwise than before, or just so without having run."""
        recorded = self.recorded[settle.node]
        if host.given or recorded is None or not recorded.status.final:
            return
        same = recorded.status is settle.status and recorded.reason == settle.reason
        if same and not host.attempt and not recorded.falling:
            host.given = True
        elif not same or (settle.status is Status.SUCCEEDED and self._another_value(host, recorded)):
            self._changed.add(settle.node)

    @staticmethod
    def _another_value(host: Host, recorded: Recorded) -> bool:
        if host.text is None:  # it is not stored, but made from what lies below
            return host.touched
        return bool(json.loads(host.text) != recorded.value)

    def _stays_failed(self, index: int) -> bool:
        """Whether a failure is one that the graph takes care of: all readers tolerate it, or a quorum went without."""
        recorded, node = self.recorded[index], self._plan.nodes[index]
        path = self._runs[index].path
        if recorded is None or not recorded.failed or self._past.changed(path) or self._past.changed_within(path):
            return False
        edges = [(child, self._edge(child, index)) for child in node.children]
        if any(edge.data and self._reached_quorum(child) for child, edge in edges):
            return True
        return bool(edges) and all(edge.tolerant and not edge.control for _, edge in edges)

    def _edge(self, child: int, parent: int) -> Edge:
        return next(edge for edge in self._plan.nodes[child].parents if edge.parent == parent)

    def _reached_quorum(self, child: int) -> bool:
        return self._plan.nodes[child].join.quorum is not None and self._runs[child].attempt > 0
