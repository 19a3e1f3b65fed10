"""Text in drawings: cleaning, cutting, wrapping, measuring, and numbers in words."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgraph.render import text, theme


@given(st.text(st.characters(exclude_categories=()), max_size=200))  # lone surrogates, too
def test_clean_text_can_stand_in_xml(words: str) -> None:
    clean = text.clean(words)
    escaped = clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert (ET.fromstring(f"<a>{escaped}</a>").text or "") == clean
    assert "\u202e" not in clean


@given(st.text(max_size=300), st.integers(2, 30), st.integers(1, 4))
def test_wrapped_text_stays_within_its_room(words: str, width: int, lines: int) -> None:
    rows = text.wrap(words, width, lines)
    assert 1 <= len(rows) <= lines
    assert all(text.columns(row) <= width for row in rows)
    assert all(row for row in rows)


def test_wrapping_breaks_where_a_reader_would() -> None:
    assert text.wrap("collect the facts", 11, 2) == ("collect the", "facts")
    assert text.wrap("fetch_customer_orders", 15, 2) == ("fetch_customer_", "orders")
    assert text.wrap("two\nlines", 20, 3) == ("two", "lines")
    assert text.wrap("日本語のタイトル", 8, 2) == ("日本語の", "タイトル")
    assert text.wrap("one two three four", 9, 1) == ("one two…",)
    assert text.wrap("", 9, 1) == (" ",)


def test_wrapping_does_not_read_what_it_cannot_show() -> None:
    rows = text.wrap("x" * 50_000_000, 20, 2)
    assert rows == ("x" * 20, "x" * 19 + "…")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 ms"),
        (-0.1, "0 ms"),
        (0.31, "310 ms"),
        (0.9996, "1.00 s"),
        (1.24, "1.24 s"),
        (12.34, "12.3 s"),
        (59.99, "1 min 00 s"),
        (125, "2 min 05 s"),
        (3720, "1 h 02 min"),
    ],
)
def test_durations_in_words(seconds: float, words: str) -> None:
    assert text.duration(seconds) == words


def test_money_shows_as_many_digits_as_it_needs() -> None:
    sums = [text.money(x) for x in (0, 0.00001, 0.0123, 1.5, 1234.5)]
    assert sums == ["$0.00", "<$0.0001", "$0.0123", "$1.50", "$1,234.50"]


def test_wide_characters_are_measured_wide() -> None:
    assert text.measure("日本", 10) > text.measure("ab", 10) > text.measure("il", 10)
    assert text.measure("ab", 10, bold=True) > text.measure("ab", 10)


def test_each_colour_has_one_counterpart_on_dark_pages() -> None:
    light = [pair.light for pair in theme.pairs()]
    assert len(light) == len(set(light))


@pytest.mark.parametrize("side", ["light", "dark"])
def test_text_can_be_read_on_every_card(side: str) -> None:
    papers = [pair for pair in theme.pairs() if _is_background(pair)]
    assert len(papers) > 10
    for paper in papers:
        for ink in (theme.INK, theme.MUTED):
            # WCAG 2.2, 1.4.3: small text wants a contrast of 4.5
            assert _contrast(getattr(paper, side), getattr(ink, side)) >= 4.5, (paper, ink)


def _is_background(pair: theme.Colour) -> bool:
    return _luminance(pair.light) > 0.8 and _luminance(pair.dark) < 0.05 and pair != theme.FRAME


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)
