"""Sentinel: what ends a loop, what does not, and what is left of the answer."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flowgraph_nodes import LoopFlow
from flowgraph_nodes.agents.sentinel import Sentinel

STOPS = [
    "DONE",
    "Done.",
    "Complete!",
    "finished ?",
    "text. DONE",
    "draft\nDONE\n",
    "(DONE",
    "half-done",
    "**DONE**",
    '"DONE"',
    "`DONE`",
    "(DONE)",
    "[Done.]",
    "\u201cDone\u201d",
    "\u201eDone\u201c",
    "'finished'",
    "_DONE_",
    "__Done.__",
    "_**DONE**_",
    "**_DONE_**",
    "_it is all DONE_",
    "~~no~~ DONE",
    "```\ncode\nDONE\n```",
    "## DONE",
    "> done",
    "DONE...!?\r\n\t",
    "caf\u00e9DONE",  # ASCII's rules: \u00e9 is no letter of a word
    "The task is not complete.",
]
GOES_ON = [
    "abandoned",
    "complete the form",
    "I'm done thinking, let me continue",
    "DONE: here is the draft",
    "COMPLETED",
    "DONE2",
    "",
    " \n",
    ".!?",
    "un_done",
    "_DONE",
    "DONE_",
    "x_DONE_",
    "2DONE",
    "DONE,",
    "DONE;",
    "DONE\N{HORIZONTAL ELLIPSIS}",
    "done\N{NO-BREAK SPACE}",  # no white space of ASCII
    "FINI\N{LATIN SMALL LETTER LONG S}HED",
    "DONE \N{WHITE HEAVY CHECK MARK}",
]


@pytest.mark.parametrize("text", STOPS)
def test_it_stops_at_the_word_at_the_end(text: str) -> None:
    assert Sentinel().stops(text)


@pytest.mark.parametrize("text", GOES_ON)
def test_it_does_not_stop_otherwise(text: str) -> None:
    assert not Sentinel().stops(text)
    assert not Sentinel(strict=True).stops(text)
    assert Sentinel().taken_off(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "DONE",
        "Done.",
        "(DONE",
        "text. DONE",
        "text! **Done**",
        'He said "text." DONE',
        "**text.** DONE",
        "(text.) DONE",
        "draft\nDONE\n",
        "draft\n\n  **DONE**  \n",
        "draft\r\nDONE",
        "# DONE",
    ],
)
def test_strict_wants_it_alone_on_its_last_line_or_after_a_sentence(text: str) -> None:
    assert Sentinel(strict=True).stops(text)


@pytest.mark.parametrize(
    "text",
    [
        "The task is not complete.",
        "half-done",
        "notes.done",
        "so (DONE)",
        "draft\nnot DONE",
        "draft, DONE",
        "_it is all DONE_",
    ],
)
def test_strict_does_not_stop_within_a_sentence(text: str) -> None:
    assert Sentinel().stops(text)
    assert not Sentinel(strict=True).stops(text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("draft\nDONE\n", "draft"),
        ("text. DONE", "text."),
        ("text!  **DONE.**", "text!"),
        ("Your report is complete.", "Your report is complete."),
        ("half-done", "half-done"),
        ("a draft (DONE)", "a draft (DONE)"),
        ("(All is well. DONE)", "(All is well.)"),
        ('"All is well. DONE."', '"All is well."'),
        ("**text. DONE**", "**text.**"),
        ("**text.** DONE", "**text.**"),
        ("```\ncode\nDONE\n```", "```\ncode\n```"),
        ("draft\n> **DONE**", "draft"),
        ("\u201cWell.\u201d \u201cDone.\u201d", "\u201cWell.\u201d"),
        ("  indented. done", "  indented."),
        ("5 DONE", "5 DONE"),
        ("5\nDONE", "5"),
        ("DONE", ""),
        ("**Done!**", ""),
        ("```\nDONE\n```", ""),
        ("finished ?", ""),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_the_word_is_taken_off_where_it_is_no_part_of_a_sentence(text: str, left: str, strict: bool) -> None:
    assert Sentinel(strict=strict).taken_off(text) == left


# -- for any text

WORDS = ["DONE", "done", "Complete", "finished", "x", "1", " ", "\n"]
PIECES = st.sampled_from([*WORDS, ".", "!", "?", "*", "**", "`", '"', "'", "(", ")", "_"])
TEXTS = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=40)
PLAIN = re.compile(r"\b(DONE|COMPLETE|FINISHED)[\s.!?]*\Z", re.IGNORECASE | re.ASCII)


@given(TEXTS)
def test_all_that_the_plain_rule_of_ascii_ends_is_ended(text: str) -> None:
    if PLAIN.search(text):
        assert Sentinel().stops(text)
    elif Sentinel().stops(text):  # only marks made the difference
        assert PLAIN.search(re.sub(r"[*_`~\"'()\[\]{}<>\u2018-\u201e\u00ab\u00bb]+", " ", text))


@given(TEXTS)
@example("DONE\nDONE* *")
def test_strict_stops_less_and_what_is_taken_off_is_only_the_word_and_marks(text: str) -> None:
    strict, left = Sentinel(strict=True), Sentinel().taken_off(text)
    assert Sentinel().stops(text) or not strict.stops(text)
    assert strict.stops(text) == (left != text)
    if left and left != text:
        kept = left.rstrip("*_`~\"')\n ")  # marks that close what was opened before it move up
        assert text.startswith(kept)
        assert re.sub(r"(?i)\W|_|done|complete|finished", "", text[len(kept) :]) == ""


@given(TEXTS, st.sampled_from(["DONE", "Done.", "**complete**", "`finished`!"]))
def test_what_a_model_adds_as_it_is_told_is_seen_and_taken_off(text: str, word: str) -> None:
    answer = f"{text}x\n{word}"
    assert Sentinel(strict=True).stops(answer)
    assert Sentinel(strict=True).taken_off(answer) == f"{text}x"


def test_a_long_text_takes_no_longer_than_its_length() -> None:
    text = "_" * 200_000 + " ." * 200_000
    assert not Sentinel().stops(text)
    assert Sentinel().stops(text + " DONE" + "*" * 200_000)


def test_it_ends_a_loop_flow_too() -> None:
    assert LoopFlow(_echo, until=Sentinel()).until is not None


def _echo(text: str) -> str:
    return text
