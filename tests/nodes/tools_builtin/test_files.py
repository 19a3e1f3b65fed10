"""The file tools and glob, used as they are meant to be and a little wrong."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from flowgraph_nodes import ReactAgent, ScriptedModel, call
from flowgraph_nodes.errors import ToolDefinitionError
from flowgraph_nodes.tools.builtin import PatternError, builtin_tools
from flowgraph_nodes.tools.builtin.patterns import Glob

from .using import Tools

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """One will do: these tools do their work on a thread."""
    return "asyncio"


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(tmp_path)


def test_all_is_all_but_the_shell_which_has_to_be_named(tmp_path: Path) -> None:
    names = [item.name for item in builtin_tools(tmp_path)]
    assert names == [
        *("create_file", "update_file", "edit_file", "read_file", "list_directory", "delete_file"),
        *("grep", "glob", "respond_to_user"),
    ]
    assert [item.name for item in builtin_tools(tmp_path, ["run_bash", "glob"])] == ["run_bash", "glob"]
    assert [item.name for item in builtin_tools(tmp_path, ["all", "run_bash"])] == [*names, "run_bash"]
    with pytest.raises(ToolDefinitionError, match="did you mean 'read_file'"):
        builtin_tools(tmp_path, ["readfile"])


def test_every_tool_and_argument_is_described(tmp_path: Path) -> None:
    for item in builtin_tools(tmp_path, ["all", "run_bash"]):
        assert item.description
        assert all(argument.get("description") for argument in item.parameters["properties"].values()), item.name


async def test_an_agent_uses_them_like_any_tool(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            call("create_file", file_path="a.txt", content="hello"),
            call("read_file", file_path="a.txt"),
            "done",
        ]
    )
    agent = ReactAgent(model=model, tools=builtin_tools(tmp_path, ["create_file", "read_file"]))
    assert (await agent.arun("write")).output == "done"
    assert (tmp_path / "a.txt").read_text() == "hello"


async def test_create_makes_parents_and_refuses_what_exists(tools: Tools, tmp_path: Path) -> None:
    assert await tools.text("create_file", file_path="a/b/c.txt", content="häh") == "created a/b/c.txt (4 bytes)"
    assert "edit_file or update_file" in await tools.fails("create_file", file_path="a/b/c.txt", content="x")
    assert "exists already" in await tools.fails("create_file", file_path="a/b", content="x")
    assert (tmp_path / "a/b/c.txt").read_text("utf-8") == "häh"


async def test_update_replaces_or_appends_in_one_step_and_keeps_the_mode(tools: Tools, tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    file.write_text("one\n")
    file.chmod(0o750)
    with file.open() as reader:
        await tools.text("update_file", file_path="run.sh", content="two\n", mode="append")
        assert file.read_text() == "one\ntwo\n"
        await tools.text("update_file", file_path="run.sh", content="three\n")
        assert reader.read() == "one\n"  # who has the old file open reads the old file
    assert file.read_text() == "three\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o750
    assert os.listdir(tmp_path) == ["run.sh"]
    assert "does not exist" in await tools.fails("update_file", file_path="missing.txt", content="x")


async def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "No space left" in await tools.fails("update_file", file_path="a.txt", content="new")
    assert (tmp_path / "a.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


async def test_edit_wants_exactly_one_match_and_says_how_many_there_are(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\none\r\n")
    assert "2 times" in await tools.fails("edit_file", file_path="a.txt", old="one", new="x")
    assert "0 matches" in await tools.fails("edit_file", file_path="a.txt", old="three", new="x")
    assert "empty" in await tools.fails("edit_file", file_path="a.txt", old="", new="x")
    assert "same" in await tools.fails("edit_file", file_path="a.txt", old="two", new="two")
    assert "line 2" in await tools.text("edit_file", file_path="a.txt", old="two", new="2")
    assert (tmp_path / "a.txt").read_bytes() == b"one\r\n2\r\none\r\n"


async def test_read_pages_by_lines_and_says_how_to_go_on(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 5_001)))
    text = await tools.text("read_file", file_path="long.txt")
    assert text.endswith("line 2000\n[lines 1 to 2000; the file goes on, read it with offset=2000]")
    text = await tools.text("read_file", file_path="long.txt", offset=4_998)
    assert text == "line 4999\nline 5000\n"
    text = await tools.text("read_file", file_path="long.txt", offset=1, limit=2)
    assert text == "line 2\nline 3\n[lines 2 to 3; the file goes on, read it with offset=3]"
    assert "only 5000 lines" in await tools.fails("read_file", file_path="long.txt", offset=5_000)
    assert "offset" in await tools.fails("read_file", file_path="long.txt", offset=-1)


async def test_read_caps_characters_and_long_lines(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "wide.txt").write_text(("x" * 1_500 + "\n") * 100)
    (tmp_path / "one.txt").write_text("y" * 100_000)
    text = await tools.text("read_file", file_path="wide.txt")
    assert len(text) < 51_000
    assert "read it with offset=33]" in text
    assert "[98000 more characters in this line]" in await tools.text("read_file", file_path="one.txt")


async def test_read_says_what_is_wrong_with_a_file(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    (tmp_path / "latin.txt").write_bytes("gut\nschön".encode("latin-1"))
    (tmp_path / "folder").mkdir()
    with (tmp_path / "huge.bin").open("wb") as file:
        file.truncate(1 << 40)
    assert await tools.text("read_file", file_path="empty.txt") == "[the file is empty]"
    assert "not UTF-8 text: byte 0xf6 in line 2" in await tools.fails("read_file", file_path="latin.txt")
    assert "is a folder; list_directory" in await tools.fails("read_file", file_path="folder")
    assert "does not exist; list_directory" in await tools.fails("read_file", file_path="nope/x.txt")
    for name in ("read_file", "update_file"):
        failure = await tools.fails(name, file_path="huge.bin", **({"content": "x"} if name == "update_file" else {}))
        assert "too big" in failure
    assert "left out" in await tools.text("grep", pattern="x")


async def test_list_shows_name_type_and_size_sorted_and_capped(tools: Tools, tmp_path: Path) -> None:
    assert await tools.text("list_directory") == "[the folder is empty]"
    (tmp_path / "b").mkdir()
    (tmp_path / "a.txt").write_text("123")
    (tmp_path / "c").symlink_to("a.txt")
    assert await tools.text("list_directory") == "a.txt\tfile\t3\nb\tfolder\t-\nc\tlink\t-"
    assert "is not a folder" in await tools.fails("list_directory", directory_path="a.txt")
    for number in range(1_100):
        (tmp_path / "b" / f"{number:04}").touch()
    lines = (await tools.text("list_directory", directory_path="b")).splitlines()
    assert lines[:2] == ["0000\tfile\t0", "0001\tfile\t0"]
    assert lines[-1] == "[100 more entries; find them with glob]"


async def test_delete_takes_one_file_and_no_folder(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.txt").touch()
    assert "is a folder" in await tools.fails("delete_file", file_path="b")
    assert "is a folder" in await tools.fails("delete_file", file_path="")
    assert await tools.text("delete_file", file_path="b/a.txt") == "deleted b/a.txt"
    assert "does not exist" in await tools.fails("delete_file", file_path="b/a.txt")


async def test_glob_gives_the_newest_first_as_read_file_takes_them(tools: Tools, tmp_path: Path) -> None:
    for age, name in enumerate(["new.py", "sub/deep/middle.py", "sub/old.py", "sub/other.txt"]):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        os.utime(file, (1_000_000 - age, 1_000_000 - age))
    (tmp_path / "alias.py").symlink_to("sub/old.py")
    os.utime(tmp_path / "alias.py", (0, 0), follow_symlinks=False)
    (tmp_path / "sub" / "round").symlink_to("..")
    found = await tools.text("glob", pattern="**/*.py")
    assert found.splitlines() == ["new.py", "sub/deep/middle.py", "alias.py", "sub/old.py"]
    assert (await tools.text("glob", pattern="*.py", path="sub")) == "sub/old.py"
    assert (await tools.text("glob", pattern="{sub/deep,.}/*.py")).splitlines()[:2] == ["new.py", "sub/deep/middle.py"]
    assert await tools.text("glob", pattern="*.md") == "no files match '*.md'"


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", ".py"], ["a.pyc", "b/a.py"]),
        ("**/*.py", ["a.py", "b/a.py", "b/c/a.py"], ["a.txt"]),
        ("b/**", ["b/a", "b/c/d"], ["c/b"]),
        ("b/**/d", ["b/d", "b/c/d", "b/c/e/d"], ["b/d/e"]),
        ("**/b/**/c", ["b/c", "x/b/y/c"], ["c", "b"]),
        ("a?[0-9][!x].{py,{md,txt}}", ["ab1y.py", "ab1y.md", "ab1y.txt"], ["ab1x.py", "ab1y.rs"]),
        ("{a}", ["{a}"], ["a"]),
    ],
)
def test_glob_patterns(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [path for path in yes if not Glob(pattern).matches(path)] == []
    assert [path for path in no if Glob(pattern).matches(path)] == []


@pytest.mark.parametrize("pattern", ["", "/", "/etc/*", "../*", "a/../b", "~/x", "{a,b}" * 10, "x" * 2_000])
def test_glob_patterns_that_are_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        Glob(pattern)


def test_no_glob_pattern_takes_for_ever() -> None:
    assert not Glob("**/" * 50 + "*a" * 100 + "b").matches("a/" * 60 + "a" * 200)


class Listener:
    """As much of a context as respond_to_user needs."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, object]] = []

    def emit(self, kind: str, data: object) -> None:
        self.heard.append((kind, data))


async def test_respond_to_user_emits_an_event(tmp_path: Path) -> None:
    listener = Listener()
    tools = Tools(tmp_path, ctx=listener)
    assert await tools.text("respond_to_user", message="half way", message_type="progress") == "shown to the user"
    assert listener.heard == [("respond_to_user", {"message": "half way", "message_type": "progress"})]
    assert "message_type" in await tools.fails("respond_to_user", message="x", message_type="shout")
    assert "nobody" in await Tools(tmp_path).text("respond_to_user", message="x")
