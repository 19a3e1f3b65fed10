"""Text for drawings: cleaned, cut, wrapped and measured; numbers as people write them."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

TIP_LIMIT: Final = 600
"""Characters of a tooltip, at most."""

# What XML forbids or draws as nothing, and what turns the order of the text around it (so that a title cannot pose as
# another one). Joiners stay: Indic scripts and emoji are written with them.
_UNWANTED: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ufdd0-\ufdef\ufffe\uffff]|[\U0001fffe\U0001ffff\U000e0000-\U000e007f]"
)
_LINE_ENDS: Final = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_PIECES: Final = re.compile(r"[^\s_/.,:-]*[_/.,:-]+|[^\s_/.,:-]+|\s+")

# Advance widths of Helvetica, in thousandths of the type size, from U+0020 to U+007E (Adobe's font metrics).
_WIDTHS: Final = (
    *(278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278),
    *(556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556),
    *(1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778),
    *(667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556),
    *(333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556),
    *(556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584),
)
_SLACK: Final = (
    1.1  # sans-serif faces that stand in for Helvetica are up to a seventh wider; the padding takes the rest
)
_BOLD: Final = 1.07


def clean(text: str) -> str:
    """Text without control characters, direction marks and lone surrogates; every line end is a newline."""
    text = _UNWANTED.sub("", _LINE_ENDS.sub("\n", text).replace("\t", " "))
    return text.encode("utf-8", "replace").decode()


def cut(text: str, limit: int) -> str:
    """Text of at most `limit` characters; what was longer ends in an ellipsis."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)].rstrip() + "…"


def one_line(text: str, limit: int) -> str:
    """Cleaned text on one line, cut."""
    return cut(" ".join(clean(text[: 4 * limit]).split()), limit)


def columns(text: str) -> int:
    """How many columns a text takes, counting wide East Asian characters twice and combining ones not at all."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def wrap(text: str, width: int, lines: int) -> tuple[str, ...]:
    """Cleaned text on at most `lines` lines of at most `width` columns; what was longer ends in an ellipsis.

    Breaks at white space, after the marks that join names, and inside longer words. Newlines break, too.
    """
    short = clean(text[: 4 * width * lines])
    found: list[str] = []
    for paragraph in short.split("\n"):
        if paragraph.strip():
            found += _wrapped(paragraph.strip(), width)
    over = len(found) > lines or len(text) > 4 * width * lines
    if not over:
        return tuple(found) or (" ",)
    last = found[lines - 1] if len(found) >= lines else found[-1] if found else ""
    while columns(last) > width - 1:
        last = last[:-1]
    return (*found[: min(lines, len(found)) - 1], last.rstrip() + "…")


def _wrapped(paragraph: str, width: int) -> list[str]:
    rows, row, used = [], "", 0
    for piece in _PIECES.findall(paragraph):
        size = columns(piece)
        if used + size > width and row.strip():
            rows.append(row.strip())
            row, used = "", 0
        if size <= width:
            row, used = row + piece, used + size
            continue
        for char in piece:
            size = _columns(char)
            if used + size > width:
                rows.append(row)
                row, used = "", 0
            row, used = row + char, used + size
    return [*rows, row.strip()] if row.strip() else rows


def measure(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a text in pixels at a type size in pixels, rather too wide than too narrow."""
    thousandths = sum(_width(char) for char in text)
    return thousandths / 1000 * size * _SLACK * (_BOLD if bold else 1)


def _width(char: str) -> int:
    code = ord(char)
    return _WIDTHS[code - 32] if 32 <= code < 127 else (0, 640, 1000)[_columns(char)]


def duration(seconds: float) -> str:
    """Seconds in words: "0 ms", "310 ms", "1.24 s", "2 min 05 s", "1 h 02 min", "3 d 04 h"."""
    seconds = max(seconds, 0.0)
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 48 * 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400:,} d {whole % 86400 // 3600:02d} h"


def money(dollars: float) -> str:
    """US dollars, with as many digits as a small sum needs."""
    return (
        f"${dollars:,.2f}" if dollars >= 1 or dollars == 0 else f"${dollars:.4f}" if dollars >= 0.0001 else "<$0.0001"
    )


def count(number: int, noun: str) -> str:
    """A number and its noun: "1 node", "1,200 nodes"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
