"""No file tool leaves the workspace, whatever the path and whoever changes the folders meanwhile."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from flowgraph_nodes.tools.builtin import OutsideWorkspace, Workspace, WorkspaceError, folder

from .using import Tools

pytestmark = pytest.mark.anyio

MARK = "outside-secret"


@pytest.fixture
def anyio_backend() -> str:
    """One will do: these tools do their work on a thread."""
    return "asyncio"


class Land:
    """A workspace `R`, a sibling whose name begins like it, a folder far away, and links of every kind."""

    def __init__(self, base: Path) -> None:
        self.base, self.root, self.sibling, self.far = base, base / "R", base / "R-other", base / "far"
        for place in (self.root / "inner", self.sibling, self.far / "deep"):
            place.mkdir(parents=True)
        for place in (self.sibling, self.far, self.far / "deep"):
            (place / "secret.txt").write_text(MARK)
        (self.root / "inner" / "mine.txt").write_text("inside")
        (self.root / "link-file").symlink_to(self.far / "secret.txt")
        (self.root / "link-folder").symlink_to(self.far)
        (self.root / "link-relative").symlink_to("../far")
        (self.root / "inner" / "link-up").symlink_to("../../far/deep")
        (self.root / "link-chain").symlink_to("link-folder")
        (self.root / "link-inner").symlink_to("inner")
        (self.root / "link-inner-absolute").symlink_to(self.root / "inner")
        (self.root / "link-circle").symlink_to("link-circle")
        (self.root / "link-dangling").symlink_to(self.far / "not-there.txt")
        self.before = self.outside()

    def outside(self) -> dict[str, str]:
        """Everything outside the workspace."""
        files = [item for place in (self.sibling, self.far) for item in place.rglob("*")]
        strays = [item for item in self.base.iterdir() if item not in (self.root, self.sibling, self.far)]
        return {str(item): item.read_text() if item.is_file() else "" for item in [*files, *strays]}


@pytest.fixture(params=["descriptors", "paths"])
def land(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Land:
    """By descriptors, and in the way of systems that have none for folders."""
    monkeypatch.setattr(folder, "BY_DESCRIPTOR", request.param == "descriptors")
    return Land(tmp_path)


def ways_out(land: Land) -> dict[str, str]:
    """Paths of folders outside; each has a `secret.txt` in it."""
    return {
        "dots": "../far",
        "dots inside": "inner/../../far",
        "many dots": "/".join([".."] * 30) + str(land.far),
        "sibling": "../R-other",
        "absolute": str(land.far),
        "absolute sibling": str(land.sibling),
        "absolute dots": f"{land.root}/../far",
        "home": "~",
        "home of somebody": "~root",
        "backslashes": "..\\far",
        "mixed": "inner\\..\\../far",
        "NUL": "../far\0",
        "link": "link-folder",
        "relative link": "link-relative",
        "link in a folder": "inner/link-up",
        "link to a link": "link-chain",
        "link and dots": "link-inner/../../far",
        "link through the link": "link-folder/deep",
        "slashes": "..//.//far",
    }


CALLS: dict[str, Callable[[str], dict[str, Any]]] = {
    "read_file": lambda out: {"file_path": f"{out}/secret.txt"},
    "update_file": lambda out: {"file_path": f"{out}/secret.txt", "content": "x"},
    "edit_file": lambda out: {"file_path": f"{out}/secret.txt", "old": MARK, "new": "x"},
    "delete_file": lambda out: {"file_path": f"{out}/secret.txt"},
    "create_file": lambda out: {"file_path": f"{out}/new/made.txt", "content": "x"},
    "list_directory": lambda out: {"directory_path": out},
    "grep": lambda out: {"pattern": "secret", "path": out},
    "glob": lambda out: {"pattern": "*", "path": out},
}


@pytest.mark.parametrize("name", CALLS)
async def test_c50_every_way_out_is_refused_and_nothing_outside_changes(land: Land, name: str) -> None:
    tools = Tools(land.root)
    for way, out in ways_out(land).items():
        failure = await tools.fails(name, **CALLS[name](out))
        assert failure.startswith("OutsideWorkspace"), (way, failure)
        assert MARK not in failure
    assert land.outside() == land.before


async def test_c50_appending_and_linked_files_and_dangling_links(land: Land) -> None:
    tools = Tools(land.root)
    outside = [
        await tools.fails("update_file", file_path="link-file", content="x", mode="append"),
        await tools.fails("read_file", file_path="link-file"),
        await tools.fails("grep", pattern="secret", path="link-file"),
        await tools.fails("delete_file", file_path="link-file"),
        await tools.fails("create_file", file_path="link-dangling", content="x"),
        await tools.fails("create_file", file_path="link-folder/new.txt", content="x"),
    ]
    assert {text.partition(":")[0] for text in outside} == {"OutsideWorkspace"}
    assert "circle" in await tools.fails("read_file", file_path="link-circle")
    assert land.outside() == land.before


async def test_c50_searches_do_not_follow_links_out(land: Land) -> None:
    tools = Tools(land.root)
    assert await tools.text("grep", pattern=MARK) == "no matches"
    assert set((await tools.text("glob", pattern="**/*")).splitlines()) == {"inner/mine.txt"}


async def test_c50_links_that_stay_inside_work(land: Land) -> None:
    tools = Tools(land.root)
    for way in ("link-inner", "link-inner-absolute", "inner/../link-inner", str(land.root / "inner")):
        assert await tools.text("read_file", file_path=f"{way}/mine.txt") == "inside"
        assert "mine.txt" in await tools.text("list_directory", directory_path=way)
        assert await tools.text("grep", pattern="ins", path=way) == "inner/mine.txt:1:inside"
        assert await tools.text("glob", pattern="*.txt", path=way) == "inner/mine.txt"
    await tools.text("create_file", file_path="link-inner/deep/new.txt", content="1")
    await tools.text("update_file", file_path="link-inner/deep/new.txt", content="2", mode="append")
    assert (land.root / "inner" / "deep" / "new.txt").read_text() == "12"
    (land.root / "alias").symlink_to("inner/mine.txt")
    await tools.text("edit_file", file_path="alias", old="inside", new="changed")
    assert (land.root / "alias").is_symlink()
    assert (land.root / "inner" / "mine.txt").read_text() == "changed"
    await tools.text("delete_file", file_path="alias")
    assert not (land.root / "alias").is_symlink()
    assert (land.root / "inner" / "mine.txt").exists()


async def test_c50_a_root_reached_by_a_link_works_and_is_as_tight(land: Land) -> None:
    (land.base / "door").symlink_to(land.root)
    land.before = land.outside()
    tools = Tools(land.base / "door")
    assert await tools.text("read_file", file_path="inner/mine.txt") == "inside"
    assert await tools.text("read_file", file_path=str(land.base / "door" / "inner" / "mine.txt")) == "inside"
    await tools.text("create_file", file_path="made.txt", content="x")
    assert (land.root / "made.txt").exists()
    for out in ("../far/secret.txt", "link-folder/secret.txt", str(land.far / "secret.txt")):
        assert "OutsideWorkspace" in await tools.fails("read_file", file_path=out)


async def test_further_roots_open_what_they_name_and_no_more(land: Land) -> None:
    tools = Tools(Workspace(land.root, roots=[land.far / "deep"]))
    for path in ("../far/deep/secret.txt", str(land.far / "deep" / "secret.txt"), "inner/link-up/secret.txt"):
        assert await tools.text("read_file", file_path=path) == MARK
    shown = str((land.far / "deep" / "secret.txt").resolve())
    assert await tools.text("glob", pattern="*.txt", path="inner/link-up") == shown
    assert await tools.text("read_file", file_path=shown) == MARK
    for path in ("link-folder/secret.txt", "../far/secret.txt", "inner/link-up/../secret.txt", "../R-other/secret.txt"):
        assert "OutsideWorkspace" in await tools.fails("read_file", file_path=path)


async def test_the_root_itself_is_a_folder_and_no_file(land: Land) -> None:
    tools = Tools(land.root)
    for path in ("", ".", "inner/..", "/", str(land.root)):
        failure = await tools.fails("read_file", file_path=path)
        assert ("OutsideWorkspace" if path == "/" else "is a folder") in failure
    assert "inner\tfolder" in await tools.text("list_directory", directory_path="")


# -- while somebody swaps folders and files for links


@contextmanager
def swapping(place: Path, target: Path) -> Iterator[None]:
    """A thread that makes `place` now what it was, now a link to `target`, in one step, as fast as it can."""
    exchange = getattr(ctypes.CDLL(None), "renameat2", None)
    if exchange is None:
        pytest.skip("this system cannot exchange two names in one step")
    stop, link = threading.Event(), place.with_name(place.name + ".link")
    link.symlink_to(target)

    def swap() -> None:
        while not stop.is_set():
            exchange(-100, os.fsencode(place), -100, os.fsencode(link), 2)  # AT_FDCWD, RENAME_EXCHANGE

    thread = threading.Thread(target=swap, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.skipif(not folder.BY_DESCRIPTOR, reason="this system has no descriptors of folders")
async def test_c50_a_swap_between_check_and_use_never_leads_out(tmp_path: Path) -> None:
    land = Land(tmp_path)
    (land.root / "inner" / "secret.txt").write_text("inside")
    tools, reads, inside = Tools(land.root), 0, 0
    with swapping(land.root / "inner", land.far):
        with anyio.move_on_after(0.8):
            while True:
                results = [
                    await tools.call("read_file", file_path="inner/secret.txt"),
                    await tools.call("update_file", file_path="inner/secret.txt", content="inside"),
                    await tools.call("create_file", file_path=f"inner/new/{reads}.txt", content="x"),
                    await tools.call("delete_file", file_path=f"inner/new/{reads}.txt"),
                    await tools.call("list_directory", directory_path="inner"),
                    await tools.call("glob", pattern="**/*.txt"),
                ]
                reads, inside = reads + 1, inside + results[0].ok
                assert MARK not in "".join(result.text for result in results)
                assert "deep" not in results[4].text
                kinds = {result.failure.kind for result in results if result.failure}
                assert kinds <= {"OutsideWorkspace", "WorkspaceError"}
    assert 0 < inside < reads  # it was swapped, and there were moments when it was not
    assert land.outside() == land.before


@pytest.mark.skipif(not folder.BY_DESCRIPTOR, reason="this system has no descriptors of folders")
async def test_c50_a_swapped_file_and_a_search_meanwhile(tmp_path: Path) -> None:
    land = Land(tmp_path)
    (land.root / "link-file").unlink()
    (land.root / "inner" / "deep").mkdir()
    (land.root / "inner" / "deep" / "secret.txt").write_text("inside")
    tools, found = Tools(land.root), 0
    with (
        swapping(land.root / "inner" / "mine.txt", land.far / "secret.txt"),
        swapping(land.root / "inner" / "deep", land.far / "deep"),
    ):
        for _ in range(5):
            found += "inside" in await tools.text("grep", pattern="inside|outside")
            assert MARK not in await tools.text("grep", pattern="inside|outside")
            for _ in range(10):
                assert MARK not in (await tools.call("read_file", file_path="inner/mine.txt")).text
                await tools.call("update_file", file_path="inner/mine.txt", content="x", mode="append")
    assert found > 0
    assert land.outside() == land.before


# -- things that are no files


async def test_pipes_devices_and_sockets_are_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with suppress(PermissionError):  # only root can
        os.mknod(tmp_path / "device", 0o666 | 0o020000, os.makedev(1, 5))  # zero: it never ends
    tools = Tools(Workspace(tmp_path, roots=["/dev"]))
    with socket.socket(socket.AF_UNIX) as server, anyio.fail_after(10):
        server.bind(str(tmp_path / "socket"))
        for path in ("pipe", "socket", "device", "/dev/zero", "/dev/tty"):
            for name in ("read_file", "update_file", "edit_file"):
                arguments = CALLS[name]("")
                failure = await tools.fails(name, **{**arguments, "file_path": path})
                assert failure.startswith("WorkspaceError"), failure
        assert "pipe\tother\t-" in await tools.text("list_directory")
        assert await tools.text("grep", pattern="x") == "no matches"
        assert await tools.text("glob", pattern="*") == "no files match '*'"
        assert "exists already" in await tools.fails("create_file", file_path="pipe", content="x")
        await tools.text("delete_file", file_path="pipe")


async def test_names_with_line_breaks_and_broken_bytes_are_shown_on_one_line_and_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "a\nb.txt").write_text("needle")
    with suppress(OSError):  # some file systems take UTF-8 only
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt")).write_text("needle")
    tools = Tools(tmp_path)
    assert '"a\\nb.txt"\tfile\t6' in (await tools.text("list_directory")).splitlines()
    assert '"a\\nb.txt":1:needle' in (await tools.text("grep", pattern="needle")).splitlines()
    assert '"a\\nb.txt"' in (await tools.text("glob", pattern="*")).splitlines()
    assert await tools.text("read_file", file_path="a\nb.txt") == "needle"
    assert await tools.text("glob", pattern="**/*b.txt") == '"a\\nb.txt"'


async def test_paths_that_no_system_takes_are_errors_and_no_crashes(tmp_path: Path) -> None:
    tools = Tools(tmp_path)
    for path in ("x" * 300, "x/" * 5_000 + "y", "\ud800", "file.txt/below"):
        (tmp_path / "file.txt").write_text("x")
        assert (await tools.fails("read_file", file_path=path)).startswith("WorkspaceError")


# -- the workspace itself


def test_an_agents_folder_is_the_same_for_the_same_identity_only(tmp_path: Path) -> None:
    base = Workspace(tmp_path)
    one = base.of_agent("Der Schreiber!", "run1:team/writer")
    assert one.root == base.of_agent("Der Schreiber!", "run1:team/writer").root
    assert one.root.parent == tmp_path / "agents"
    assert one.root.name.startswith("der-schreiber-")
    assert len(one.root.name.rpartition("-")[2]) == 12
    others = {base.of_agent("Der Schreiber!", "run2:team/writer").root, base.of_agent("x", "run1:team/writer").root}
    assert len({one.root, *others}) == 3
    assert base.of_agent("../..", "i").root.parent == tmp_path / "agents"


async def test_one_agents_folder_is_closed_to_the_other(tmp_path: Path) -> None:
    one, other = (Workspace(tmp_path).of_agent(name, "run") for name in ("one", "two"))
    await Tools(one).text("create_file", file_path="notes.txt", content="mine")
    assert "OutsideWorkspace" in await Tools(other).fails("read_file", file_path=f"../{one.root.name}/notes.txt")


def test_the_default_root_is_of_the_environment_or_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLOWGRAPH_WORKSPACE", raising=False)
    assert Workspace().root == tmp_path / "agent_workspace"
    monkeypatch.setenv("FLOWGRAPH_WORKSPACE", str(tmp_path / "elsewhere"))
    assert Workspace().root == tmp_path / "elsewhere"
    assert list(tmp_path.iterdir()) == []  # made when first needed


def test_no_descriptor_stays_open(land: Land) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc to count descriptors")
    workspace = Workspace(land.root)
    before = len(os.listdir("/proc/self/fd"))
    for path in ("inner/mine.txt", "../far/x", "inner/link-up/x", "missing/x", "inner/mine.txt/x"):
        with suppress(WorkspaceError, OutsideWorkspace), workspace.place(path):
            pass
    assert len(os.listdir("/proc/self/fd")) == before
