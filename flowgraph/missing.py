"""The one value that stands for "nothing given", so that None, 0 and "" stay values."""

from __future__ import annotations

from typing import Any, Final


class Missing:
    """The type of `MISSING`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "MISSING"  # copies and pickles are the same object


MISSING: Final[Any] = Missing()
