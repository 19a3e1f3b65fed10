"""The crash fuzz: processes at work on drawn graphs are killed at drawn moments, and others go on until it is done."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import flowgraph as fg
from tests.crash.models import Asked
from tests.crash.nursery import Job
from tests.crash.processes import Nursery
from tests.crash.witness import Witness

KILLS = 6
"""At most so many for a job; then it may come to its end."""


def killed(
    nursery: Nursery,
    folder: Path,
    seed: str,
    *,
    runs: int = 1,
    server: Asked | None = None,
    store: str = "",
    calm: str = "",
) -> int:
    """Do a drawn job, killed again and again: how many kills hit a process at work.

    store: default a new SQLite file. calm: where the same runs are made once more, undisturbed.
    """
    draw = random.Random(seed)
    job = Job(
        store or str(folder / "runs.db"),
        {f"run{number}": f"{seed}/{number}" for number in range(runs)},
        str(folder / "calls"),
        str(folder / "words"),
        draw.choice(["asyncio", "trio"]),
        server.server.url if server else "",
        draw.random() < 0.5,
        10.0 if store else 0.0,
    )
    with explained(job, seed):
        undisturbed = replace(job, store=calm or str(folder / "calm.db"), calls=str(folder / "calm"))
        begun = time.monotonic()
        assert nursery.done(undisturbed) == 0
        took = time.monotonic() - begun
        witness = Witness(job, server)
        count = 0
        while count < KILLS and _killed_once(nursery, job, draw.uniform(0, took)):
            count += 1
            witness.look()
        assert nursery.done(job) == 0
        witness.look()
        witness.compare(undisturbed.store)
        done = witness.done
        assert nursery.done(job) == 0
        witness.look()
        assert witness.done == done, "a run that is over called something"
        _look_at_store(job.store)
    return count


def _killed_once(nursery: Nursery, job: Job, after: float) -> bool:
    """Kill a process that does the job after so many seconds: whether it was still at work."""
    pid = nursery.begin(job)
    time.sleep(after)
    code = nursery.kill(pid)
    assert code in (0, -9), f"a process that was to be killed ended with {code}"
    return code != 0


def _look_at_store(store: str) -> None:
    assert {head.owner for head in fg.runs(store)} == {""}
    if "://" not in store:
        with closing(sqlite3.connect(store)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        left = {file.name for file in Path(store).parent.glob("runs.db*")}
        assert left <= {"runs.db", "runs.db-wal", "runs.db-shm"}, left


@contextmanager
def explained(job: Job, seed: str) -> Iterator[None]:
    """What fails in here names the seed, and what the processes said."""
    try:
        yield
    except BaseException as error:
        words = Path(job.words)
        error.add_note(f"seed {seed!r}, {job}")
        error.add_note(words.read_text()[-6000:] if words.exists() else "the processes said nothing")
        raise
