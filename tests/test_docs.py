"""Every block of Python in the README and the docs runs, in order, and every public name has its line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import flowgraph
import flowgraph_nodes

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    page
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    if "```python" in page.read_text(encoding="utf-8")
)


def blocks(page: Path) -> list[tuple[int, str]]:
    """The line number and text of every Python block."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(text[: match.start()].count("\n") + 2, match[1]) for match in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of one page share their names, as a reader would type them one after the other."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "docs"}
    for line, block in blocks(page):
        exec(compile("\n" * (line - 1) + block, str(page), "exec"), names)
    assert names


@pytest.mark.parametrize("package", [flowgraph, flowgraph_nodes], ids=lambda package: package.__name__)
def test_every_public_name_has_a_line_in_the_reference(package: object) -> None:
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    missing = [name for name in package.__all__ if f"`{name}`" not in text]
    assert not missing


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        broken += [f"{page.relative_to(ROOT)}: {target}" for target in targets if not (page.parent / target).exists()]
    assert not broken


def test_the_floors_of_the_architecture_are_those_that_are_checked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    modules = [name.strip(" ()") for layer in contracts[0]["layers"] for name in layer.split("|")]
    table = page[page.index("| floor |") :]
    assert re.findall(r"`(\w+)`(?: \()?", table.split("\n\n")[0].replace("`fg.run`, `arun`, `start`", "")) == modules
