"""The command line, run as a process of its own: what it prints, what it draws, how it exits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PIPELINE = '''
"""A pipeline for the tests of the command line."""
import flowgraph as fg

graph = fg.Graph("greeting")
graph.input("name", str)
graph.input("times", int, default=1)


@graph.node
async def hello(name: str, times: int) -> str:
    return f"Hello {name}" * times


broken = fg.Graph("broken")


@broken.node
async def fails() -> int:
    raise ValueError("not today")


wrong = fg.Graph("wrong")


@wrong.node
async def reads(nothing: str) -> str:
    return nothing


endless = fg.Graph("endless")


@endless.node
async def waits() -> None:
    import anyio
    from pathlib import Path
    try:
        Path("started").touch()
        await anyio.sleep_forever()
    finally:
        Path("cleaned-up").touch()
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    return tmp_path


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'nodes'}", "NO_COLOR": "1", "COLUMNS": "200"}


def flowgraph(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flowgraph", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment(), input=stdin, capture_output=True, text=True, timeout=120, check=False
    )


def test_run_prints_the_output_and_the_tree(folder: Path) -> None:
    done = flowgraph(folder, "run", "pipeline.py:graph", "--input", "name=Ada", "-i", "times=2")
    assert (done.returncode, done.stdout) == (0, "Hello AdaHello Ada\n")
    assert "✓ hello" in done.stderr


def test_inputs_come_from_a_file_or_standard_input_too(folder: Path) -> None:
    (folder / "inputs.json").write_text('{"name": "Bob", "times": 1}')
    assert flowgraph(folder, "run", "pipeline:graph", "--inputs", "inputs.json").stdout == "Hello Bob\n"
    done = flowgraph(folder, "run", "pipeline:graph", "--inputs", "-", "-i", "name=1", stdin='{"name": "Eve"}')
    assert done.stdout == "Hello 1\n", "a single input wins, and text stays text"


def test_json_prints_the_lasting_events(folder: Path) -> None:
    done = flowgraph(folder, "run", "pipeline.py:graph", "-i", "name=Ada", "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert [event["event"] for event in events] == ["run_started", "node_started", "node_finished", "run_finished"]
    assert events[2]["value"] == "Hello Ada"


def test_a_run_is_drawn(folder: Path) -> None:
    done = flowgraph(folder, "run", "pipeline.py:graph", "-i", "name=Ada", "--draw", "run.svg")
    assert done.returncode == 0
    assert "run.svg" in done.stderr
    assert "<svg" in (folder / "run.svg").read_text()


def test_a_graph_is_drawn(folder: Path) -> None:
    assert "<svg" in flowgraph(folder, "draw", "pipeline.py:graph").stdout
    assert flowgraph(folder, "draw", "pipeline.py:graph", "plan.dot").returncode == 0
    assert "digraph" in (folder / "plan.dot").read_text()


def test_a_failed_run_exits_with_1_and_still_draws(folder: Path) -> None:
    done = flowgraph(folder, "run", "pipeline.py:broken", "--draw", "run.svg")
    assert done.returncode == 1
    assert "fails: ValueError: not today" in done.stderr
    assert (folder / "run.svg").exists()


def test_check(folder: Path) -> None:
    assert flowgraph(folder, "check", "pipeline.py:graph").returncode == 0
    done = flowgraph(folder, "check", "pipeline.py:wrong")
    assert done.returncode == 1
    assert "'nothing'" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "nowhere.py:graph"), "there is no file"),
        (("run", "no_such_module:graph"), "there is no module"),
        (("run", "pipeline.py:nothing"), "it has graph, broken, wrong, endless"),
        (("run", "pipeline.py"), "say which graph"),
        (("run", "pipeline.py:graph"), "input 'name' (str) is missing"),
        (("run", "pipeline.py:graph", "-i", "nmae=Ada"), "there is no input 'nmae'"),
        (("run", "pipeline.py:graph", "-i", "name"), "name=value"),
        (("run", "pipeline.py:graph", "-i", "name=Ada", "-i", "times=often"), "input 'times'"),
        (("run", "pipeline.py:graph", "--inputs", "none.json"), "No such file"),
        (("run", "pipeline.py:graph", "--max-concurrency", "0"), "max-concurrency"),
        (("run", "pipeline.py:graph", "-i", "name=A", "--draw", "run.nope"), "no format is known"),
        (("run", "pipeline.py:graph", "-i", "name=A", "--draw", "nowhere/run.svg"), "there is no folder"),
        (("draw", "pipeline.py:graph", "plan.nope"), "no format is known"),
        (("draw", "pipeline.py:graph", "nowhere/plan.svg"), "No such file"),
        (("demo", "nowhere"), "there is no folder"),
        (("fly",), "No such command"),
    ],
)
def test_a_wrong_call_exits_with_2_and_says_what_is_wrong(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    done = flowgraph(folder, *arguments)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert says in " ".join(done.stderr.split())


def test_a_wrong_graph_exits_with_1_before_anything_runs(folder: Path) -> None:
    done = flowgraph(folder, "run", "pipeline.py:wrong")
    assert done.returncode == 1
    assert "'nothing'" in done.stderr


def test_version(folder: Path) -> None:
    done = flowgraph(folder, "--version")
    assert (done.returncode, bool(done.stdout.strip())) == (0, True)


def test_ctrl_c_cancels_cleanly(folder: Path) -> None:
    command = [sys.executable, "-m", "flowgraph", "run", "pipeline.py:endless"]

    def heed_interrupts() -> None:  # a shell that put us in the background has them ignored, and that is inherited
        signal.signal(signal.SIGINT, signal.default_int_handler)

    with subprocess.Popen(
        command, cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    ) as process:
        while not (folder / "started").exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        try:
            _, stderr = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert (folder / "cleaned-up").exists()
    assert "Traceback" not in stderr
    assert "cancelled" in stderr
