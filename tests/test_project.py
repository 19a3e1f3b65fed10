"""Rules about the source itself: short files, imports that go down only, heavy libraries in one place each."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PACKAGES = ("flowgraph", "nodes/flowgraph_nodes")
SOURCES = sorted(file for package in PACKAGES for file in (REPOSITORY / package).rglob("*.py"))

LINES = 400

# What only some files may import, wherever in the file the import stands: litellm takes seconds to load, and each
# of them should be easy to replace.
HOMES = {
    "litellm": ("nodes/flowgraph_nodes/models/",),
    "xllamacpp": ("nodes/flowgraph_nodes/models/local",),
    "networkx": ("flowgraph/checks",),
    "graphviz": ("flowgraph/render/",),
    "sqlalchemy": ("flowgraph/stores/",),
    "filelock": ("flowgraph/stores/",),
    "psycopg": ("flowgraph/stores/",),
    "mcp": ("nodes/flowgraph_nodes/tools/mcp/", "nodes/flowgraph_nodes/serve/"),
    "httpx": ("nodes/flowgraph_nodes/tools/mcp/", "nodes/flowgraph_nodes/serve/"),
    "uvicorn": ("nodes/flowgraph_nodes/serve/",),
    "starlette": ("nodes/flowgraph_nodes/serve/",),
}


def relative(file: Path) -> str:
    return file.relative_to(REPOSITORY).as_posix()


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a fresh interpreter that finds both packages in this tree, installed or not."""
    roots = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "nodes")])
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": roots},
    )


def imported(tree: ast.AST) -> Iterator[str]:
    """Top-level names of everything imported in the tree, by statement or by `import_module("name")`."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield module.partition(".")[0]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import litellm.utils as u", ["litellm"]),
        ("def f():\n    from networkx.algorithms import dag", ["networkx"]),
        ("from . import litellm", []),
        ("importlib.import_module('graphviz.backend')", ["graphviz"]),
        ("import_module(name)", []),
    ],
)
def test_imports_are_seen_in_every_form(source: str, names: list[str]) -> None:
    assert list(imported(ast.parse(source))) == names


def test_no_source_file_is_over_the_limit() -> None:
    assert SOURCES
    lengths = {relative(file): len(file.read_text("utf-8").splitlines()) for file in SOURCES}
    assert {name: count for name, count in lengths.items() if count > LINES} == {}


@pytest.mark.parametrize("library", HOMES)
def test_a_library_is_imported_only_where_it_lives(library: str) -> None:
    users = [relative(file) for file in SOURCES if library in imported(ast.parse(file.read_text("utf-8"), str(file)))]
    assert [name for name in users if not name.startswith(HOMES[library])] == []


def test_importing_the_packages_loads_nothing_heavy() -> None:
    done = python("import sys, flowgraph, flowgraph_nodes; print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    assert set(HOMES) & set(done.stdout.split()) == set()


def test_the_engine_knows_nothing_of_agents() -> None:
    done = python("import sys, flowgraph; print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    assert {"flowgraph_nodes", *HOMES} & set(done.stdout.split()) == set()


def test_import_contracts_hold() -> None:
    done = python("from importlinter.cli import lint_imports_command as lint; lint()", "--no-cache")
    assert done.returncode == 0, done.stdout + done.stderr
