"""grep, with ripgrep and without: the same output, and an end in any case."""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path

import anyio
import pytest

from flowgraph_nodes.tools.builtin import search

from .using import Tools

pytestmark = pytest.mark.anyio

RIPGREP = shutil.which("rg")


@pytest.fixture
def anyio_backend() -> str:
    """One will do: these tools do their work on a thread."""
    return "asyncio"


@pytest.fixture
def no_ripgrep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_ripgrep", lambda query: None)


@pytest.fixture(params=["ripgrep", "ours"])
def tools(tmp_path: Path, request: pytest.FixtureRequest) -> Tools:
    if request.param == "ours":
        request.getfixturevalue("no_ripgrep")
    elif RIPGREP is None:
        pytest.skip("ripgrep (rg) is not installed")
    return Tools(tmp_path)


async def test_lines_come_with_path_and_number(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.py").write_text("import os\nprint('Hi')\n# os\n")
    (tmp_path / "sub" / "b.txt").write_text("OS/2\r\nno\r\n")
    assert await tools.text("grep", pattern=r"\bos\b") == "a.py:1:import os\na.py:3:# os"
    everything = await tools.text("grep", pattern=r"\bos\b", case_insensitive=True, include_line_numbers=False)
    assert everything == "a.py:import os\na.py:# os\nsub/b.txt:OS/2"
    assert await tools.text("grep", pattern="2$", path="sub/b.txt") == "sub/b.txt:1:OS/2"
    assert await tools.text("grep", pattern="OS", recursive=False) == "no matches"
    assert await tools.text("grep", pattern="o", file_pattern="*.{txt,md}") == "sub/b.txt:2:no"
    assert await tools.text("grep", pattern="o", path="sub", file_pattern="sub/*") == "no matches"
    assert await tools.text("grep", pattern="-n --no", path="sub") == "no matches"


async def test_lines_around_matches(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join("abcdefghij"))
    found = await tools.text("grep", pattern="[bei]", context_lines=1)
    assert found.splitlines() == [
        *("a.txt-1-a", "a.txt:2:b", "a.txt-3-c", "a.txt-4-d", "a.txt:5:e", "a.txt-6-f"),
        *("--", "a.txt-8-h", "a.txt:9:i", "a.txt-10-j"),
    ]


async def test_what_is_left_out_and_what_is_cut(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name, data in {".git/x": b"needle", "bin": b"needle\0", ".hidden": b"needle", ".gitignore": b"long*\n"}.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "long").write_bytes(b"needle" + b"x" * 100_000 + b"\nneedle \xff end\n")
    lines = (await tools.text("grep", pattern="needle")).splitlines()
    assert lines[0] == ".hidden:1:needle"
    assert lines[1] == "long:1:needle" + "x" * 494 + "[line goes on]"
    assert lines[2] == "long:2:needle � end"
    assert "is no text file" in await tools.text("grep", pattern="needle", path="bin")
    (tmp_path / "many").write_text("needle\n" * 2_000)
    lines = (await tools.text("grep", pattern="needle", path="many")).splitlines()
    assert len(lines) == 501
    assert lines[-1].startswith("[only the first 500 lines")


async def test_a_pattern_that_is_none_is_an_error(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("foofoo")
    assert (await tools.fails("grep", pattern="((")).startswith("PatternError: '((' is no regular expression")
    assert "line break" in await tools.fails("grep", pattern="a\nb")
    assert "line break" in await tools.fails("grep", pattern="")
    assert "does not exist" in await tools.fails("grep", pattern="x", path="missing")
    assert await tools.text("grep", pattern=r"(?=foo)(foo)\1") == "a.txt:1:foofoo"  # which ripgrep cannot read


async def test_a_catastrophic_pattern_ends_with_what_was_found(
    no_ripgrep: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SECONDS", 0.6)
    (tmp_path / "a.txt").write_text("aaaa\n")
    (tmp_path / "b.txt").write_text("a" * 60 + "!\n")
    found = await Tools(tmp_path).text("grep", pattern="^(a+)+$")
    assert found.splitlines()[0] == "a.txt:1:aaaa"
    assert "stopped after 0.6 s" in found


async def test_cancelling_ends_the_search(no_ripgrep: None, tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("a" * 60 + "!\n")
    begun = time.monotonic()
    with anyio.move_on_after(0.3):
        await Tools(tmp_path).text("grep", pattern="^(a+)+$")
    assert time.monotonic() - begun < search.SECONDS / 3


def drawn(root: Path, draw: random.Random) -> None:
    """A tree of small text files in which a few words stand often."""
    words = ["foo", "bar", "Foo", "fööbar", "x.y", "", " ", "\t", "foo(bar)", "--", "a:1:b"]
    folders = [root]
    for number in range(40):
        if draw.random() < 0.3:
            folders.append(draw.choice(folders) / f"d{number}-{draw.choice('aZ.')}")
            folders[-1].mkdir()
        lines = [" ".join(draw.choices(words, k=draw.randrange(5))) for _ in range(draw.randrange(30))]
        end = draw.choice(["", "\n", "\r\n"])
        file = draw.choice(folders) / f"{draw.choice(['a', 'B', '-x', 'c:1', 'ü'])}{number}.txt"
        file.write_bytes((draw.choice(["\n", "\r\n"]).join(lines) + end).encode())


async def test_ripgrep_and_ours_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if RIPGREP is None:
        pytest.skip("ripgrep (rg) is not installed; the other half runs in the other tests")
    drawn(tmp_path, random.Random(7))
    tools = Tools(tmp_path)
    patterns = ["foo", "^foo", "bar$", r"\bfoo\b", "f.{2}b", r"^\s*$", "--", "fö+", "(foo|bar) ", "$", "(?i)FOO"]
    for pattern in patterns:
        for options in ({}, {"case_insensitive": True, "context_lines": 2}, {"include_line_numbers": False}):
            results = []
            for engine in ("ripgrep", "ours"):
                with monkeypatch.context() as patch:
                    if engine == "ours":
                        patch.setattr(search, "_ripgrep", lambda query: None)
                    results.append(await tools.text("grep", pattern=pattern, **options))
            assert results[0] == results[1], (pattern, options)


async def test_more_files_than_a_process_may_open(no_ripgrep: None, tmp_path: Path) -> None:
    for number in range(search._AT_ONCE * 2 + 3):
        (tmp_path / f"{number:04}.txt").write_text("x")
    before = len(os.listdir("/dev/fd"))
    found = (await Tools(tmp_path).text("grep", pattern="x")).splitlines()
    assert len(found) == search._AT_ONCE * 2 + 3
    assert found == sorted(found)
    assert len(os.listdir("/dev/fd")) <= before + 1
