"""Kept runs from the command line: listed, shown, explained, drawn and pruned; and every refusal."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

import flowgraph as fg
from flowgraph.cli import places, words
from flowgraph.stores import Head, Memo, open_store
from tests.engine.kept_cli import Folder, folder

__all__ = ["folder"]  # a fixture


@pytest.fixture
def ended(folder: Folder) -> Folder:
    """A folder with three runs: succeeded ("ok"), failed ("ko"), paused ("on hold")."""
    folder.kept("run", "graphs.py:broken", "--run-id", "ko")
    folder.mend()
    folder.kept("run", "graphs.py:broken", "--run-id", "ok")
    folder.kept("run", "graphs.py:article", "-i", "topic=[red]tea[/]", "--run-id", "on hold")
    return folder


def ids(folder: Folder) -> list[str]:
    return [head.run_id for head in fg.runs("runs.db")]


# -- reading


def test_runs_are_listed(ended: Folder) -> None:
    done = ended.kept("runs")
    assert done.code == 0
    assert done.out.startswith("run graph status started took events owner next due on hold article paused")
    assert "in 2 d 00 h" in done.out
    rows = json.loads(ended.kept("runs", "--json").out)
    assert [(row["run_id"], row["status"], row["graph"]) for row in rows] == [
        ("on hold", "paused", "article"),
        ("ok", "succeeded", "broken"),
        ("ko", "failed", "broken"),
    ]
    assert ended.kept("runs", "--status", "failed,cancelled").out.split()[8:10] == ["due", "ko"]
    assert ended.kept("runs", "--status", "cancelled").err == "no runs"


def test_a_run_is_shown(ended: Folder) -> None:
    done = ended.kept("show", "on hold")
    for words_ in (
        "run on hold of article: paused",
        "graph graphs.py:article",
        "✓ draft succeeded",
        "… approve waiting, 2 d 00 h left Publish 'All about [red]tea[/]'?",
        "wants true or false; 2 d 00 h left, then it takes its default",
        "flowgraph answer 'on hold' approve true --store runs.db",
        "flowgraph resume 'on hold' --store runs.db",
    ):
        assert words_ in done.out
    done = ended.kept("show", "ko")
    assert "✗ fails failed" in done.out
    assert "it raised ValueError: not today" in done.out


def test_a_run_is_shown_as_json(ended: Folder) -> None:
    facts = json.loads(ended.kept("show", "on hold", "--json").out)
    assert (facts["run_id"], facts["status"], facts["target"]) == ("on hold", "paused", "graphs.py:article")
    assert [(gate["path"], gate["schema"]["type"]) for gate in facts["gates"]] == [
        ("approve", "boolean"),
        ("title", "string"),
    ]
    facts = json.loads(ended.kept("show", "ko", "--json").out)
    good, fails = facts["nodes"]
    assert (good["status"], fails["status"], fails["error"]) == ("succeeded", "failed", "ValueError: not today")
    assert facts["errors"] == {"fails": "ValueError: not today"}
    assert good["duration"] >= 0


def test_a_node_is_explained(ended: Folder) -> None:
    assert ended.kept("explain", "ko", "fails").out == "'fails' failed: it raised ValueError: not today"
    assert "waits for an answer to 'title': A title?" in ended.kept("explain", "on hold", "title").out
    assert "waits for an answer to 'approve'" in ended.kept("explain", "on hold", "page").out
    done = ended.kept("explain", "ko", "nope")
    assert (done.code, "there are 'good', 'fails'" in done.err) == (2, True)


def test_drawing_takes_a_run_or_a_graph(ended: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ended.kept("draw", "on hold", "-o", "run.svg").out == "run.svg"
    assert "A title?" in (ended.path / "run.svg").read_text()
    assert ended.kept("draw", "graphs.py:article", "graph.svg").code == 0
    assert "paused" not in (ended.path / "graph.svg").read_text()
    assert ended.kept("draw", "on hold", "a.svg", "-o", "b.svg").code == 2
    monkeypatch.setenv("FLOWGRAPH_STORE", "runs.db")
    assert "digraph" in ended.call("draw", "ko", "--format", "dot").out
    assert ended.call("draw", "graphs:article").code == 0


def test_a_run_is_named_by_its_beginning_or_as_the_last(ended: Folder) -> None:
    assert "run on hold" in ended.kept("show", "last").out
    assert "run on hold" in ended.kept("show", "on").out
    done = ended.kept("show", "o")
    assert (done.code, "beginning of 2 runs (on hold, ok)" in done.err) == (2, True)
    done = ended.kept("show", "x")
    assert (done.code, "the latest are on hold, ok, ko" in done.err) == (2, True)


def test_the_store_may_be_in_the_environment(ended: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWGRAPH_STORE", "runs.db")
    done = ended.call("show", "on hold")
    assert "flowgraph resume 'on hold'" in done.out
    assert "--store" not in done.out


def test_command_lines_quote_and_hide_passwords() -> None:
    line = places.line("postgresql://ada:se@cret@db/runs", "answer", "r1", "reviews[0]/ok", "true")
    assert line == "flowgraph answer r1 'reviews[0]/ok' true --store 'postgresql://ada:***@db/runs'"
    assert places.line("my runs.db", "resume", "r1") == "flowgraph resume r1 --store 'my runs.db'"


# -- pruning


def test_pruning_takes_what_has_ended_and_says_what_it_did(ended: Folder) -> None:
    done = ended.kept("prune", "--keep", "0", "--dry-run")
    assert "ok broken succeeded" in done.out
    assert done.out.endswith("would delete 2 runs (1 succeeded, 1 failed), 1 would stay")
    assert len(ids(ended)) == 3
    assert ended.kept("prune", "--older-than", "1d").out == "deleted 0 runs, 3 stay"
    assert ended.kept("prune", "--keep", "1").out == "deleted 1 run (1 failed), 2 stay"
    assert ids(ended) == ["on hold", "ok"], "the latest of each graph stay"
    assert ended.kept("prune", "--status", "paused").out == "deleted 1 run (1 paused), 1 stay"
    assert ended.kept("prune", "--older-than", "0s").out == "deleted 1 run (1 succeeded), 0 stay"


def test_pruning_leaves_a_run_that_somebody_owns(ended: Folder) -> None:
    with closing(open_store("runs.db")) as store:
        store.claim("ok")
        done = ended.kept("prune", "--keep", "0")
        assert done.out == "deleted 1 run (1 failed), 2 stay; 1 at work"
    assert ids(ended) == ["on hold", "ok"]


def test_pruning_forgets_remembered_outputs(ended: Folder) -> None:
    with closing(open_store("runs.db")) as store:
        store.remember("old", Memo("1", time.time() - 7200))
        store.remember("new", Memo("2", time.time()))
        done = ended.kept("prune", "--memos", "--older-than", "1h")
        assert done.out == "deleted 0 runs, 3 stay forgot 1 remembered output"
        assert ended.kept("prune", "--memos").out == "forgot 1 remembered output"
    assert len(ids(ended)) == 3


@pytest.mark.parametrize(("text", "seconds"), [("30d", 2592000), ("1.5 h", 5400), ("45min", 2700), ("2w", 1209600)])
def test_ages(text: str, seconds: float) -> None:
    assert words.age(text) == seconds


# -- refusals


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("runs",), "--store FILE (or set $FLOWGRAPH_STORE)"),
        (("runs", "-s", "nope.db"), "there is no store 'nope.db'"),
        (("runs", "-s", "text.db"), "damaged or no store"),
        (("runs", "-s", "other.db"), "no store of flowgraph"),
        (("runs", "-s", "newer.db"), "was written by a newer flowgraph"),
        (("runs", "-s", "damaged.db"), "is missing"),
        (("runs", "-s", "redis://x"), "is no kind of store"),
        (("show", "last", "-s", "empty.db"), "there are no runs in"),
        (("show", "r", "-s", "short.db"), "journal of run r in"),
        (("runs", "-s", "runs.db", "--status", "odd"), "there are no runs of status 'odd'"),
        (("run", "graphs.py:broken", "--run-id", "x"), "add --store"),
        (("run", "graphs.py:broken", "-s", "nowhere/runs.db"), "there is no folder"),
        (("resume", "zz", "-s", "runs.db"), "there is no run 'zz'"),
        (("resume", "ko", "nope.py:x", "-s", "runs.db"), "there is no file 'nope.py'"),
        (("resume", "ko", "-s", "runs.db", "-i", "x=1"), "there is no input 'x'"),
        (("resume", "ko", "-s", "runs.db", "--draw", "nowhere/x.svg"), "there is no folder"),
        (("resume", "--due", "ko", "graphs.py:broken", "-s", "runs.db"), "--due is for every run"),
        (("answer", "ko", "ask", "1", "-s", "runs.db"), "open are: none"),
        (("fork", "ko", "-s", "runs.db"), "Missing option '--at'"),
        (("prune", "-s", "runs.db"), "say what to delete"),
        (("prune", "-s", "runs.db", "--older-than", "soon"), "'soon' is no age"),
    ],
)
def test_what_is_refused_is_said_in_a_line(folder: Folder, arguments: tuple[str, ...], says: str) -> None:
    assert folder.kept("run", "graphs.py:broken", "--run-id", "ko").code == 1
    spoil(folder.path)
    before = len(fg.load_run("ko", store="runs.db").events)
    done = folder.call(*arguments)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert "Traceback" not in done.err
    assert len(fg.load_run("ko", store="runs.db").events) == before
    assert not (folder.path / "nope.db").exists()


def spoil(path: Path) -> None:
    """Files that are no stores, or no good ones."""
    (path / "text.db").write_text("hello")
    with closing(sqlite3.connect(path / "other.db")) as other:
        other.execute("CREATE TABLE x (y)")
    for name in ("empty", "newer", "damaged", "short"):
        with closing(open_store(path / f"{name}.db")) as store:
            if name == "short":
                store.release(store.claim("r", Head("r", "g", "running", 1.0, 1.0)))
    for name, statement in {
        "newer": "UPDATE flowgraph_meta SET number = 99 WHERE name = 'schema'",
        "damaged": "DROP TABLE flowgraph_events",
        "short": "UPDATE flowgraph_runs SET length = 3",
    }.items():
        with closing(sqlite3.connect(path / f"{name}.db")) as store_file, store_file:
            store_file.execute(statement)
