"""Prompt templates: `{name}`, `{name.field}` and `{name?}` are placeholders, everything else is text.

Only identifiers count, so that JSON and CSS braces pass as they are; `{{name}}` is the literal `{name}`. Values are
inserted once and never expanded again; what is not text is written as JSON. `{name?}` stands for a value that may be
absent (None), and renders to nothing then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, Final

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_PLACEHOLDER: Final = re.compile(
    rf"\{{\{{(?P<literal>{_NAME}(?:\.{_NAME})*\??)\}}\}}|\{{(?P<name>{_NAME})(?P<fields>(?:\.{_NAME})*)(?P<maybe>\?)?\}}"
)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A placeholder's name and whether its value may be absent."""

    name: str
    maybe: bool


class Prompt:
    """A template, parsed once. `placeholders` are its names in order; one `?` anywhere makes a name a Maybe."""

    __slots__ = ("placeholders", "text")

    def __init__(self, text: str | PathLike[str]) -> None:
        self.text = text if isinstance(text, str) else _content(text)
        found: dict[str, bool] = {}
        for match in _PLACEHOLDER.finditer(self.text):
            if name := match["name"]:
                found[name] = found.get(name, False) or bool(match["maybe"])
        self.placeholders = tuple(Placeholder(name, maybe) for name, maybe in found.items())

    def render(self, values: Mapping[str, Any]) -> str:
        """The text with every placeholder filled in. Raises KeyError for a name without value."""
        return _PLACEHOLDER.sub(lambda match: _filled(match, values), self.text)

    def __repr__(self) -> str:
        return f"Prompt({self.text!r})"


def _content(path: PathLike[str]) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _filled(match: re.Match[str], values: Mapping[str, Any]) -> str:
    if match["literal"]:
        return "{" + match["literal"] + "}"
    value = values[match["name"]]
    for field in match["fields"].split(".")[1:]:
        if value is None and match["maybe"]:
            break
        value = part(value, field)
    return "" if value is None and match["maybe"] else as_text(value)


def part(value: Any, key: str | int) -> Any:
    """`value[key]` of a mapping or sequence, else `value.key`. Raises LookupError that names what there is."""
    if isinstance(value, Mapping):
        if key in value:
            return value[key]
        raise KeyError(f"no key {key!r} in a mapping with {', '.join(map(repr, list(value)[:8])) or 'no keys'}")
    if isinstance(key, int):
        return value[key]
    if isinstance(value, list | tuple) and key.isdigit():
        return value[int(key)]
    if not key.startswith("_") and hasattr(value, key):
        return getattr(value, key)
    raise KeyError(f"no field {key!r} in a {type(value).__name__}")


def as_text(value: Any) -> str:
    """Text as it is, anything else as JSON (pydantic models, dataclasses and dates included)."""
    if isinstance(value, str):
        return value
    from pydantic_core import to_json

    return to_json(value, indent=None, fallback=str).decode()
