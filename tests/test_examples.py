"""Every example runs offline, is short, and says in its first line what it shows."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("[0-9]*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = example.read_text(encoding="utf-8")
    assert text.startswith('"""'), "the first line says what it shows"
    assert text.count("\n") < 60
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip(), "an example shows something"
    for picture in tmp_path.glob("*.svg"):
        assert picture.read_text(encoding="utf-8").lstrip().startswith(("<?xml", "<svg"))
