"""Commands in a bubblewrap sandbox: the executor that is used unless somebody decides otherwise.

A command sees the programs of the system, read-only; the workspace, writable, at its own path; a /tmp and a /dev of
its own; and nothing else: no home folders, no other data, no sockets, no other processes, and no network unless asked.
It has namespaces of its own for all of that, no privileges, a clean environment and limits. When its time is up, the
first process of its process namespace is killed, and with it the kernel ends everything in there.

Better not run agents as root. The sandbox takes root's privileges away, but what a command writes in the workspace
belongs to root, programs with the set-user-ID bit included.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from flowgraph_nodes.threads import threads
from flowgraph_nodes.tools.builtin.errors import ShellUnavailable
from flowgraph_nodes.tools.builtin.executors import Limits, captures, clean_environment
from flowgraph_nodes.tools.builtin.process import Ended, Watcher, with_job

_TMP: Final = 1 << 30
"""Bytes of /tmp, which is memory."""

_HOME: Final = "/tmp"  # noqa: S108, it is the sandbox's own

_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store")

# Of /etc, what programs need to start, to know names and to trust certificates. Not the rest: keys live there, too.
_ETC: Final = (
    *("alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf", "crypto-policies", "fonts", "group"),
    *("host.conf", "hosts", "inputrc", "java", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias"),
    *("localtime", "magic", "mime.types", "nsswitch.conf", "passwd", "pki/ca-trust", "pki/tls/certs", "profile"),
    *("protocols", "python3", "python3.11", "python3.12", "python3.13", "resolv.conf", "services", "ssl/certs"),
    *("ssl/openssl.cnf", "terminfo", "timezone"),
)

# Settings of the whole system: their files ask whether we are root, not which privileges we have. (core_pattern names
# a program that the kernel starts, outside of any sandbox.)
_PROC: Final = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi")


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """What was found out about bubblewrap here. problem: why it cannot be used, "" if it can."""

    program: str = ""
    problem: str = ""
    sizes: bool = False


class SandboxExecutor:
    """Runs commands in bubblewrap.

    network: whether commands have one. readable: further folders that they may read, such as a virtual environment.
    environment: variables for them, beside a safe minimum. limits: see `Limits`.
    """

    def __init__(
        self,
        *,
        network: bool = False,
        readable: Iterable[str | os.PathLike[str]] = (),
        environment: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._network = network
        self._readable = tuple(Path(item).absolute() for item in readable)
        self._environment = dict(environment or {})
        self._limits = limits or Limits()

    async def run(self, command: str, folder: Path, seconds: float, roots: Sequence[Path] = ()) -> Ended:
        """See `Executor`."""
        found = await threads().run(bubblewrap)
        if found.problem:
            raise ShellUnavailable(
                f"commands run in a sandbox only, and there is none: {found.problem}. The owner of this agent can "
                "install bubblewrap, or allow commands without a sandbox (sandbox=False)"
            )
        if Path("/") in (folder, *roots):
            raise ShellUnavailable("the workspace is the whole system, so no sandbox can protect it; use a folder")
        arguments = [
            *self._arguments(found, folder, roots),
            *self._limits.script(seconds, processes=True),
            command,
        ]
        return await with_job(
            lambda job: job.run(
                arguments,
                environment=clean_environment(_HOME, self._environment),
                timeout=seconds,
                captures=captures(),
                watcher=self._watcher(),
            )
        )

    def _arguments(self, found: Bubblewrap, folder: Path, roots: Sequence[Path]) -> list[str]:
        readable = [(path, path) for item in self._readable for path in {str(item), os.path.realpath(item)}]
        # writable ones last: the workspace may lie in what was mounted before
        writable = [part for item in (*roots, folder) for part in ("--bind", str(item), str(item))]
        return [
            found.program,
            *_isolation(found, self._network),
            *(part for pair in readable for part in ("--ro-bind-try", *pair)),
            *writable,
            "--chdir",
            str(folder),
            "--",
            # so that we are heard, whatever goes on in there
            *("nice", "-n", "10"),
        ]

    def _watcher(self) -> Watcher | None:
        """For root, whose number of processes the kernel does not limit: we count them."""
        most = self._limits.processes
        if most is None or os.getuid() != 0:
            return None
        return functools.partial(_too_many, most=most)


@functools.cache
def _probed(program: str) -> Bubblewrap:
    try:
        found = Bubblewrap(program, sizes="--size" in _tried([program, "--help"]).stdout)
        done = _tried([program, *_isolation(found, False), "--", "bash", "-c", "true"])
    except (OSError, subprocess.TimeoutExpired) as error:
        return Bubblewrap(program, f"bubblewrap does not work here: {error}")
    said = done.stderr.strip()[:300]
    return found if done.returncode == 0 else replace(found, problem=f"bubblewrap does not work here: {said}")


def bubblewrap() -> Bubblewrap:
    """Find bubblewrap on PATH, and find out by a trial, once for each program, whether it works."""
    program = shutil.which("bwrap")
    return _probed(program) if program else Bubblewrap(problem="bubblewrap (bwrap) is not on PATH")


def _isolation(found: Bubblewrap, network: bool) -> list[str]:
    """Namespaces and the read-only system: what every command has in common."""
    network_files = [os.path.realpath("/etc/resolv.conf")] if network else []
    shared = [*_SYSTEM, *(f"/etc/{name}" for name in _ETC), *network_files]
    size = ["--size", str(_TMP)] if found.sizes else []
    return [
        # root would keep its privileges otherwise, and could mount the system writable
        *("--unshare-all", "--cap-drop", "ALL", "--die-with-parent", "--new-session", "--hostname", "sandbox"),
        *(["--share-net"] if network else []),
        *("--proc", "/proc", "--dev", "/dev", *size, "--tmpfs", "/tmp"),  # noqa: S108, it is the sandbox's own
        *(part for path in (*shared, *_PROC) for part in ("--ro-bind-try", path, path)),
    ]


def _tried(command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = clean_environment(_HOME, {})
    return subprocess.run(  # noqa: S603, bubblewrap itself, with arguments of ours
        command, capture_output=True, text=True, timeout=10, check=False, env=environment
    )


def _too_many(pid: int, *, most: int) -> str:
    """Look into the process namespace of a sandbox; `pid` is bubblewrap's own process outside of it."""
    with suppress(OSError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        for child in children[:1]:
            if sum(name.isdigit() for name in os.listdir(f"/proc/{child}/root/proc")) > most:
                return f"it started more than {most} processes"
    return ""
