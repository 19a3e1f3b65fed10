"""Digests of values that are the same in every process."""

from __future__ import annotations

from typing import Any


def digest(value: Any) -> str | None:
    """A sha256 in hex: equal for equal values, in another process too; None when something in it has no stable form.

    Orders of dicts and sets do not count, types do. Functions and classes count by module and qualified name, secrets
    not at all. An object may have its own: `__digest__()` gives a str, or None when it has none.
    """
    raise NotImplementedError
