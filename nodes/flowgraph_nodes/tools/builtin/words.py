"""A shell command taken apart into simple commands: words without their quotes, operators, redirects.

It is no shell: variables are not expanded, and what it cannot read it takes for words. Good enough for hints.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r]+|\\\n)
    |(?P<comment>(?<![^\s;&|()])\#[^\n]*)
    |(?P<redirect>(?:\d+|&)?(?:>>|>\||>&|>|<<<|<<-?|<&|<>|<(?!\())(?:[ \t]*))
    |(?P<operator>&&|\|\|?&?|;;?|&|[()`\n]|[<>]\()
    |(?P<word>(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\|&;<>()`]|['"\\])+)""",
    re.VERBOSE | re.DOTALL,
)
_INNER: Final = re.compile(r"\$\(([^()]*)\)|`([^`]*)`")


@dataclass(slots=True)
class Simple:
    """One simple command. piped: its input is the output of the one before. writes: files its output goes to."""

    words: list[str] = field(default_factory=list)
    piped: bool = False
    writes: list[str] = field(default_factory=list)


def commands(text: str) -> Iterator[Simple]:
    """The simple commands of a text, those in substitutions included, also within double quotes."""
    current, redirect, inner = Simple(), "", []
    for token in _TOKEN.finditer(text):
        kind, value = token.lastgroup, token.group()
        if kind == "redirect":
            redirect = value.strip()
        elif kind == "word":
            word = _unquoted(value)
            inner += [one or other for one, other in _INNER.findall(re.sub(r"'[^']*'", "", value))]
            if not redirect:
                current.words.append(word)
            elif ">" in redirect and not (redirect.endswith("&") and (word.isdigit() or word == "-")):
                current.writes.append(word)
            redirect = ""
        elif kind == "operator":
            yield current
            current, redirect = Simple(piped=value.startswith("|") and value != "||"), ""
    yield current
    for command in inner:
        yield from commands(command)


def _unquoted(word: str) -> str:
    try:
        return "".join(shlex.split(word, comments=False)) if word else word
    except ValueError:  # a quote without its partner
        return word
