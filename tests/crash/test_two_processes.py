"""Two processes on one store, each with many runs at once: none waits in vain, and no event is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import flowgraph as fg
from tests.crash import calls
from tests.crash.fuzz import explained
from tests.crash.nursery import Job
from tests.crash.plans import drawn
from tests.crash.processes import Nursery, nursery
from tests.engine.stores import postgres

RUNS = 20

pytestmark = pytest.mark.network_local


@pytest.fixture(scope="module")
def started() -> Iterator[Nursery]:
    with nursery() as one:
        yield one


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new store can be made."""
    return postgres.postgres_url() if request.param == "postgres" else str(tmp_path / "runs.db")


def test_twenty_runs_at_once_in_each_of_two_processes(started: Nursery, store: str, tmp_path: Path) -> None:
    both = Job(store, {}, str(tmp_path / "calls"), str(tmp_path / "words"), hurried=True, size=3)
    jobs = [replace(both, runs={f"{name}{n}": f"{name}{n}" for n in range(RUNS)}) for name in "ab"]
    jobs[1] = replace(jobs[1], backend="trio")
    with explained(both, "none is drawn"):
        codes = [started.wait(pid) for pid in [started.begin(job) for job in jobs]]
        assert codes == [0, 0]
        done = calls.read(Path(both.calls))
        assert len({call.life for call in done}) == 2
        heads = fg.runs(store)
        assert sorted(head.run_id for head in heads) == sorted({**jobs[0].runs, **jobs[1].runs})
        assert {(head.status, head.owner) for head in heads} == {("succeeded", "")}
        for head in heads:
            run = fg.load_run(head.run_id, store=store)
            assert run.output == drawn(head.run_id, size=3).expected()
            assert [event.seq for event in run.events] == list(range(head.length))
        assert [started.done(job) for job in jobs] == [0, 0], "going on with runs that are over"
        assert calls.read(Path(both.calls)) == done, "a run that is over called something"
