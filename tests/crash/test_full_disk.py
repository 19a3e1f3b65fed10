"""A disk that is full in the middle of a run: it fails and says so, and goes on when there is room again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import flowgraph as fg
from tests.crash import full_disk
from tests.crash.processes import ROOT

SMALL = 1_500_000
"""Bytes that there are at first."""


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[None]:
    """A file system in memory, at `folder`. Skips the test where it cannot be had."""
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"no small file system can be mounted: {made.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def run(store: Path, *options: str) -> tuple[int, str]:
    """Run the graph of `full_disk`, or go on with it, in a process of its own: its exit code and what it said."""
    command = [sys.executable, "-m", "tests.crash.full_disk", str(store), *options]
    path = os.pathsep.join([str(ROOT), str(ROOT / "nodes")])
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def look_and_go_on(store: Path, said: str) -> None:
    """What was stored loads, and a process with room finishes the run without doing any of it again."""
    assert "RunFailed" in said
    assert "StoreError failed" in said
    assert "nothing of this was stored" in said
    stored = fg.load_run(full_disk.RUN, store=store)
    kept = [path for path, node in stored.nodes.items() if node.status is fg.Status.SUCCEEDED]
    assert 0 < len(kept) < full_disk.LENGTH
    assert {head.owner for head in fg.runs(store)} == {""}
    code, said = run(store)
    assert (code, said.splitlines()[-1]) == (0, f"output {full_disk.LENGTH}")
    called = [line.removeprefix("called ") for line in said.splitlines() if line.startswith("called ")]
    assert not set(called) & set(kept)
    assert len(kept) + len(called) == full_disk.LENGTH


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="mounting a small file system needs root")
def test_a_full_file_system(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with small_disk(disk, SMALL):
        code, said = run(disk / "runs.db")
        assert code == 1, said
        assert "disk is full" in said
        subprocess.run(["mount", "-o", f"remount,size={50 * SMALL}", disk], check=True)
        look_and_go_on(disk / "runs.db", said)


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    code, said = run(tmp_path / "runs.db", str(SMALL))
    assert code == 1, said
    look_and_go_on(tmp_path / "runs.db", said)
