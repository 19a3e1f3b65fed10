"""Installs the MCP servers that the tests talk to, once: `python tests/nodes/mcp/fetch.py [FOLDER]` (.cache/mcp).

They get an environment of their own, since they may need another version of the package `mcp` than we do. Those for
Node are left out where there is no npm; the tests that want them are skipped then.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

FOLDER = Path(__file__).parents[3] / ".cache" / "mcp"
PYTHON = ("mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19")
NODE = (
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-everything@2026.8.31",
)


def main(folder: Path) -> None:
    """Install what is not there yet."""
    stamp, wanted = folder / "installed.txt", "\n".join((*PYTHON, *NODE))
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    folder.mkdir(parents=True, exist_ok=True)
    venv.create(folder / "venv", with_pip=True, clear=True)
    pip = folder / "venv" / "bin" / "python"
    subprocess.run([pip, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PYTHON], check=True)
    npm = shutil.which("npm")
    if npm is None:
        print("there is no npm: the MCP servers for Node are left out", file=sys.stderr)
        return
    patience = ("--fetch-retries=1", "--fetch-timeout=20000")  # a registry that is not there must not hold up the tests
    quiet = ("--silent", "--no-audit", "--no-fund")
    subprocess.run([npm, "install", "--prefix", folder, *quiet, *patience, *NODE], check=True, timeout=120)
    stamp.write_text(wanted)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
