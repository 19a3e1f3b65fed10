"""The sentinel: a word at the end of an answer which says that it is finished."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

_WORDS: Final = ("done", "complete", "finished")
_ENDS: Final = ".!?"
_SPACE: Final = " \t\n\r\f\v"
_LINE_SPACE: Final = " \t\f\v"
_PAIRS: Final = {mark: mark for mark in "*_`~\"'"} | dict(zip("([{<", ")]}>", strict=True))
_PAIRS.update({"\u201c": "\u201d", "\u201e": "\u201c", "\u2018": "\u2019", "\u00ab": "\u00bb"})  # typographic quotes
_OPENING: Final = "".join(_PAIRS)
_CLOSING: Final = "".join(_PAIRS.values())
_EMPHASIS: Final = re.compile(r"(?<![A-Za-z0-9_])_+(?=[^\s_])|(?<![A-Za-z0-9_])_+\Z")


class _Found(NamedTuple):
    """The word in a text. head: all before it, its opening marks taken off. marks: these. tail: all behind it."""

    head: str
    marks: str
    tail: str

    @property
    def line(self) -> str:
        """What stands before it on its line."""
        return self.head[max(self.head.rfind("\n"), self.head.rfind("\r")) + 1 :]

    @property
    def alone(self) -> bool:
        """Whether it stands alone on the last line, which may be a heading or quote of markdown."""
        return not self.line.strip(_LINE_SPACE + "#>")

    @property
    def apart(self) -> bool:
        """Whether it stands alone on the last line, or after the end of a sentence."""
        if self.alone:
            return True
        return self.head[-1] in _SPACE and self.head.rstrip(_SPACE).rstrip(_CLOSING)[-1:] in tuple(_ENDS)

    @property
    def left(self) -> str:
        """The text without the word and its marks; "" when that is nothing but marks."""
        open_marks = list(self.marks)
        kept = ""
        for character in self.tail:
            if open_marks and character == _PAIRS[open_marks[-1]]:
                open_marks.pop()
            elif character not in _ENDS:  # marks that were opened long before close what is left
                kept += character
        kept = ("\n" if "\n" in kept and kept.strip() else "") + kept.strip()
        head = self.head[: -len(self.line)] if self.alone and self.line else self.head
        left = head.rstrip() + kept
        return left if left.strip(_SPACE + _ENDS + _OPENING + _CLOSING) else ""


@dataclass(frozen=True, slots=True)
class Sentinel:
    """The word DONE, COMPLETE or FINISHED at the end of a text says that it is finished.

    It counts in any case, as a whole word (by ASCII's rules), when only white space, `.`, `!`, `?` and closing
    markdown, quotes and brackets follow.

    strict: the word must also stand alone on the last line, or after the end of a sentence, so that "The task is not
    complete." says nothing.

    >>> Sentinel().stops("Here it is. **DONE**"), Sentinel().taken_off("Here it is. **DONE**")
    (True, 'Here it is.')
    """

    strict: bool = False

    def stops(self, text: str) -> bool:
        """Whether the text says that it is finished."""
        found = _found(text)
        return found is not None and (found.apart or not self.strict)

    def __call__(self, output: str) -> bool:
        """`stops`, as `until=` of a LoopFlow wants it."""
        return self.stops(output)

    def taken_off(self, text: str) -> str:
        """The text without the word, where that is no part of a sentence; "" when nothing is left."""
        found = _found(text)
        return found.left if found is not None and found.apart else text


def _found(text: str) -> _Found | None:
    """The word at the end of a text."""
    body = text.rstrip(_SPACE + _ENDS + _CLOSING)
    word = next((word for word in _WORDS if body[-len(word) :].lower() == word), None)
    if word is None:
        return None
    before, tail = body[: -len(word)], text[len(body) :]
    head = before.rstrip(_OPENING)
    marks = before[len(head) :]
    if tail[:1] == "_" and not _EMPHASIS.search(
        before
    ):  # DONE_ is another word, unless the underscore closes something
        return None
    touching = before[-1:]
    if touching == "_" and ("_" not in tail or _is_word(before.rstrip("_")[-1:])):  # likewise _DONE
        return None
    return None if not marks and _is_word(touching) else _Found(head, marks, tail)


def _is_word(character: str) -> bool:
    return character.isascii() and character.isalnum()
