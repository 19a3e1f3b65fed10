"""Types that have no value in common, parts of types, and the values that a type admits."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import itertools
import pathlib
import typing
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, Protocol, TypedDict, TypeVar, Union, final

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import TypeAliasType

from flowgraph.disjoint import cases_of, disjoint, element_of, part_of

T = TypeVar("T")
UserId = NewType("UserId", int)
Names = TypeAliasType("Names", list[str])
Names2 = TypeAliasType("Names2", list[T], type_params=(T,))


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


class Word(enum.StrEnum):
    LOW = "low"


class Bits(enum.Flag):
    ONE = 1


class Reads(Protocol):
    def read(self) -> str: ...


class Draft(TypedDict):
    title: str
    score: typing.NotRequired[float]


@dataclasses.dataclass
class Page:
    title: str
    lines: list[str]

    @property
    def length(self) -> int:
        return len(self.lines)


@dataclasses.dataclass(slots=True)
class Slotted:
    title: str


class Model(pydantic.BaseModel):
    title: str
    page: Page | None = None


class Open(pydantic.BaseModel, extra="allow"):
    title: str


class Sized(Model):
    size: int = 0


@final
class Last: ...


class Plain: ...


class Tagged(str):
    """A subclass of str that is of another class, too: both are possible, then."""


class Tag: ...


class Both(Tag, str): ...


class Point(NamedTuple):
    x: int
    y: int


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (int, str),
        (bytes, str),
        (None, str),
        (float, str),
        (bool, str),
        (dict, list),
        (datetime.date, str),
        (decimal.Decimal, float),
        (uuid.UUID, int),
        (str, pathlib.Path),
        (int | None, str),
        (Optional[int], Union[str, bytes]),  # noqa: UP007, UP045  # the old spelling is another object
        (list[int], list[str]),
        (list[int], Sequence[str]),
        (list[list[int]], list[list[str]]),
        (list[str], dict[str, str]),
        (list[str], str),
        (list[str], tuple[str, ...]),
        (str, Sequence[int]),
        (dict[str, int], dict[str, str]),
        (dict[int, str], Mapping[str, str]),
        (dict[int, str], Iterable[str]),
        (tuple[int, str], tuple[int, int]),
        (tuple[int, str], tuple[int, str, str]),
        (tuple[int, str], tuple[int, ...]),
        (Literal["a"], Literal["b"]),
        (Literal["a"], int),
        (Literal[1], str),
        (Literal["low"], Level),
        (Level, Word),
        (Level, str),
        (Level, Literal["low"]),
        (Draft, str),
        (Draft, list),
        (Page, str),
        (Model, str),
        (Model, dict),
        (Slotted, str),
        (Slotted, Model),
        (Last, Plain),
        (Plain, str),
        (UserId, str),
        (Annotated[int, "any"], str),
        (Names, list[int]),
        (Callable[[], int], str),
        (type[int], int),
        (collections.deque[int], list[int]),
    ],
)
def test_types_without_a_common_value(a: Any, b: Any) -> None:
    assert disjoint(a, b)
    assert disjoint(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (int, float),
        (int, complex),
        (float, int),  # what is declared float may be an int
        (bool, int),
        (bool, float),
        (int, int | str),
        (str | None, str),
        (str | None, int | None),
        (Any, str),
        (object, str),
        (T, str),
        (Reads, str),
        (typing.SupportsInt, str),
        ("Unresolved", str),
        (list[typing.ForwardRef("Unresolved")], list[str]),  # type: ignore[misc]
        (list, list[str]),
        (list[Any], list[str]),
        (list[int], list[float]),
        (list[int | str], list[str]),
        (list[str], Sequence[str]),
        (list[str], Iterable[object]),
        (str, Sequence[str]),
        (dict, dict[str, int]),
        (dict[str, int], Mapping[str, Any]),
        (dict[str, int], Iterable[str]),
        (Draft, dict),
        (Draft, dict[str, Any]),
        (Draft, Mapping[str, object]),
        (tuple[int, str], tuple),
        (tuple[int, str], tuple[int, Any]),
        (tuple[int, ...], tuple[int, int]),
        (Point, tuple[int, int]),
        (Literal["a", "b"], Literal["b"]),
        (Literal["a"], str),
        (Literal[1], float),
        (Literal["low"], Word),
        (Word, str),
        (Level, Literal[Level.LOW]),
        (Model, Sized),
        (Model, Page),  # a class may derive from both
        (Model, Open),
        (Page, Plain),
        (Plain, Sequence),
        (Tag, str),  # `Both` does derive from both
        (Tagged, str),
        (str, pydantic.EmailStr),  # validates to a str
        (str, pydantic.SecretStr),
        (str, pydantic.AnyUrl),
        (UserId, int),
        (Annotated[int, ["not hashable"]], int),
        (Names, list[str]),
        (Names2[int], list[str]),  # not unpacked
        (pydantic.JsonValue, list[Any]),
        (pydantic.JsonValue, str),
        (typing.NoReturn, str),
        (Callable[[], int], Callable[[], str]),
        (pathlib.Path, pathlib.PurePath),
    ],
)
def test_types_that_may_share_a_value(a: Any, b: Any) -> None:
    assert not disjoint(a, b)
    assert not disjoint(b, a)


CLASSES = [str, bytes, int, float, list, dict, tuple, set, bool, type(None), datetime.date, decimal.Decimal]
CLASSES += [pathlib.Path, uuid.UUID, Page, Slotted, Model, Last, Plain, Tag, Both, Level, Point, Exception, OSError]


@pytest.mark.parametrize(("a", "b"), list(itertools.permutations(CLASSES, 2)))
def test_no_class_can_be_made_of_two_whose_layouts_conflict(a: type, b: type) -> None:
    if not disjoint(a, b) or {a, b} & {Plain, Page, Tag}:  # these are told by what is loaded
        return
    if Last in (a, b) or issubclass(a, enum.Enum) or issubclass(b, enum.Enum):
        return  # final by decree
    metaclass = type(a) if issubclass(type(a), type(b)) else type(b)
    with pytest.raises(TypeError):
        metaclass("Impossible", (a, b), {})


VALUES: list[tuple[Any, list[Any]]] = [
    (1, [int, float, Literal[1], int | None, Any, UserId, Annotated[int, 1]]),
    ("low", [str, Literal["low", "high"], str | None, Sequence[str]]),
    (True, [bool, int, Literal[True]]),
    (None, [None, str | None, Literal[None]]),
    ([1], [list, list[int], Sequence[int], Iterable[float], list[int | str]]),
    ({"title": "x"}, [dict, Draft, dict[str, str], Mapping[str, object]]),
    ((1, 2), [tuple, tuple[int, int], tuple[int, ...], Sequence[int]]),
    (Level.LOW, [Level, Literal[Level.LOW], enum.Enum]),
    (Point(1, 2), [Point, tuple[int, int], tuple]),
    (Both("x"), [Both, Tag, str]),
    (Sized(title="x"), [Sized, Model, pydantic.BaseModel, Reads | Model]),
]


@given(st.sampled_from(VALUES).flatmap(lambda row: st.tuples(st.sampled_from(row[1]), st.sampled_from(row[1]))))
def test_types_of_one_value_are_never_disjoint(pair: tuple[Any, Any]) -> None:
    assert not disjoint(*pair)


@pytest.mark.parametrize(
    ("hint", "values"),
    [
        (Literal["a", "b"], ("a", "b")),
        (Literal["a"] | None, ("a", None)),
        (Level, (Level.LOW, Level.HIGH)),
        (bool, (True, False)),
        (Annotated[Literal[1, 2], "any"], (1, 2)),
        (Bits, None),
        (str, None),
        (Literal["a"] | str, None),
        (Any, None),
        (T, None),
    ],
)
def test_the_values_of_a_type(hint: Any, values: tuple[Any, ...] | None) -> None:
    assert cases_of(hint) == values


@pytest.mark.parametrize(
    ("hint", "key", "part"),
    [
        (Draft, "title", str),
        (Draft, "score", float),
        (Page, "lines", list[str]),
        (Page, "length", Any),
        (Model, "title", str),
        (Model, "page", Page | None),
        (Model | None, "title", str),
        (Open, "whatever", Any),
        (dict[str, int], "any", int),
        (dict, "any", Any),
        (list[int], 0, int),
        (list[int], "0", int),
        (tuple[int, str], 1, str),
        (tuple[int, str], 7, Any),
        (list[int], "first", Any),
        (str, 0, Any),
        (Any, "x", Any),
        (int | str, "x", Any),
        (Point, "x", Any),
    ],
)
def test_the_type_of_a_part(hint: Any, key: str | int, part: Any) -> None:
    assert part_of(hint, key) == part


@pytest.mark.parametrize("hint", [Draft, Page, Model, Sized])
def test_a_part_that_is_not_there_names_those_that_are(hint: Any) -> None:
    with pytest.raises(LookupError, match=r"has no field 'titel': it has title"):
        part_of(hint, "titel")


@pytest.mark.parametrize(
    ("hint", "element"),
    [(list[int], int), (Sequence[str], str), (tuple[int, ...], int), (tuple[int, str], Any), (list, Any), (Any, Any)],
)
def test_the_type_of_the_elements(hint: Any, element: Any) -> None:
    assert element_of(hint) == element
