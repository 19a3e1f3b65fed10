"""run_bash: output, time limits, what is left running, and what a command in the sandbox cannot do."""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from flowgraph_nodes.tools.builtin import (
    Capture,
    Ended,
    Limits,
    LocalExecutor,
    SandboxExecutor,
    ShellUnavailable,
    Workspace,
    executors,
)

from .using import SANDBOX_PROBLEM, Tools, needs_sandbox

pytestmark = pytest.mark.anyio

KEY = "sk-not-to-be-seen-0123456789"


@pytest.fixture(autouse=True)
def key_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)


@pytest.fixture(params=["local", "sandbox"])
def tools(tmp_path: Path, request: pytest.FixtureRequest) -> Tools:
    """The same behaviour is wanted of every executor."""
    if request.param == "sandbox" and SANDBOX_PROBLEM:
        pytest.skip(f"needs a working bubblewrap: {SANDBOX_PROBLEM}")
    return Tools(tmp_path, sandbox=request.param == "sandbox")


@pytest.fixture
def boxed(tmp_path: Path) -> SandboxExecutor:
    return SandboxExecutor(limits=Limits(processes=40, file_size=1 << 20, memory=1 << 30))


def processes(*words: str) -> list[int]:
    """Those that have these words in their command line, zombies left out."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if all(word in line for word in words) and entry.name != str(os.getpid()):
                found.append(int(entry.name))
    return found


@pytest.fixture
def unusual() -> Iterator[str]:
    """A number of seconds by which a test knows its own `sleep` processes; none of them is left in the end."""
    number = f"{5_000 + os.getpid() % 1_000}.{time.monotonic_ns() % 10**9}"
    yield number
    left = processes("sleep", number)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


async def test_exit_code_and_both_outputs_are_labelled(tools: Tools, tmp_path: Path) -> None:
    text = await tools.text("run_bash", command="echo out; echo err >&2; touch made; exit 3")
    assert text == "exit code: 3\nstdout:\nout\nstderr:\nerr"
    assert (tmp_path / "made").exists()
    assert await tools.text("run_bash", command="pwd") == f"exit code: 0\nstdout:\n{tmp_path}\nstderr: (empty)"
    assert "exit code: 127" in await tools.text("run_bash", command="no-such-program")
    assert "stdout: (empty)" in await tools.text("run_bash", command="cat")  # there is no input to wait for


async def test_long_output_keeps_head_and_tail(tools: Tools) -> None:
    text = await tools.text("run_bash", command="echo first; seq 100000; echo last; seq 30000 >&2")
    assert len(text) < 45_000
    assert text.count("bytes left out]") == 2
    assert "stdout:\nfirst\n1\n2\n" in text
    assert "100000\nlast\nstderr:\n1\n2\n" in text


async def test_the_environment_is_scrubbed(tools: Tools) -> None:
    text = await tools.text("run_bash", command="awk 'BEGIN { for (k in ENVIRON) print k \"=\" ENVIRON[k] }'")
    assert KEY not in text
    assert "PATH=" in text


async def timed_out(tools: Tools, command: str) -> str:
    """What the model reads of a command that writes something and never ends. Loaded machines get more time."""
    failure = ""
    for limit in (0.5, 2.0, 8.0):
        begun = time.monotonic()
        failure = await tools.fails("run_bash", command=command, timeout_seconds=limit)
        assert time.monotonic() - begun < limit + 5  # a second, and much room
        if "stdout: (empty)" not in failure:
            break
    return failure


async def test_a_time_out_gives_what_there_is_within_a_second_of_the_limit(tools: Tools, unusual: str) -> None:
    failure = await timed_out(tools, f"echo begun; sleep {unusual}")
    assert re.fullmatch(
        r"Failed: timed out after [\d.]+ s and was killed, with all it started\n"
        r"exit code: none \(ended by signal 9\)\nstdout:\nbegun\nstderr: \(empty\)",
        failure,
    )


async def test_a_flood_of_output_ends_with_its_time(tools: Tools) -> None:
    failure = await timed_out(tools, "yes")
    assert "bytes left out" in failure
    assert len(failure) < 45_000


async def test_nothing_survives_a_time_out(tools: Tools, unusual: str) -> None:
    ways = "trap '' TERM HUP; sleep {0} & (setsid sleep {0} &); (setsid nohup sleep {0} >x &); echo begun; sleep {0}"
    assert "begun" in await timed_out(tools, ways.format(unusual))
    assert await gone("sleep", unusual)


async def test_nothing_goes_on_after_the_command(tools: Tools, unusual: str) -> None:
    ways = "sleep {0} & (setsid sleep {0} &); nohup sleep {0} >x & echo done"
    begun = time.monotonic()
    assert "done" in await tools.text("run_bash", command=ways.format(unusual))
    assert time.monotonic() - begun < 30  # it does not wait for what holds its pipes
    assert await gone("sleep", unusual)


async def test_cancelling_kills(tools: Tools, unusual: str) -> None:
    with anyio.move_on_after(0.5) as scope:
        await tools.text("run_bash", command=f"sleep {unusual} & sleep {unusual}")
    assert scope.cancelled_caught
    assert await gone("sleep", unusual)


async def test_the_event_loop_goes_on_meanwhile(tools: Tools) -> None:
    beats = 0
    async with anyio.create_task_group() as group:

        async def beat() -> None:
            nonlocal beats
            while True:
                await anyio.sleep(0.01)
                beats += 1

        group.start_soon(beat)
        await tools.text("run_bash", command="sleep 0.4")
        group.cancel_scope.cancel()
    assert beats >= 5


async def test_a_file_that_grows_too_big_ends_the_command(boxed: SandboxExecutor, tmp_path: Path) -> None:
    for executor in [LocalExecutor(limits=Limits(file_size=1 << 20)), *([] if SANDBOX_PROBLEM else [boxed])]:
        tools = Tools(tmp_path, executor=executor)
        await tools.call("run_bash", command="yes > big; echo done", timeout_seconds=20)
        assert (tmp_path / "big").stat().st_size <= 1 << 20


async def gone(*words: str) -> bool:
    """Whether such processes end soon: the kernel takes its time to clear away a namespace."""
    with anyio.move_on_after(5):
        while processes(*words):
            await anyio.sleep(0.02)
        return True
    return False


def test_a_capture_keeps_beginning_and_end() -> None:
    capture = Capture(4, 4)
    for piece in (b"ab", b"cdef", b"ghij"):
        capture.feed(piece)
    assert capture.text() == "abcd\n[2 bytes left out]\nghij"
    assert Capture(4).text() == ""


class Recording:
    """An executor of somebody else's."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Path, float, tuple[Path, ...]]] = []

    async def run(self, command: str, folder: Path, seconds: float, roots: Sequence[Path] = ()) -> Ended:
        self.asked.append((command, folder, seconds, tuple(roots)))
        stdout, stderr = Capture(10), Capture(10)
        stdout.feed(b"from elsewhere")
        return Ended(0, stdout, stderr)


