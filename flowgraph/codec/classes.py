"""Names of classes and functions, and classes by name, without ever loading a module for a name that was stored."""

from __future__ import annotations

import sys
from typing import Any


def name_of(thing: Any) -> str:
    """The `module:qualified.name` of a class or function."""
    return f"{thing.__module__}:{thing.__qualname__}"


def class_named(name: str) -> type | None:
    """The class of that name in a module that is loaded already; None when there is none, such as for local ones."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        try:
            found = vars(found).get(part)  # not getattr: a module's may load what is asked for
        except TypeError:
            return None
    return found if isinstance(found, type) and name_of(found) == name else None
