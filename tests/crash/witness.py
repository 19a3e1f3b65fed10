"""What is looked at after each kill: that the journal holds what it held, and that nothing recorded is done again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import flowgraph as fg
from flowgraph import events as ev
from flowgraph.stores import open_store
from tests.crash import calls, models
from tests.crash.calls import Place
from tests.crash.models import Asked
from tests.crash.nursery import Job
from tests.crash.plans import Plan, drawn


class Witness:
    """Watches the runs of a job over the lives of the processes that do it. server: where the models are."""

    def __init__(self, job: Job, server: Asked | None = None) -> None:
        self.job = job
        self._server = server
        self._runs = {run_id: _Watched(run_id, drawn(seed, job.url, job.size)) for run_id, seed in job.runs.items()}
        self._made = 0
        self._asked = 0 if server is None else len(server.requests)

    def look(self) -> None:
        """After a process has ended, however it did."""
        file = Path(self.job.calls)
        made = calls.read(file)[self._made :] if file.exists() else []
        self._made += len(made)
        requests = [] if self._server is None else self._server.requests[self._asked :]
        self._asked += len(requests)
        for run_id, run in self._runs.items():
            run.look(self.job.store, [call for call in made if call.run == run_id], requests)

    def compare(self, store: str) -> None:
        """Every run came to what it comes to when nobody kills it; that one is in another store."""
        for run_id, run in self._runs.items():
            ours, other = fg.load_run(run_id, store=self.job.store), facts(fg.load_run(run_id, store=store))
            different = {path: (other.get(path), fact) for path, fact in facts(ours).items() if other.get(path) != fact}
            assert not different, f"a killed run came to something else: {different}"
            assert other.keys() == facts(ours).keys()
            assert ours.output == run.plan.expected()

    @property
    def done(self) -> tuple[int, int]:
        """How many calls and requests there were."""
        return self._made, self._asked


class _Watched:
    """One run. sealed: what is never called again, nor anything below it; over: what itself is not."""

    def __init__(self, run_id: str, plan: Plan) -> None:
        self.run_id = run_id
        self.plan = plan
        self.sealed: set[Place] = set()
        self.over: set[Place] = set()
        self.begun: set[Place] = set()
        self.answered: set[tuple[str, int]] = set()
        self.rows: list[str] = []
        self._tasks = plan.tasks()

    def look(self, store: str, made: list[calls.Made], requests: Iterable[tuple[str, int]]) -> None:
        for call in made:
            assert call.place not in self.over, f"{call}: this attempt is recorded as over"
            above = [place for place in call.above if place in self.sealed]
            assert not above, f"{call} was made again: {above[0]} is recorded as finished"
        again = [call for call, count in Counter(made).items() if count > 1 and not _asks(self.plan, call.place)]
        assert not again, f"one process made a call twice: {again}"
        for request in requests:
            assert request not in self.answered, f"{request} was asked again: its reply is recorded"
        rows = self._stored(store)
        assert rows[: len(self.rows)] == self.rows, "what was stored has changed"
        self.rows = rows
        if rows:
            run = fg.load_run(self.run_id, store=store)
            self._seal(run)
            self.answered |= models.sealed(run.nodes, self._tasks)
        early = [call for call in made if call.place not in self.begun]
        assert not early, f"{early[0]} was made before its start was stored"

    def _stored(self, store: str) -> list[str]:
        with closing(open_store(store)) as opened:
            try:
                return opened.read(self.run_id).rows
            except fg.RunNotFound:
                return []

    def _seal(self, run: fg.Run) -> None:
        """Remember what is recorded."""
        attempts: dict[str, int] = {}
        for event in run.events:
            place = event.path, tuple(attempts.get(way, 0) for way in calls.ways(event.path))
            match event:
                case ev.NodeStarted():
                    attempts[event.path] = event.attempt
                    self.begun.add((event.path, (*place[1][:-1], event.attempt)))
                case ev.NodeRetrying():
                    self.sealed.add(place)
                case ev.NodeFallingBack():
                    self.over.add(place)
                case ev.NodeFinished() if event.status is fg.Status.SUCCEEDED or _is_tolerated(event.path):
                    self.sealed.add(place)


def _is_tolerated(path: str) -> bool:
    """Whether its failure is taken care of, see `parts.tolerated`."""
    return bool(re.fullmatch(r"p\d+_bad", path))


def _asks(plan: Plan, place: Place) -> bool:
    """Whether it asks a person, see `parts.asked`: its code runs again when the answer is there."""
    path, _ = place
    return path in {f"p{number}" for number, step in enumerate(plan.steps) if step.kind == "asked"}


def facts(run: fg.Run) -> dict[str, Any]:
    """What a run came to, without times."""
    found: dict[str, Any] = {"": (run.status, run.unhandled, run.usage)}
    for path, node in run.nodes.items():
        error = repr(node.error) if node.error else ""
        found[path] = (node.kind, node.status, node.value, node.reason, error, node.attempt, node.chosen, node.usage)
    return found
