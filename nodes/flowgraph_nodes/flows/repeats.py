"""Whether a loop gets on: the same output again and again is a stall."""

from __future__ import annotations

import copy
from typing import Any, Final

_NOTHING: Final = object()


class Repeats:
    """Counts equal outputs in a row.

    Each is compared with a copy of the one before, as it was then: a body may change an object and return it again.
    What cannot be copied or compared is never the same.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._before: Any = _NOTHING
        self._count = 0

    def after(self, output: Any) -> bool:
        """Take the output of a round; whether there are so many equal ones in a row by now."""
        if self._most is None:
            return False
        self._count = self._count + 1 if _same(self._before, output) else 1
        self._before = _copied(output)
        return self._count >= self._most


def _same(one: Any, other: Any) -> bool:
    try:
        return type(one) is type(other) and bool(one == other)
    except Exception:
        return False


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # a lock, a connection, a thing that contains itself too deep
        return _NOTHING
