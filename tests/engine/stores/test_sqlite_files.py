"""SQLite stores as files: what is no good is refused with a clear error, and stays as it is to the last byte."""

from __future__ import annotations

import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from flowgraph.errors import RunBusy, StoreError
from flowgraph.stores import SQLStore
from flowgraph.stores.inspection import APPLICATION_ID
from tests.engine.stores.making import batch, head

ROWS = [f'["{number}", "{"x" * 90}"]' for number in range(300)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store with one run in it."""
    path = tmp_path / "runs.db"
    with closing(SQLStore(path)) as store:
        store.write([batch(store.claim("r", head()), 0, ROWS)])
    return path


def everything(folder: Path) -> dict[str, bytes]:
    """All files but the memory that readers of a database in use share."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith("-shm")}


def refused(file: Path, words: str) -> None:
    """Opening says `words` and the file's name, and changes nothing."""
    before = everything(file.parent)
    with pytest.raises(StoreError, match=words) as caught:
        SQLStore(file)
    assert str(file) in str(caught.value)
    assert everything(file.parent) == before


def change(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_store_that_is_closed_is_one_file(file: Path) -> None:
    assert [one.name for one in file.parent.iterdir()] == ["runs.db"]
    with closing(SQLStore(f"sqlite:///{file}")) as store:
        assert store.name == str(file)
        assert store.read("r").rows == ROWS
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_reading_changes_nothing(file: Path) -> None:
    before = everything(file.parent)
    with closing(SQLStore(file)) as store:
        store.read("r")
        store.heads()
    assert everything(file.parent) == before


def test_a_file_that_is_cut_off(file: Path) -> None:
    whole = file.read_bytes()
    lengths = {1, 15, 16, 50, 99, 100, 511, 512, 4095, 4096, 4097, len(whole) - 4096, len(whole) - 1}
    for length in sorted(lengths | set(range(5_000, len(whole), 7_777))):
        file.write_bytes(whole[:length])
        refused(file, "damaged|cut off")
    file.write_bytes(whole)
    SQLStore(file).close()


@pytest.mark.parametrize("content", [b"not a database at all", b"\0" * 8192, b"SQLite format 3\0" + b"\xff" * 9000])
def test_a_file_that_is_something_else(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "notes.txt").write_bytes(content)
    refused(tmp_path / "notes.txt", "damaged|no store")


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_database_of_somebody_else(tmp_path: Path, mode: str) -> None:
    change(tmp_path / "other.db", f"PRAGMA journal_mode = {mode}", "CREATE TABLE flowgraph_meta (name, number)")
    refused(tmp_path / "other.db", "no store of flowgraph: name another file")


def test_a_database_of_somebody_else_that_was_not_closed(tmp_path: Path) -> None:
    change(tmp_path / "other.db", "PRAGMA journal_mode = wal", "CREATE TABLE a (b)")
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("INSERT INTO a VALUES (1)")
        connection.commit()
        refused(tmp_path / "other.db", "no store of flowgraph")


def test_a_store_of_a_newer_flowgraph(file: Path) -> None:
    change(file, "UPDATE flowgraph_meta SET number = 99 WHERE name = 'schema'")
    refused(file, "newer flowgraph.*99.*upgrade")


@pytest.mark.parametrize("table", ["flowgraph_meta", "flowgraph_events"])
def test_a_store_without_one_of_its_tables(file: Path, table: str) -> None:
    change(file, f"DROP TABLE {table}")
    refused(file, f"(?s)damaged.*{table}|no such table.*{table}.*damaged")


def test_pages_that_are_damaged_are_found_on_reading(file: Path) -> None:
    whole = file.read_bytes()
    found: list[str] = []
    for page in range(2, len(whole) // 4096):
        file.write_bytes(whole[: page * 4096] + b"\x5a" * 4096 + whole[(page + 1) * 4096 :])
        before = file.read_bytes()
        try:
            with closing(SQLStore(file)) as store:
                assert store.read("r").rows == ROWS
        except StoreError as error:
            found.append(str(error))
        assert file.read_bytes() == before
    assert len(found) > 10  # the others are indexes that were not needed
    assert all(str(file) in words for words in found)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM flowgraph_events WHERE seq = 150",
        "DELETE FROM flowgraph_events WHERE seq = 299",
        "DELETE FROM flowgraph_events",
        "UPDATE flowgraph_events SET seq = 300 WHERE seq = 12",
        "UPDATE flowgraph_runs SET length = 200",
        "INSERT INTO flowgraph_uses VALUES ('r', 'gone')",
    ],
)
def test_journals_with_gaps_are_refused(file: Path, statement: str) -> None:
    change(file, statement)
    with closing(SQLStore(file)) as store:
        with pytest.raises(StoreError, match=r"run r in .*runs\.db is damaged"):
            store.read("r")
        assert [one.run_id for one in store.heads()] == ["r"]


def test_places_that_will_not_do(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder; name a file in it"):
        SQLStore(tmp_path)
    with pytest.raises(StoreError, match=r"there is no folder .*nowhere; make it first"):
        SQLStore(tmp_path / "nowhere" / "runs.db")
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="there is no folder"):
        SQLStore(tmp_path / "file" / "runs.db")
    with pytest.raises(StoreError, match="/proc/"):
        SQLStore("/proc/runs.db")
    with pytest.raises(StoreError, match="no regular file"):
        SQLStore("/dev/null")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_what_is_left_of_another_file_is_not_mixed_in(file: Path) -> None:
    log = file.with_name("runs.db-wal")
    log.write_bytes(b"x" * 5000)
    file.unlink()
    with pytest.raises(StoreError, match=r"missing or empty, but runs\.db-wal is left"):
        SQLStore(file)
    assert everything(file.parent) == {"runs.db-wal": b"x" * 5000}


def test_an_empty_file_is_a_new_store_with_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "runs 100%?#.db"
    file.touch(mode=0o600)
    with closing(SQLStore(file)) as store:
        store.claim("r", head())
    assert file.stat().st_mode & 0o777 == 0o600
    with closing(SQLStore(file)) as store:
        assert [one.owner for one in store.heads()] == [""]
    assert [one.name for one in tmp_path.iterdir()] == [file.name]


def test_two_stores_on_one_file_respect_each_other(file: Path) -> None:
    with closing(SQLStore(file)) as one, closing(SQLStore(file)) as two:
        claim = one.claim("r")
        with pytest.raises(RunBusy):
            two.claim("r")
        assert two.heads()[0].owner == claim.owner
        one.release(claim)
        two.write([batch(two.claim("r"), 300, ["[]"])])
        assert one.read("r").head.length == 301


def test_a_claim_that_was_taken_over_writes_nothing(place: str) -> None:
    """The lock got lost (its server's connection broke, its file was removed), and somebody else claimed the run."""
    with closing(SQLStore(place)) as one, closing(SQLStore(place)) as two:
        old = one.claim("r", head())
        one._locks.close()
        new = two.claim("r")
        with pytest.raises(StoreError, match=r"run r .*claimed meanwhile by process"):
            one.write([batch(old, 0, ["old"])])
        two.write([batch(new, 0, ["new"])])
        one.release(old)
        assert two.read("r").rows == ["new"]
        assert two.heads()[0].owner == new.owner


def fill(store: SQLStore) -> int:
    """Write until it fails: how many rows were reported written."""
    claim = store.claim("big", head("big"))
    for number in range(2000):
        try:
            store.write([batch(claim, number * 10, ["y" * 2000] * 10)])
        except StoreError as error:
            if "full" not in str(error) and "I/O" not in str(error):
                raise
            return number * 10
    raise AssertionError("the disk never was full")


def pages_run_out(store: SQLStore) -> None:
    store._session.write(lambda writing: writing.run("PRAGMA max_page_count = 200"))


def files_end(_: SQLStore) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


@pytest.mark.parametrize("ends", [pages_run_out, files_end])
def test_a_full_disk(file: Path, ends: Callable[[SQLStore], None]) -> None:
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with closing(SQLStore(file)) as store:
            ends(store)
            written = fill(store)
            assert written
            assert store.read("big").head.length == written
            assert len(store.heads()) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    with closing(SQLStore(file)) as store:
        assert store.read("r").rows == ROWS
        assert store.read("big").rows == ["y" * 2000] * written
        store.write([batch(store.claim("big"), written, ["more"])])


def test_a_program_without_a_store_does_not_load_sql() -> None:
    code = (
        "import sys, flowgraph.stores as s; s.open_store(s.MemoryStore()).close();"
        "sys.exit(' '.join({'sqlalchemy', 'filelock', 'sqlite3', 'psycopg'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") or done.stderr == "\n"
