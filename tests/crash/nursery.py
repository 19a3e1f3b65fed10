"""Processes to be killed: `python -m tests.crash.nursery [models]` forks one for each line of JSON, a `Job`.

It has loaded everything and opened nothing, so that each child begins its runs at once. A line with a number waits for
that process, which stays known by its number until then, and tells its status. It ends, and its children with it, when
nobody writes to it any more.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import trio

import flowgraph as fg
import flowgraph.stores.sql
import flowgraph.stores.sqlite
from tests.crash.calls import Calls
from tests.crash.parts import answer_to
from tests.crash.plans import Deps, drawn

PATIENCE = 60.0
"""Seconds after which a child is stuck: it says where, and ends with 1."""


@dataclass(frozen=True)
class Job:
    """What a process does: runs, all at once. runs: run id → seed. calls, words: files that it writes to.

    busy: seconds for which it may find its runs owned by somebody else (a server that has not noticed a death yet).
    """

    store: str
    runs: dict[str, str]
    calls: str
    words: str
    backend: str = "asyncio"
    url: str = ""
    hurried: bool = False
    busy: float = 0.0
    size: int = 5


async def finish(job: Job, run_id: str, deps: Deps) -> None:
    """Begin a run or go on with it, answer what is asked, to its end."""
    plan = drawn(job.runs[run_id], job.url, job.size)
    answers: dict[str, Any] | None = None
    given_up = time.monotonic() + job.busy
    while True:
        try:
            run = await fg.arun(
                plan.build(), {"value": plan.value}, store=job.store, run_id=run_id, deps=deps, answers=answers
            )
        except fg.RunBusy:
            if time.monotonic() > given_up:
                raise
            await anyio.sleep(0.02)
            continue
        if run.status is not fg.Status.PAUSED:
            break
        answers = {gate.path: answer_to(gate.path) for gate in run.gates}
    assert run.output == plan.expected(), f"{run_id} gave {run.output}, and not {plan.expected()}"


async def work(job: Job) -> None:
    """All runs at once."""
    deps = Deps(Calls(Path(job.calls)), job.hurried)
    async with anyio.create_task_group() as group:
        for run_id in job.runs:
            group.start_soon(finish, job, run_id, deps)


def child(job: Job) -> None:
    """Do the job; ends the process."""
    code = 1
    try:
        words = os.open(job.words, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        for descriptor, other in ((0, os.open(os.devnull, os.O_RDONLY)), (1, words), (2, words)):
            os.dup2(other, descriptor)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        anyio.run(partial(work, job), backend=job.backend)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def die_with_parent() -> None:
    """Linux: be killed when the parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def main() -> None:
    assert trio  # loaded before anything is forked
    assert flowgraph.stores.sqlite
    if "models" in sys.argv[1:]:
        from flowgraph_nodes.models import litellm

        litellm._load()
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if isinstance(asked, int):
            print(os.waitpid(asked, 0)[1], flush=True)
            continue
        if (pid := os.fork()) == 0:
            die_with_parent()
            child(Job(**asked))
        print(pid, flush=True)


if __name__ == "__main__":
    main()
