"""One child process at a time, for code on a worker thread: captured, limited in time, killed with all it started.

It is done with threads and not with the event loop's own subprocesses, for those of asyncio (before Python 3.13) do
not report an exit while a surviving grandchild holds the pipes.
"""

from __future__ import annotations

import functools
import os
import selectors
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from flowgraph_nodes.threads import threads

T = TypeVar("T")

MARK: Final = "FLOWGRAPH_COMMAND"
"""An environment variable by which the offspring of a process is found, wherever it went."""

TIMEOUT: Final = "timeout"
CANCELLED: Final = "cancelled"

_GRACE: Final = 0.3
"""Seconds to wait, after the kill, for output that is still in the pipes."""

_LOOK: Final = 0.05
"""Seconds between two looks where the system cannot tell us."""


class Capture:
    """What was written: the first `head` bytes and the last `tail` bytes, however much it was."""

    def __init__(self, head: int, tail: int = 0) -> None:
        self._limits = head, tail
        self._head = bytearray()
        self._tail = bytearray()
        self._count = 0

    def feed(self, data: bytes) -> None:
        """Take further output."""
        head, tail = self._limits
        self._count += len(data)
        room = head - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        del self._tail[: max(0, len(self._tail) - tail)]

    @property
    def left_out(self) -> int:
        """How many bytes were neither in the head nor in the tail."""
        return self._count - len(self._head) - len(self._tail)

    def __bytes__(self) -> bytes:
        return bytes(self._head + self._tail)

    def text(self) -> str:
        """The output as text, with a note where something was left out."""
        if not self.left_out:
            return bytes(self).decode("utf-8", "replace")
        head, tail = (bytes(part).decode("utf-8", "replace") for part in (self._head, self._tail))
        return f"{head}\n[{self.left_out} bytes left out]\n{tail}"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended. code: its exit code, minus the signal's number if a signal ended it.

    why: why we ended it: `TIMEOUT`, `CANCELLED` or what the watcher said; "" if it ended by itself.
    """

    code: int
    stdout: Capture
    stderr: Capture
    why: str = ""


Watcher = Callable[[int], str]
"""Asked now and then with the process's id; a text ends the process, "" lets it go on."""


class Job:
    """Processes that are run for one caller, who may lose interest: `stop` is for other threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def stop(self) -> None:
        """Kill what runs; nothing new is started."""
        with self._lock:
            self._stopped = True
            self._kill_group()

    def run(
        self,
        command: Sequence[str],
        *,
        folder: str | Path | None = None,
        environment: Mapping[str, str],
        timeout: float,
        captures: tuple[Capture, Capture],
        pass_fds: Sequence[int] = (),
        watcher: Watcher | None = None,
        hunt: bool = False,
    ) -> Ended:
        """Run a process to its end, at most `timeout` seconds, in a session of its own and without input.

        Its process group is killed when it ends or has to; with `hunt`, so is offspring that left the group.

        Raises:
            OSError: it cannot be started.
        """
        mark = uuid.uuid4().hex
        deadline = time.monotonic() + timeout
        with self._lock:
            if self._stopped:
                return Ended(-signal.SIGKILL, *captures, CANCELLED)
            process = self._process = subprocess.Popen(  # noqa: S603, what is safe to run is for the caller to know
                command,
                cwd=folder,
                env={**environment, MARK: mark},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=pass_fds,
            )
        with process, _Pipes(process, captures) as pipes:
            try:
                why = pipes.read(deadline, watcher)
            finally:
                with self._lock:  # before the process is waited for: then its number may be somebody else's
                    self._kill_group()
                    self._process = None
                if hunt:
                    _kill_marked(mark)
            pipes.drain(time.monotonic() + _GRACE)
            code = process.wait()
        return Ended(code, *captures, CANCELLED if self._stopped else why)

    def _kill_group(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)


class _Pipes:
    """The two outputs of a process and, where the system has such a thing, a descriptor that tells of its exit."""

    def __init__(self, process: subprocess.Popen[bytes], captures: tuple[Capture, Capture]) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._selector = selectors.DefaultSelector()
        for pipe, capture in zip((process.stdout, process.stderr), captures, strict=True):
            self._selector.register(pipe, selectors.EVENT_READ, capture)
        self._exit = _exit_descriptor(process.pid)
        if self._exit is not None:
            self._selector.register(self._exit, selectors.EVENT_READ)

    def __enter__(self) -> _Pipes:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        if self._exit is not None:
            os.close(self._exit)

    def read(self, deadline: float, watcher: Watcher | None) -> str:
        """Take output until the process ends, or has to; says why it has to."""
        step = _LOOK if self._exit is None or watcher is not None else float("inf")
        while (left := deadline - time.monotonic()) > 0:
            self._take(min(left, step))
            if _has_exited(self._process):
                return ""
            if watcher is not None and (why := watcher(self._process.pid)):
                return why
        return TIMEOUT

    def drain(self, deadline: float) -> None:
        """Take what is left in the pipes, until they are closed or the time is up."""
        if self._exit is not None:
            self._selector.unregister(self._exit)
        while self._selector.get_map() and (left := deadline - time.monotonic()) > 0:
            self._take(left)

    def _take(self, wait: float) -> None:
        for key, _ in self._selector.select(wait):
            if isinstance(key.data, Capture):
                if data := os.read(key.fd, 65536):
                    key.data.feed(data)
                else:
                    self._selector.unregister(key.fileobj)


async def with_job(work: Callable[[Job], T]) -> T:
    """Call `work` on a worker thread with a job, which is stopped when the caller is cancelled."""
    job = Job()
    try:
        return await threads().run(functools.partial(work, job))
    finally:
        job.stop()


def _exit_descriptor(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, or an old one
        return None


def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    """Whether a child has ended. Where it can be, it is not waited for, so that its number stays its own."""
    if not hasattr(os, "waitid"):  # macOS, before Python 3.13
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill_marked(mark: str) -> None:
    """Kill processes that have our mark in their environment, which includes those that left session and parent.

    Who cleared its environment *and* left the session gets away; only a sandbox holds those. Linux only.
    """
    wanted = f"{MARK}={mark}".encode()
    for _ in range(5):  # one may be just about to start another
        found = False
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)
                    found = True
        if not found:
            return
