"""A file of graphs for the tests of the command line, and calls of commands in this process."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flowgraph.cli.app import app

GRAPHS = '''
"""Graphs that pause, fail, wait and change."""
from datetime import timedelta
from pathlib import Path

from pydantic import SecretStr

import flowgraph as fg


def note(name: str) -> None:
    """What ran, in order."""
    with Path("ran.txt").open("a") as file:
        file.write(name + "\\n")


article = fg.Graph("article")
article.input("topic", str)


@article.node
def draft(topic: str) -> str:
    note("draft")
    return f"All about {topic}"


article.add("approve", fg.Gate("Publish '{draft}'?", bool, timeout=timedelta(days=2), default=False))
article.add("title", fg.Gate("A title?"))


@article.node
def page(draft: str, approve: bool, title: str) -> str:
    note("page")
    return f"{title}: {draft}, {'published' if approve else 'kept'}"


soon = fg.Graph("soon")
soon.add("ask", fg.Gate("Quick?", bool, timeout=0.3, default=True))


@soon.node
def after(ask: bool) -> str:
    return f"got {ask}"


late = fg.Graph("late")
late.add("ask", fg.Gate("Quick?", bool, timeout=0.3))

broken = fg.Graph("broken")


@broken.node
def good() -> int:
    note("good")
    return 1


@broken.node
def fails(good: int) -> int:
    note("fails")
    if not Path("mended").exists():
        raise ValueError("not today")
    return good + 1


hostile = fg.Graph("hostile")


@hostile.node
def boom() -> int:
    raise ValueError("\\x1b[31mred\\x1b]0;title\\x07 [bold]x[/bold]")


unknown = fg.Graph("unknown")
unknown.add("risk", lambda: "odd")
unknown.choose("risk", {"low": "a"})
unknown.add("a", lambda risk: 1)

secret = fg.Graph("secret")
secret.input("key", SecretStr)
secret.add("ask", fg.Gate("Go on?", bool))


@secret.node
def use(key: SecretStr, ask: bool) -> int:
    return len(key.get_secret_value())


endless = fg.Graph("endless")


@endless.node
def first() -> int:
    note("first")
    return 1


@endless.node
async def waits(first: int) -> int:
    import anyio

    if not Path("mended").exists():
        note("waits")
        await anyio.sleep_forever()
    return first + 1
'''


@dataclass(frozen=True)
class Done:
    """How a command ended. out, err: what it printed, white space made one."""

    code: int
    out: str
    err: str


class Folder:
    """A folder with the graphs, in which commands are called: `folder.call("runs", "--store", "runs.db")`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "graphs.py").write_text(GRAPHS)

    def call(self, *arguments: str) -> Done:
        """A command, in this process."""
        done = CliRunner().invoke(app, arguments, catch_exceptions=False)
        sys.modules.pop("graphs", None)
        return Done(done.exit_code, " ".join(done.stdout.split()), " ".join(done.stderr.split()))

    def kept(self, *arguments: str) -> Done:
        """The same, on the store runs.db."""
        return self.call(*arguments, "--store", "runs.db")

    @property
    def ran(self) -> list[str]:
        """What ran, in order."""
        file = self.path / "ran.txt"
        return file.read_text().split() if file.exists() else []

    def mend(self) -> None:
        """From now on nothing fails any more."""
        (self.path / "mended").touch()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """An empty folder with the graphs; the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("FLOWGRAPH_STORE", raising=False)
    return Folder(tmp_path)
