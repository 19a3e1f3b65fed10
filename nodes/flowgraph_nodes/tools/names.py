"""Names of tools, by the rule that providers share: 1 to 64 letters, digits, _ and -."""

from __future__ import annotations

import re
from typing import Final

from flowgraph_nodes.errors import ToolDefinitionError

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


def checked_name(name: str) -> str:
    """The name, if providers take it.

    Raises:
        ToolDefinitionError: it has other characters than letters, digits, _ and -, or more than 64.
    """
    if not _NAME.fullmatch(name):
        raise ToolDefinitionError(
            f"{name!r} cannot be a tool's name: 1 to 64 letters, digits, _ and -; give it one with name="
        )
    return name


def nearest_name(name: str) -> str:
    """The name itself if providers take it, else the nearest that they do; for names that a model made up."""
    return name if _NAME.fullmatch(name) else re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed"
