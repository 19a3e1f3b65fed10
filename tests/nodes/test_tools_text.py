"""Any value as text for the model."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import ipaddress
import itertools
import json
import math
import pathlib
import types
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretStr, field_serializer

from flowgraph_nodes.messages import ToolCall
from flowgraph_nodes.tools import Stop, Toolbox, tool
from flowgraph_nodes.tools.text import to_text


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Point:
    x: int
    tags: set[str]


class Model(BaseModel):
    when: datetime.date
    name: str = Field(alias="Name")
    key: SecretStr = SecretStr("hidden")


class Broken(BaseModel):
    x: int = 1

    @field_serializer("x")
    def fail(self, value: int) -> int:
        raise ValueError("no")


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Spoken:
    def __str__(self) -> str:
        return "spoken"


class BadMapping(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        raise OSError("gone")

    def __len__(self) -> int:
        return 1

    def __str__(self) -> str:
        return "bad mapping"


def circular() -> list[Any]:
    loop: list[Any] = [1]
    loop.append(loop)
    return loop


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


CASES: list[tuple[Any, str]] = [
    ("plain", "plain"),
    ("", ""),
    ("\ud800!", "\\ud800!"),
    (None, "null"),
    (True, "true"),
    (3, "3"),
    (10**400, "1" + "0" * 400),
    (1.5, "1.5"),
    (math.nan, "NaN"),
    ([math.nan, math.inf, -math.inf], '["NaN", "Infinity", "-Infinity"]'),
    (b"\x00\xff", '{"base64": "AP8=", "bytes": 2}'),
    (bytearray(b"a"), '{"base64": "YQ==", "bytes": 1}'),
    (datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC), "2026-01-02T03:04:00Z"),
    ([datetime.date(2026, 1, 2), datetime.time(3, 4)], '["2026-01-02", "03:04:00"]'),
    (datetime.timedelta(hours=1), "PT1H"),
    (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (decimal.Decimal("1.10"), "1.10"),
    (pathlib.PurePosixPath("a/b"), "a/b"),
    (ipaddress.ip_address("127.0.0.1"), "127.0.0.1"),
    (Colour.RED, "red"),
    ([Level.LOW, Colour.RED], '[1, "red"]'),
    ({3, 1, 2}, "[1, 2, 3]"),
    (frozenset({"b", "a"}), '["a", "b"]'),
    ((1, "é"), '[1, "é"]'),
    (Point(1, {"b", "a"}), '{"x": 1, "tags": ["a", "b"]}'),
    (Model(when=datetime.date(2026, 1, 2), Name="n"), '{"when": "2026-01-02", "Name": "n", "key": "**********"}'),
    ({1: "a", "1": "b", (2, 3): "c", None: "d", Colour.RED: "e"}, None),
    (types.MappingProxyType({"a": 1}), '{"a": 1}'),
    (collections.OrderedDict(a=1), '{"a": 1}'),
    (circular(), '[1, "<circular>"]'),
    (ValueError("bad"), "ValueError: bad"),
    (Spoken(), "spoken"),
    ([Spoken()], '["spoken"]'),
    (Mute(), "<Mute object>"),
    ({"a": Mute()}, '{"a": "<Mute object>"}'),
    (Broken(), "x=1"),
    (BadMapping(), "bad mapping"),
    (deep(100_000), None),
    (len, None),
    ((number for number in [1]), None),
]


@pytest.mark.parametrize(("value", "text"), CASES, ids=[type(value).__name__ for value, _ in CASES])
def test_c31_every_value_has_its_documented_text(value: Any, text: str | None) -> None:
    found = to_text(value)
    found.encode("utf-8")
    if text is not None:
        assert found == text


def test_c31_keys_become_text_and_none_is_lost() -> None:
    assert json.loads(to_text({1: "a", "1": "b", (2, 3): "c", None: "d", Colour.RED: "e"})) == {
        "1": "a",
        "1'": "b",
        "[2, 3]": "c",
        "null": "d",
        "red": "e",
    }


def test_c31_a_value_used_twice_is_not_circular() -> None:
    shared = [1]
    assert to_text([shared, shared]) == "[[1], [1]]"


VALUES = [value for value, _ in CASES if not isinstance(value, Iterator)]


@pytest.mark.anyio
@pytest.mark.parametrize("value", VALUES, ids=[type(value).__name__ for value in VALUES])
async def test_c31_a_tool_may_return_it_and_the_raw_value_is_kept(value: Any) -> None:
    @tool
    def give() -> Any:
        return value

    result = await Toolbox([give]).run_call(ToolCall("1", "give"))
    assert result.ok
    assert result.value is value
    assert result.message.content == result.text == to_text(value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(json_values)
def test_json_values_read_back_as_they_were(value: Any) -> None:
    if isinstance(value, str):
        assert to_text(value) == value
    else:
        assert json.loads(to_text(value)) == value


async def _endless() -> Any:
    yield 1


@pytest.mark.anyio
@pytest.mark.parametrize("kind", [itertools.count, lambda: (n for n in (1, 2)), lambda: map(str, [1]), _endless])
async def test_iterators_are_never_read(kind: Callable[[], Any]) -> None:
    async def plain() -> Any:
        return kind()

    async def stop() -> Any:
        return Stop(kind())

    toolbox = Toolbox([plain, stop])
    for name in ("plain", "stop"):
        result = await toolbox.run_call(ToolCall("1", name, "{}"))
        assert result.failure is not None
        assert result.failure.kind == "BadResult"
        assert "must give a list" in result.text
    assert len(to_text({"deep": [kind()]})) < 200
