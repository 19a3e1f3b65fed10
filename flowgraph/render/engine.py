"""Engines: the program that finds the places, `dot` of Graphviz, as a package of the environment or of the system."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

from ..errors import DrawError

SECONDS: Final = 30
"""How long a layout may take."""

_VARIABLE: Final = "FLOWGRAPH_DOT"
_PACKAGED: Final = "graphviz-pure"
_HINT: Final = (
    "pip install graphviz-pure, or install Graphviz, or name the program in the environment variable "
    f"{_VARIABLE}; format='dot' and format='mermaid' work without one"
)


def find(engine: str | Path | None = None) -> str:
    """The path of the layout program.

    In this order: `engine`; the environment variable FLOWGRAPH_DOT; graphviz-pure in this environment's folders for
    scripts; `dot` on the PATH. Raises DrawError when there is none, or when the one that was named does not exist.
    """
    named = engine if engine is not None else os.environ.get(_VARIABLE) or None
    if named is not None:
        found = shutil.which(named)
        if found is None:
            source = "engine=" if engine is not None else _VARIABLE
            raise DrawError(f"{source} names the layout program {str(named)!r}, which cannot be run: {_HINT}")
        return found
    folders = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent), _user_scripts()]
    for folder in folders:
        if folder and (found := shutil.which(_PACKAGED, path=folder)):
            return found
    found = shutil.which("dot")
    if found is None:
        raise DrawError(f"drawing needs a layout program and there is none: {_HINT}")
    return found


def lay_out(source: str, engine: str | Path | None = None, *, seconds: float = SECONDS) -> str:
    """Positions for a DOT text, as Graphviz's JSON.

    Raises DrawError when there is no program, when it fails, and when it takes longer than `seconds`.
    """
    program = find(engine)
    try:
        done = subprocess.run(  # noqa: S603  # a fixed argument; the source holds ids and sizes only
            [program, "-Tjson0"], input=source.encode(), capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise DrawError(
            f"the layout took longer than {seconds:g} s: draw less (expand=False), or use format='dot'"
        ) from None
    except OSError as error:
        raise DrawError(f"{program} cannot be run: {error.strerror or error}") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise DrawError(
            f"{program} failed with exit code {done.returncode}: {said[-1][:200] if said else 'no message'}"
        )
    return done.stdout.decode(errors="replace")


def _user_scripts() -> str | None:
    """Where `pip install --user` puts programs."""
    try:
        return sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
    except (KeyError, AttributeError):
        return None