async def test_another_executor_takes_the_place_of_ours(tmp_path: Path) -> None:
    executor = Recording()
    tools = Tools(Workspace(tmp_path / "w", roots=[tmp_path]), executor=executor)
    assert "from elsew\n[4 bytes left out]" in await tools.text("run_bash", command="ls", timeout_seconds=5)
    assert executor.asked == [("ls", (tmp_path / "w").resolve(), 5, (tmp_path.resolve(),))]


# -- without a sandbox


async def test_without_bubblewrap_the_shell_refuses_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    failure = await Tools(tmp_path).fails("run_bash", command="touch made")
    assert failure.startswith("ShellUnavailable: commands run in a sandbox only")
    assert "bwrap) is not on PATH" in failure
    assert "sandbox=False" in failure
    assert not (tmp_path / "made").exists()


async def test_a_bubblewrap_that_does_not_work_is_as_good_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    failure = await Tools(tmp_path).fails("run_bash", command="touch made")
    assert "does not work here: No permissions to create new namespace" in failure
    assert not (tmp_path / "made").exists()


# -- in the sandbox


async def inside(root: Path, command: str, executor: SandboxExecutor | None = None, *roots: Path) -> str:
    """What a command wrote, both outputs. Past the blocklist: here it is the sandbox that has to hold."""
    root.mkdir(parents=True, exist_ok=True)
    ended = await (executor or SandboxExecutor()).run(command, root.resolve(), 20, roots)
    return ended.stdout.text() + ended.stderr.text()


