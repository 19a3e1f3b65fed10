"""Model settings: None is unset, every other value is a value, and secrets are shown nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from flowgraph_nodes.errors import ModelConfigError
from flowgraph_nodes.models.settings import ModelSettings


@pytest.mark.parametrize(
    ("name", "falsy", "other"),
    [
        ("temperature", 0, 0.7),
        ("temperature", 0.0, 1.0),
        ("top_p", 0, 1),
        ("seed", 0, 7),
        ("stop", (), ("END",)),
        ("api_base", "", "http://127.0.0.1"),
        ("max_tokens", 1, 100),
        ("timeout", 0.001, 60.0),
    ],
)
def test_c48_falsy_values_are_kept_and_win_over_lower_levels(name: str, falsy: Any, other: Any) -> None:
    upper, lower = ModelSettings(**{name: falsy}), ModelSettings(**{name: other})
    assert getattr(upper, name) == falsy
    assert getattr(upper.over(lower), name) == falsy
    assert getattr(upper.over(None), name) == falsy
    assert getattr(ModelSettings().over(upper).over(lower), name) == falsy
    assert getattr(ModelSettings().over(lower), name) == other
    assert getattr(ModelSettings(), name) is None


def test_c48_an_empty_key_is_a_value() -> None:
    assert ModelSettings(api_key="").over(ModelSettings(api_key="k")).secret() == ""


def test_c48_extra_is_merged_by_key_and_falsy_values_win() -> None:
    merged = ModelSettings(extra={"a": 0, "b": False}).over(ModelSettings(extra={"a": 1, "b": True, "c": 3}))
    assert merged.extra == {"a": 0, "b": False, "c": 3}


def test_c51_secrets_are_shown_nowhere() -> None:
    settings = ModelSettings(
        api_key="marker-secret",
        api_base="https://user:marker-secret@example.org/v1",
        extra={"extra_headers": {"Authorization": "marker-secret"}, "reasoning_effort": "low"},
    )
    for shown in (repr(settings), str(settings), f"{settings}", repr([settings])):
        assert "marker-secret" not in shown
        assert "example.org" in shown
        assert "reasoning_effort" in shown
    assert settings.secret() == "marker-secret"


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": -0.1},
        {"top_p": 1.1},
        {"max_tokens": 0},
        {"timeout": 0},
        {"extra": {"model": "x"}},
        {"extra": {"temperature": 1}},
        {"extra": {"num_retries": 3}},
    ],
)
def test_values_out_of_range_are_refused_when_built(wrong: dict[str, Any]) -> None:
    with pytest.raises(ModelConfigError):
        ModelSettings(**wrong)


def test_one_stop_word_is_a_tuple_of_one() -> None:
    assert ModelSettings(stop="END").stop == ("END",)
    assert ModelSettings(stop=["A", "B"]).stop == ("A", "B")
