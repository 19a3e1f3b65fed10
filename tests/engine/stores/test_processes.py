"""Stores used by several processes, some of which are killed."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from flowgraph.errors import RunBusy, RunNotFound, StoreError
from flowgraph.stores import SQLStore
from tests.engine.stores import postgres, writer
from tests.engine.stores.making import batch

ROOT = Path(__file__).parents[3]


@contextmanager
def process(place: str, name: str, runs: int, batches: int) -> Iterator[subprocess.Popen[str]]:
    """A writer that has opened the store and waits for a line to begin."""
    command = [sys.executable, "-W", "error", "-m", "tests.engine.stores.writer", place, name, str(runs), str(batches)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True, cwd=ROOT) as started:
        try:
            yield started
        finally:
            started.kill()


def begin(started: subprocess.Popen[str]) -> None:
    assert started.stdout is not None and started.stdin is not None
    assert started.stdout.readline() == "ready\n", started.communicate()[1]
    started.stdin.write("go\n")
    started.stdin.flush()


def check(store: SQLStore, run_id: str) -> int:
    """The journal is whole: how many rows it has."""
    journal = store.read(run_id)
    count = len(journal.rows)
    assert journal.rows == [writer.row(run_id, number) for number in range(count)]
    batches = range(count // writer.ROWS)
    assert count == len(batches) * writer.ROWS
    assert journal.values == {f"{run_id}/{n}": "1" for n in batches} | {f"shared {n % 50}": "2" for n in batches}
    return count


def test_two_processes_make_one_store_and_write_several_runs_at_once(place: str) -> None:
    with process(place, "a", 4, 60) as one, process(place, "b", 4, 60) as two:
        begin(one)
        begin(two)
        ends = [started.communicate(timeout=60) for started in (one, two)]
    assert [words for _, words in ends] == ["", ""]
    with closing(SQLStore(place)) as store:
        runs = [f"{name}{number}" for name in "ab" for number in range(4)]
        assert sorted(head.run_id for head in store.heads()) == runs
        assert {check(store, run_id) for run_id in runs} == {60 * writer.ROWS}
        for run_id in runs[:4]:
            store.delete(run_id)
        assert check(store, "b0") == 60 * writer.ROWS


def claimed(store: SQLStore, run_id: str, seconds: float) -> float:
    """Claim a run whose owner was just killed: how long it took, with `seconds` at most."""
    start = time.monotonic()
    while True:
        try:
            claim = store.claim(run_id)
        except RunBusy:
            if time.monotonic() > start + seconds:
                raise
            time.sleep(0.01)
        else:
            count = store.read(run_id).head.length
            store.write([batch(claim, count, ["more"])])
            store.release(claim)
            return time.monotonic() - start


def test_a_process_that_is_killed_loses_nothing_it_reported(place: str) -> None:
    """SQLite frees the claim with the process; a server needs a moment to see that its client is gone."""
    patience = 0.0 if place.endswith(".db") else 5.0
    with closing(SQLStore(place)) as store:
        for turn in range(3):
            with process(place, f"k{turn}/", 2, 0) as started:
                begin(started)
                assert started.stdout is not None
                first = f"k{turn}/0"
                lines: list[str] = []
                while len(lines) < 20 + 37 * turn or len({line.split()[0] for line in lines}) < 2:
                    lines.append(started.stdout.readline())
                with pytest.raises(RunBusy, match=f"process {started.pid} on host"):
                    store.claim(first)
                started.kill()
                lines += started.stdout.readlines()
                started.wait()
            reported = {run_id: int(count) for run_id, count in (line.split() for line in lines if line.endswith("\n"))}
            assert len(reported) == 2
            for run_id, count in reported.items():
                assert check(store, run_id) >= count
                claimed(store, run_id, patience)
        assert {head.owner for head in store.heads()} == {""}


def test_the_owner_of_a_killed_process_is_forgotten(place: str) -> None:
    with process(place, "k", 1, 0) as started, closing(SQLStore(place)) as store:
        begin(started)
        assert started.stdout is not None
        started.stdout.readline()
        assert f"process {started.pid} " in store.heads()[0].owner
        started.kill()
        started.wait()
        end = time.monotonic() + 5
        while store.heads()[0].owner and time.monotonic() < end:
            time.sleep(0.01)
        assert store.read("k0").head.owner == ""


def test_many_make_the_same_store_at_once(place: str) -> None:
    def make(_: int) -> None:
        with closing(SQLStore(place)) as store:
            assert store.heads() == []

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(make, range(8)))


def test_claims_made_and_given_back_by_many_are_never_held_by_two(place: str) -> None:
    """The files that are locked come and go meanwhile."""
    holders: list[int] = []

    def work(number: int) -> int:
        got = 0
        with closing(SQLStore(place)) as store:
            while got < 15:
                try:
                    claim = store.claim("r")
                except RunBusy:
                    continue
                holders.append(number)
                assert holders == [number]
                holders.remove(number)
                store.release(claim)
                got += 1
        return got

    with closing(SQLStore(place)) as store:
        store.release(store.claim("r", writer.head("r")))
        with ThreadPoolExecutor(3) as threads:
            assert list(threads.map(work, range(3))) == [15] * 3


def test_a_server_that_is_restarted_between_writes() -> None:
    server = postgres.server()
    with closing(SQLStore(server.new_database())) as store:
        claim = store.claim("r", writer.head("r"))
        store.write([batch(claim, 0, ["0"])])
        server.stop()
        try:
            with pytest.raises(StoreError, match="connection"):
                store.write([batch(claim, 1, ["1"])])
            with pytest.raises(StoreError):
                store.read("r")
        finally:
            server.start()
        store.write([batch(claim, 1, ["1"])])
        with pytest.raises(RunBusy):
            store.claim("r")
        store.release(store.claim("s", writer.head("s")))
        assert store.read("r").rows == ["0", "1"]
        store.release(claim)
        with pytest.raises(RunNotFound):
            store.claim("t")
