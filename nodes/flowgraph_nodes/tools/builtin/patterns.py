"""Glob patterns: `*`, `?`, `[a-z]`, `[!a-z]` inside a name, `**` for any folders, `{a,b}` for either.

A leading dot is nothing special. Matching takes time in proportion to pattern times path, whatever the pattern.
"""

from __future__ import annotations

import fnmatch
import re
from typing import Final

from flowgraph_nodes.tools.builtin.errors import PatternError

_MOST_ALTERNATIVES: Final = 100
_LONGEST: Final = 1_000
_BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")


class Glob:
    """A compiled pattern for paths with '/' between their parts.

    Raises:
        PatternError: it is empty, too long, absolute, goes up with '..', or has more than 100 alternatives.
    """

    def __init__(self, pattern: str) -> None:
        if not pattern.strip("/") or len(pattern) > _LONGEST:
            raise PatternError(f"a glob pattern has 1 to {_LONGEST} characters, such as '**/*.py'")
        if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
            raise PatternError(f"'{pattern}': a glob pattern is relative and has no '..'; give the folder as path")
        self._forms = [_compiled(form) for form in _expanded(pattern)]

    @property
    def depth(self) -> int | None:
        """How many parts a path has at most that can match; None for any number."""
        if any(None in form for form in self._forms):
            return None
        return max(len(form) for form in self._forms)

    def matches(self, path: str) -> bool:
        """Whether a relative path matches."""
        parts = path.split("/")
        return any(_match(form, parts) for form in self._forms)


_Form = list[re.Pattern[str] | None]
"""A pattern's parts; None stands for `**`."""


def _expanded(pattern: str) -> list[str]:
    done: list[str] = []
    todo = [pattern]
    while todo:
        form = todo.pop()
        if found := _BRACES.search(form):
            todo += [form[: found.start()] + item + form[found.end() :] for item in found[1].split(",")]
        else:
            done.append(form)
        if len(done) + len(todo) > _MOST_ALTERNATIVES:
            raise PatternError(f"'{pattern}' has more than {_MOST_ALTERNATIVES} alternatives")
    return done


def _compiled(form: str) -> _Form:
    parts = [part for part in form.split("/") if part not in ("", ".")]
    return [None if part == "**" else re.compile(fnmatch.translate(part)) for part in parts]


def _match(form: _Form, parts: list[str]) -> bool:
    """One column of the table at a time: which beginnings of the pattern match the parts so far."""
    reached = {0}
    for part in [*parts, None]:
        # `**` may stand for nothing: whoever stands before one stands behind it, too
        for at in range(len(form)):
            if at in reached and form[at] is None:
                reached.add(at + 1)
        if part is None:
            break
        stepped = {at for at in reached if at < len(form) and form[at] is None}
        stepped |= {at + 1 for at in reached if at < len(form) and (one := form[at]) is not None and one.match(part)}
        reached = stepped
    return len(form) in reached
