"""Kept runs from the command line: paused, answered, resumed, forked, in this process and across processes."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import flowgraph as fg
from tests.engine.kept_cli import Folder, folder

__all__ = ["folder"]  # a fixture

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'nodes'}", "NO_COLOR": "1", "COLUMNS": "200"}


def process(folder: Folder, line: str) -> subprocess.CompletedProcess[str]:
    """A command line as somebody types it, in a process of its own."""
    program, *words = shlex.split(line)
    assert program == "flowgraph"
    command = [sys.executable, "-m", "flowgraph", *words]
    return subprocess.run(
        command, cwd=folder.path, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False
    )


def told(text: str, verb: str) -> list[str]:
    """The command lines of that verb in what a command printed."""
    return [row.strip() for row in text.splitlines() if row.strip().startswith(f"flowgraph {verb} ")]


def pause(folder: Folder, run_id: str = "r1") -> None:
    assert folder.kept("run", "graphs.py:article", "-i", "topic=tea", "--run-id", run_id).code == 3


# -- the way of a question through three processes


def test_a_run_is_paused_answered_and_resumed_by_three_processes(folder: Folder) -> None:
    begun = process(folder, "flowgraph run graphs.py:article -i topic=tea --store runs.db")
    assert begun.returncode == 3, begun.stderr
    assert "Publish 'All about tea'?" in begun.stderr
    approve, title = told(begun.stderr, "answer")
    (resume,) = told(begun.stderr, "resume")
    run_id = shlex.split(resume)[2]
    assert begun.stderr.splitlines()[0] == f"run {run_id}"
    assert shlex.split(approve)[2:] == [run_id, "approve", "true", "--store", "runs.db"]

    answered = process(folder, title.replace("TEXT", "'Green tea'"))
    assert answered.returncode == 0
    assert told(answered.stderr, "answer") == [approve]
    assert process(folder, approve).returncode == 0

    done = process(folder, resume)
    assert (done.returncode, done.stdout) == (0, "Green tea: All about tea, published\n"), done.stderr
    assert "restored" in done.stderr
    assert folder.ran == ["draft", "page"], "what had run is not run again"


@pytest.mark.parametrize("order", [("approve", "title"), ("title", "approve")])
def test_two_gates_are_answered_in_either_order(folder: Folder, order: tuple[str, str]) -> None:
    pause(folder)
    values = {"approve": "true", "title": "42"}
    for path in order:
        assert folder.kept("answer", "r1", path, values[path]).code == 0
    done = folder.kept("resume", "r1")
    assert (done.code, done.out) == (0, "42: All about tea, published"), "42 is a text where a text is wanted"


def test_resuming_answers_too_and_pauses_again_for_the_rest(folder: Folder) -> None:
    pause(folder)
    done = folder.kept("resume", "-a", "approve=true")
    assert done.code == 3
    assert "1 answer missing" in done.err
    assert "wants a text" in done.err
    done = folder.kept("resume", "-a", 'title="Tea = life"')
    assert (done.code, done.out) == (0, "Tea = life: All about tea, published")
    again = folder.kept("resume")
    assert (again.code, again.out) == (0, done.out), "a run that has ended gives its output"
    assert "nothing is called" in again.err
    assert folder.ran == ["draft", "page"]


def test_a_wrong_answer_changes_nothing(folder: Folder) -> None:
    pause(folder)
    done = folder.kept("answer", "r1", "approve", "perhaps")
    assert (done.code, "not of type 'boolean'" in done.err) == (2, True)
    done = folder.kept("resume", "r1", "-a", "apprvoe=true")
    assert (done.code, "open are: 'approve', 'title'" in done.err) == (2, True)
    assert folder.kept("resume", "r1", "-a", "approve").err == "--answer wants PATH=VALUE, not 'approve'"
    assert folder.kept("answer", "r1", "title", "Tea").code == 0
    done = folder.kept("answer", "r1", "title", "Coffee")
    assert "it was answered; open are: 'approve'" in done.err
    assert len(fg.load_run("r1", store="runs.db").gates) == 1


def test_without_a_store_a_pause_says_what_is_lost(folder: Folder) -> None:
    done = folder.call("run", "graphs.py:article", "-i", "topic=tea")
    assert done.code == 3
    assert "the run is not kept, so it cannot go on" in done.err


# -- what is due


def test_what_is_due_takes_its_default_or_fails(folder: Folder) -> None:
    pause(folder, "long")
    assert folder.kept("resume", "--due").err.startswith("nothing is due; the next is in ")
    for name in ("soon", "late"):
        assert folder.kept("run", f"graphs.py:{name}", "--run-id", name).code == 3
    time.sleep(0.35)
    assert "ago" in folder.kept("runs").out
    done = folder.kept("resume", "--due", "graphs.py:soon")
    assert (done.code, "run soon of soon: succeeded" in done.err) == (0, True)
    assert fg.load_run("soon", store="runs.db").output == "got True"
    done = folder.kept("resume", "--due")
    assert (done.code, "run late of late: failed" in done.err) == (1, True)
    assert "flowgraph fork late --at ask --store runs.db" in done.err, "a resume would find the time up again"
    assert fg.load_run("long", store="runs.db").status == "paused"
    assert folder.kept("resume", "--due", "-a", "x=1").code == 2


def test_one_run_that_cannot_go_on_does_not_hold_up_the_others(folder: Folder) -> None:
    (folder.path / "gone.py").write_text((folder.path / "graphs.py").read_text())
    assert folder.kept("run", "gone.py:soon", "--run-id", "a").code == 3
    assert folder.kept("run", "graphs.py:soon", "--run-id", "b").code == 3
    (folder.path / "gone.py").unlink()
    time.sleep(0.35)
    done = folder.kept("resume", "--due")
    assert (done.code, "there is no file 'gone.py'" in done.err) == (1, True)
    assert "run b of soon: succeeded" in done.err


# -- failures, forks, changes


def test_a_failed_run_says_how_it_goes_on_and_does(folder: Folder) -> None:
    done = folder.kept("run", "graphs.py:broken", "--run-id", "r1")
    assert (done.code, "fails: ValueError: not today" in done.err) == (1, True)
    assert "flowgraph resume r1 --store runs.db" in done.err
    folder.mend()
    done = folder.kept("resume", "--draw", "run.svg")
    assert (done.code, done.out) == (0, "2")
    assert "↩ good restored" in done.err
    assert folder.ran == ["good", "fails", "fails"]
    assert "restored" in (folder.path / "run.svg").read_text()


def test_a_fork_runs_again_from_a_node_and_leaves_the_old_run(folder: Folder) -> None:
    folder.mend()
    assert folder.kept("run", "graphs.py:broken", "--run-id", "old").code == 0
    done = folder.kept("fork", "old", "--at", "fails", "--run-id", "new")
    assert (done.code, done.out) == (0, "2")
    assert folder.ran == ["good", "fails", "fails"]
    assert "forked from old" in folder.kept("show", "new").out
    assert "forked from old" in folder.kept("draw", "new").out
    assert fg.load_run("old", store="runs.db").forked_from == ""
    assert "there is a run new in" in folder.kept("fork", "old", "--at", "good", "--run-id", "new").err
    assert "has no node run 'nope'" in folder.kept("fork", "old", "--at", "nope").err
    assert folder.kept("fork", "old", "graphs.py:endless", "--at", "good").code == 2
    assert len(fg.runs("runs.db")) == 2, "a fork that was refused leaves nothing"


def test_a_changed_graph_is_refused_with_the_differences_unless_forced(folder: Folder) -> None:
    assert folder.kept("run", "graphs.py:broken", "--run-id", "r1").code == 1
    file = folder.path / "graphs.py"
    file.write_text(file.read_text().replace("@broken.node\ndef fails", '@broken.node(version="2")\ndef fails'))
    folder.mend()
    done = folder.kept("resume", "r1")
    assert done.code == 2
    assert "(--force goes on all the same): - 'fails' was version none, is version 2" in done.err
    done = folder.kept("resume", "r1", "--force")
    assert (done.code, done.out) == (0, "2")


def test_a_run_begun_by_a_program_wants_its_target(folder: Folder) -> None:
    graph = fg.Graph("soon")
    graph.add("ask", fg.Gate("Quick?", bool, timeout=0.3, default=True))
    graph.add("after", lambda ask: f"got {ask}")
    fg.run(graph, store="runs.db", run_id="r1")
    done = folder.kept("resume", "r1", "-a", "ask=false")
    assert (done.code, "was not begun by `flowgraph run`" in done.err) == (2, True)
    done = folder.kept("resume", "r1", "graphs.py:soon", "-a", "ask=false")
    assert (done.code, done.out) == (0, "got False")


def test_a_named_run_goes_on_when_it_is_run_again(folder: Folder) -> None:
    assert folder.kept("run", "graphs.py:broken", "--run-id", "r1").code == 1
    folder.mend()
    assert folder.kept("run", "graphs.py:broken", "--run-id", "r1").out == "2"
    assert folder.ran == ["good", "fails", "fails"]


def test_a_resume_that_can_change_nothing_names_fork(folder: Folder) -> None:
    assert folder.kept("run", "graphs.py:unknown", "--run-id", "r1").code == 1
    done = folder.kept("resume", "r1")
    assert (done.code, "flowgraph fork r1 --at risk --store runs.db" in done.err) == (1, True)


def test_a_secret_input_is_given_again(folder: Folder) -> None:
    assert folder.kept("run", "graphs.py:secret", "-i", "key=swordfish", "--run-id", "r1").code == 3
    done = folder.kept("resume", "r1", "-a", "ask=true")
    assert (done.code, "give it again, with inputs= or --input" in done.err) == (2, True)
    assert folder.kept("resume", "r1", "-a", "ask=true", "-i", "key=swordfish").out == "9"
    assert b"swordfish" not in b"".join(file.read_bytes() for file in folder.path.glob("runs.db*") if file.is_file())


def test_an_error_cannot_steer_the_terminal(folder: Folder) -> None:
    printed = [folder.kept("run", "graphs.py:hostile", "--run-id", "r1").err]
    printed += [folder.kept(*words).out for words in (("show", "r1"), ("explain", "r1", "boom"))]
    for text in printed:
        assert "red" in text
        assert "[bold]x[/bold]" in text
        assert "\x1b" not in text
        assert "\x07" not in text


# -- other processes


def test_a_run_at_work_is_left_alone_and_a_killed_one_is_broken_off(folder: Folder) -> None:
    command = [sys.executable, "-m", "flowgraph", "run", "graphs.py:endless", "-s", "runs.db", "--run-id", "r1"]
    with subprocess.Popen(command, cwd=folder.path, env=ENVIRONMENT, stderr=subprocess.DEVNULL) as other:
        try:
            while "waits" not in folder.ran and other.poll() is None:
                time.sleep(0.02)
            owner = f"process {other.pid} on host"
            busy = folder.kept("resume", "r1")
            assert (busy.code, owner in busy.err, "wait until it has ended" in busy.err) == (2, True, True)
            assert "r1 endless running" in folder.kept("runs", "--status", "running").out
            assert owner in folder.kept("show", "r1").out
            assert "1 at work" in folder.kept("prune", "--keep", "0", "--status", "broken_off").out
        finally:
            other.send_signal(signal.SIGKILL)
    (row,) = json.loads(folder.kept("runs", "--json", "--status", "broken-off").out)
    assert (row["run_id"], row["status"], row["owner"]) == ("r1", "broken_off", "")
    assert "r1 of endless: broken off" in folder.kept("show", "r1").out
    folder.mend()
    assert folder.kept("resume", "r1").out == "2"
    assert folder.ran == ["first", "waits"]


def test_an_interrupted_run_says_how_it_goes_on(folder: Folder) -> None:
    command = [sys.executable, "-m", "flowgraph", "run", "graphs.py:endless", "-s", "runs.db", "--run-id", "r1"]

    def heed_interrupts() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    with subprocess.Popen(
        command, cwd=folder.path, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    ) as other:
        while "waits" not in folder.ran and other.poll() is None:
            time.sleep(0.02)
        other.send_signal(signal.SIGINT)
        _, stderr = other.communicate(timeout=60)
    assert other.returncode == 130
    assert "Traceback" not in stderr
    assert told(stderr, "resume") == ["flowgraph resume r1 --store runs.db"]
    folder.mend()
    assert folder.kept("resume").out == "2"