@needs_sandbox
async def test_the_sandbox_hides_homes_keys_and_everything_else_but_the_system(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "key").write_text(KEY)
    text = await inside(home / "project", f"cat {home}/.ssh/key; ls -A {home}")
    assert KEY not in text
    assert text.startswith("project\n")
    for place in (Path.home() / ".profile", "/etc/shadow", "/var/log", "/run", Path(__file__)):
        assert "No such file" in await inside(home / "project", f"ls -d {place}")
    text = await inside(home / "project", "env; ps axeww; cat /proc/*/environ /proc/*/cmdline | tr '\\0' ' '")
    assert KEY not in text
    assert "pytest -" not in text


@needs_sandbox
async def test_the_sandbox_writes_in_the_workspace_and_its_roots_only(tmp_path: Path) -> None:
    for name in ("more", "w"):
        (tmp_path / name).mkdir()
    files = ["/usr/x", "/etc/x", "/tmp/x", "/x", tmp_path / "x", tmp_path / "w" / "yes", tmp_path / "more" / "yes"]
    await inside(tmp_path / "w", f"touch {' '.join(map(str, files))}", None, tmp_path / "more")
    assert [file for file in files if Path(file).exists()] == files[-2:]


@needs_sandbox
async def test_the_sandbox_has_no_privileges_and_no_settings_of_the_system(tmp_path: Path) -> None:
    text = await inside(tmp_path, "grep -E 'Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs' /proc/self/status")
    assert text.count("0000000000000000") == 4
    assert "NoNewPrivs:\t1" in text
    assert await inside(tmp_path, "find /proc/sys /usr/bin -type f -writable 2>/dev/null | head -3") == ""
    assert (await inside(tmp_path, "mount -o remount,rw /usr || echo no")).startswith("no")
    assert int(await inside(tmp_path, "ls /proc | grep -c '^[0-9]'")) < 8
    assert await inside(tmp_path, "ls /dev | grep -E '^(sd|vd|nvme|mem|kmsg)'") == ""


@needs_sandbox
async def test_the_sandbox_has_a_network_only_when_asked(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo connected"
        assert "connected" not in await inside(tmp_path, command)
        assert "connected" in await inside(tmp_path, command, SandboxExecutor(network=True))


@needs_sandbox
async def test_the_sandbox_limits_the_number_of_processes(boxed: SandboxExecutor, tmp_path: Path, unusual: str) -> None:
    command = f"for i in $(seq 80); do sleep {unusual} & done; echo all are running; sleep 30"
    ended = await boxed.run(command, tmp_path.resolve(), 2)
    # root's are counted by us, now and then; for others the kernel refuses, and bash waits for a free place
    assert "more than 40 processes" in ended.why or "all are running" not in ended.stdout.text()
    assert await gone("sleep", unusual)


@needs_sandbox
async def test_a_fork_bomb_ends(boxed: SandboxExecutor, tmp_path: Path) -> None:
    ended = await boxed.run("bomb() { bomb | bomb & }; bomb; sleep 30", tmp_path.resolve(), 1.5)
    assert ended.why
    assert "alive" in await inside(tmp_path, "echo alive")
    assert await gone("bomb() {")


@needs_sandbox
async def test_no_sandbox_around_the_whole_system(tmp_path: Path) -> None:
    with pytest.raises(ShellUnavailable, match="whole system"):
        await SandboxExecutor().run("true", tmp_path, 1, [Path("/")])


@needs_sandbox
async def test_memory_is_limited(tmp_path: Path) -> None:
    executor = SandboxExecutor(limits=Limits(memory=100_000_000))
    text = await inside(tmp_path, "head -c 300000000 /dev/zero | tail -c 300000000 | wc -c", executor)
    assert "memory exhausted" in text or "cannot allocate" in text.lower()


@needs_sandbox
async def test_further_folders_and_variables_are_given_by_the_owner(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "data.txt").write_text("readable")
    executor = SandboxExecutor(readable=[tmp_path / "lib"], environment={"GIVEN": "yes"})
    text = await inside(tmp_path / "w", f"cat {tmp_path}/lib/data.txt; echo $GIVEN; touch {tmp_path}/lib/x", executor)
    assert "readableyes" in text
    assert "Read-only file system" in text


def test_the_safe_minimum_has_no_other_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    names = set(executors.clean_environment("/h", {"MINE": "1"}))
    assert names <= {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "HOME", "TERM", "MINE"}
