"""The nursery, seen from the test: processes are begun, killed, and waited for."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from tests.crash.nursery import PATIENCE, Job

ROOT = Path(__file__).parents[2]


class Nursery:
    """Forks a process for each job."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def begin(self, job: Job) -> int:
        """The number of the process that does the job."""
        return int(self._tell(json.dumps(asdict(job))))

    def wait(self, pid: int) -> int:
        """How the process ended: its exit code, or minus the signal that killed it."""
        return os.waitstatus_to_exitcode(int(self._tell(str(pid))))

    def kill(self, pid: int) -> int:
        """Kill the process as nothing else does: at once, with no last word. How it ended, if it was first."""
        os.kill(pid, signal.SIGKILL)
        return self.wait(pid)

    def done(self, job: Job) -> int:
        """Do a job to its end: the exit code."""
        return self.wait(self.begin(job))

    def _tell(self, line: str) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        said = self._process.stdout.readline()
        assert said, "the nursery has ended"
        return said


@contextmanager
def nursery(*, models: bool = False) -> Iterator[Nursery]:
    """A nursery; models: with what agents need, which takes seconds to load."""
    command = [sys.executable, "-m", "tests.crash.nursery", *(["models"] if models else [])]
    path = os.pathsep.join([str(ROOT), str(ROOT / "nodes")])
    with subprocess.Popen(
        command, stdin=-1, stdout=-1, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}
    ) as it:
        try:
            assert it.stdout is not None and it.stdin is not None
            assert it.stdout.readline() == "ready\n"
            yield Nursery(it)
            it.stdin.close()
            it.wait(PATIENCE)
        finally:
            it.kill()
