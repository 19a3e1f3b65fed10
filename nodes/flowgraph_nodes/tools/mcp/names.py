"""Names under which a server's tools are offered. Calls reach the server under its own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from flowgraph_nodes.errors import DuplicateToolError
from flowgraph_nodes.tools.mcp.settings import Settings

if TYPE_CHECKING:
    from mcp import types

Warn = Callable[[str], None]
"""Is told what is odd but no reason to stop."""

_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST: Final = 64


def offered(settings: Settings, listed: Sequence[types.Tool], warn: Warn) -> dict[str, types.Tool]:
    """The tools that are allowed, each under the name that a provider takes, in the server's order.

    Raises:
        DuplicateToolError: two would have one name; it names both.
    """
    _tell_unused(settings, [item.name for item in listed], warn)
    found: dict[str, types.Tool] = {}
    for item in listed:
        if not allowed(settings, item.name):
            continue
        name = offered_name(settings, item.name)
        if name in found:
            raise DuplicateToolError(_clash(settings, name, found[name].name, item.name))
        found[name] = item
    return found


def allowed(settings: Settings, name: str) -> bool:
    """Whether a tool of the server is to be offered."""
    return _fits(name, settings.allow) and not _fits(name, settings.deny)


def offered_name(settings: Settings, name: str) -> str:
    """The name, renamed or with the prefix, of letters, digits, _ and -, at most 64; a longer one ends in a hash."""
    prefix = settings.name if settings.prefix is True else settings.prefix
    wanted = settings.rename.get(name) or (f"{prefix}_{name}" if prefix else name)
    clean = _OTHER.sub("_", wanted)
    if len(clean) <= _LONGEST:
        return clean
    return f"{clean[: _LONGEST - 9]}_{hashlib.sha256(wanted.encode()).hexdigest()[:8]}"


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _clash(settings: Settings, name: str, one: str, other: str) -> str:
    where = f"MCP server '{settings.name}'"
    if one == other:
        return f"{where} lists the tool '{one}' twice, so that no call can say which is meant; leave it out with deny="
    return f"{where}: its tools '{one}' and '{other}' would both be called '{name}'; give one another name with rename="


def _tell_unused(settings: Settings, names: list[str], warn: Warn) -> None:
    unused = [pattern for pattern in settings.allow if pattern != "*" and not any(_fits(n, [pattern]) for n in names)]
    unused += [name for name in settings.rename if name not in names]
    if unused:
        have = ", ".join(names) or "none"
        warn(f"MCP server '{settings.name}' has no tool {', '.join(map(repr, unused))} (it has: {have})")
