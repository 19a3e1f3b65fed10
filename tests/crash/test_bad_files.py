"""Files that are no store, or a damaged one: a clear StoreError at every door, and not one byte of them changes."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import flowgraph as fg
from flowgraph.stores import SQLStore
from tests.engine.stores.making import head

RUN = "kept"


def graph() -> fg.Graph:
    made = fg.Graph("pair")

    async def first() -> list[int]:
        return list(range(2000))

    async def second(first: list[int]) -> int:
        return sum(first)

    made.add("first", first)
    made.add("second", second)
    return made


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run that has succeeded."""
    file = tmp_path_factory.mktemp("good") / "runs.db"
    assert fg.run(graph(), store=file, run_id=RUN).output == 1_999_000
    return file


def foreign(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE theirs (a)")
        connection.commit()


def changed(*statements: str) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        with closing(sqlite3.connect(file)) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for left in ("-wal", "-shm"):
            file.with_name(f"{file.name}{left}").unlink(missing_ok=True)

    return change


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def overwritten(file: Path) -> None:
    size = file.stat().st_size
    file.write_bytes(file.read_bytes()[:4096] + b"\xa5" * (size - 4096))


BROKEN_FILES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "some text": (lambda file: file.write_text("runs: none\n" * 100), "damaged, or no store|not a database"),
    "another program's": (foreign, "no store of flowgraph"),
    "truncated": (truncated, "cut off|it is damaged"),
    "very short": (lambda file: file.write_bytes(b"SQLite format 3\0"), "damaged or no store"),
    "overwritten": (overwritten, "damaged"),
    "newer": (changed("UPDATE flowgraph_meta SET number = 99 WHERE name = 'schema'"), "newer flowgraph"),
    "without a table": (changed("DROP TABLE flowgraph_events"), "is missing"),
}
BROKEN_RUNS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "an event is missing": (changed("DELETE FROM flowgraph_events WHERE seq = 2"), "damaged"),
    "the end is missing": (changed("DELETE FROM flowgraph_events WHERE seq > 3"), "damaged"),
    "an event is no JSON": (changed("UPDATE flowgraph_events SET data = '{\"v\":1,' WHERE seq = 2"), "damaged"),
    "an event of another kind": (changed("UPDATE flowgraph_events SET data = '[1]' WHERE seq = 3"), "damaged"),
    "a newer event": (
        changed("UPDATE flowgraph_events SET data = replace(data, '\"v\":1', '\"v\":9') WHERE seq = 2"),
        "newer flowgraph",
    ),
    "a value is missing": (changed("DELETE FROM flowgraph_values"), "value .* is missing"),
    "a value is no JSON": (changed("UPDATE flowgraph_values SET data = '{'"), "damaged"),
    "another beginning": (
        changed("UPDATE flowgraph_events SET data = (SELECT data FROM flowgraph_events WHERE seq = 1) WHERE seq = 0"),
        "does not begin with its start",
    ),
}
DOORS: dict[str, Callable[[Path], Any]] = {
    "run": lambda file: fg.run(graph(), store=file, run_id=RUN),
    "resume": lambda file: fg.resume(graph(), RUN, store=file),
    "load_run": lambda file: fg.load_run(RUN, store=file),
    "fork": lambda file: fg.fork(graph(), RUN, at="second", store=file),
    "answer": lambda file: fg.answer(RUN, "first", 1, store=file),
}


@pytest.fixture
def copied(good: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(good, tmp_path / "runs.db"))


@pytest.mark.parametrize("door", [*DOORS, "runs"])
@pytest.mark.parametrize("how", BROKEN_FILES)
def test_a_file_that_is_no_store_is_refused_and_left_alone(how: str, door: str, copied: Path) -> None:
    damage, words = BROKEN_FILES[how]
    damage(copied)
    before = copied.read_bytes()
    with pytest.raises(fg.StoreError, match=words) as caught:
        {**DOORS, "runs": fg.runs}[door](copied)
    assert str(copied) in str(caught.value)
    assert copied.read_bytes() == before
    assert [file.name for file in copied.parent.iterdir()] == [copied.name]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("how", BROKEN_RUNS)
def test_a_damaged_run_is_refused_and_left_as_it_is(how: str, door: str, copied: Path) -> None:
    damage, words = BROKEN_RUNS[how]
    damage(copied)
    before = contents(copied)
    with pytest.raises(fg.StoreError, match=words) as caught:
        DOORS[door](copied)
    assert RUN in str(caught.value)
    assert contents(copied) == before
    assert [one.run_id for one in fg.runs(copied)] == [RUN]
    assert fg.run(graph(), store=copied, run_id="other").output == 1_999_000, "other runs are not its concern"


def contents(file: Path) -> list[list[Any]]:
    """What is stored of runs, but for who owned them last."""
    with closing(sqlite3.connect(file)) as connection:
        return [
            connection.execute(f"SELECT {columns} FROM flowgraph_{table} ORDER BY 1, 2").fetchall()
            for table, columns in (
                ("runs", "run_id, graph, status, started, updated, length, due, forked_from"),
                ("events", "*"),
                ("values", "*"),
                ("uses", "*"),
            )
        ]


def test_a_run_that_was_made_and_never_begun(tmp_path: Path) -> None:
    """Its maker was killed between the claim and the first write."""
    file = tmp_path / "runs.db"
    with closing(SQLStore(file)) as store:
        store.claim(RUN, head(RUN))
    assert [one.length for one in fg.runs(file)] == [0]
    for door in ("load_run", "resume", "fork", "answer"):
        with pytest.raises(fg.RunNotFound, match=r"start it again with fg\.run"):
            DOORS[door](file)
    assert fg.run(graph(), store=file, run_id=RUN).output == 1_999_000
    assert fg.load_run(RUN, store=file).status == "succeeded"


def test_a_fork_that_was_made_and_never_begun(copied: Path) -> None:
    with closing(SQLStore(copied)) as store:
        store.claim("other", head("other"))
    assert fg.fork(graph(), RUN, at="second", store=copied, new_run_id="other").output == 1_999_000
    with pytest.raises(fg.FlowgraphError, match="there is a run other"):
        fg.fork(graph(), RUN, at="second", store=copied, new_run_id="other")
    assert fg.load_run("other", store=copied).status == "succeeded"
