"""What type checkers make of programs that use flowgraph: mypy and pyright see the same types and the same mistakes.

The programs are in `tests/typing`. `assert_type` says what is right, `# type: ignore[…]` what must be flagged: a
comment that silences nothing is an error.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PROGRAMS = Path("tests") / "typing"
FILES = len([*(REPOSITORY / PROGRAMS).glob("*.py")])


def check(*command: str) -> str:
    """What a type checker says of the programs, which has to be nothing bad."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},  # or it asks an index for newer versions
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def why_not_pyright() -> str:
    """What is missing to run pyright without a connection: it comes as JavaScript, and fetches what is not there."""
    spec = importlib.util.find_spec("pyright")
    if spec is None or spec.origin is None:
        return "pyright is not installed"
    if not Path(spec.origin).with_name("dist").exists():
        return "this version of the package pyright comes without pyright, and would download it"
    return "" if shutil.which("node") else "pyright needs node, and would download it"


def test_mypy_sees_the_types_and_the_mistakes() -> None:
    said = check("mypy", "--strict", "--warn-unused-ignores", str(PROGRAMS))
    assert f"no issues found in {FILES} source files" in said


@pytest.mark.skipif(bool(why_not_pyright()), reason=why_not_pyright())
def test_pyright_sees_them_too() -> None:
    said = check("pyright", "--outputjson", "--project", str(PROGRAMS), "--pythonpath", sys.executable)
    assert json.loads(said)["summary"]["filesAnalyzed"] == FILES
