"""The codec: what is stored comes back equal and of its type, or is refused; errors, details, digests, secrets."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, TypeVar
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, RootModel, SecretBytes, SecretStr, field_validator
from pydantic import field_serializer as serializer_of
from typing_extensions import TypedDict

import flowgraph as fg
from flowgraph.codec import Withheld, decode, decode_error, digest, encode, encode_detail, encode_error, holds_secret
from flowgraph.errors import NotStorable, Problem, RecordedError, StoreError, words_of

T = TypeVar("T")


class Color(Enum):
    RED = 1
    BLUE = "b"


class Word(StrEnum):
    YES = "yes"


class Level(IntEnum):
    LOW = 1


class Right(Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    name: str = ""


@dataclass
class Inner:
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Outer:
    inner: Inner
    names: frozenset[str] = frozenset()
    data: bytes = b""


@dataclass
class SubInner(Inner):
    more: int = 0


@dataclass
class Box(Generic[T]):
    value: T


@dataclass(eq=False)
class NoEq:
    value: float


@dataclass
class OddEq:
    value: int

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not to be compared")


@dataclass
class Late:
    given: int
    late: int = field(default=0, init=False)


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Tree(BaseModel):
    name: str
    kids: list[Tree] = []


class GenericModel(BaseModel, Generic[T]):
    value: T


class Aliased(BaseModel):
    size: int = Field(alias="theSize")
    read: int = Field(default=0, validation_alias="in", serialization_alias="out")


class Growing(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def grow(cls, n: int) -> int:
        return n + 1


class Settled(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def strip(cls, name: str) -> str:
        return name.strip()


class Excluding(BaseModel):
    kept: int = 0
    left_out: int = Field(default=0, exclude=True)


class Private(BaseModel):
    kept: int = 0
    _own: int = PrivateAttr(default=0)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    known: int = 0


class Hexed(BaseModel):
    model_config = ConfigDict(ser_json_bytes="utf8", frozen=True)
    data: bytes
    number: float = 0.0


class Numbers(RootModel[list[int]]):
    pass


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"


@dataclass
class Accept:
    why: str


@dataclass
class Reject:
    why: str


@dataclass
class Anything:
    value: Any


class Revealing(BaseModel):
    key: SecretStr

    @serializer_of("key")
    def reveal(self, key: SecretStr) -> str:
        return key.get_secret_value()


class Plain:
    """No type of pydantic's, without equality."""


def private(own: int) -> Private:
    made = Private()
    made._own = own
    return made


STORED: list[tuple[Any, Any]] = [
    ("text", str),
    ("", str),
    ("ä€😀\x00\u2028", str),
    ("\ud800 alone", str),
    (10**300, int),
    (-1, int),
    (True, bool),
    (1.5, float),
    (math.inf, float),
    (-math.inf, float),
    (math.nan, float),
    (1, float),
    (None, None),
    (None, type(None)),
    ([1, "a", None, {"b": [1.5]}], Any),
    ([1, "a"], object),
    ({"a": [True, None], "n": math.inf}, dict[str, Any]),
    ([], list),
    ({}, dict),
    ([1, 2], list[int]),
    ({"a": {"b": None}}, dict[str, dict[str, int | None]]),
    (3, int | str),
    ("3", int | str),
    (None, int | None),
    ("a", Literal["a", "b"]),
    (b"\xff\x00", bytes),
    ({b"\xfe": 1}, dict[bytes, int]),
    ({1: "a"}, dict[int, str]),
    (Decimal("1.10"), Decimal),
    (datetime(2024, 2, 29, 12, 30, 1, 5), datetime),
    (datetime(2024, 2, 29, tzinfo=UTC), datetime),
    (datetime(2024, 2, 29, tzinfo=timezone(timedelta(hours=5, minutes=30))), datetime),
    (date(2024, 1, 1), date),
    (time(1, 2, 3), time),
    (timedelta(days=-1, microseconds=7), timedelta),
    (UUID(int=5), UUID),
    (Path("/a/b"), Path),
    (Color.RED, Color),
    (Color.BLUE, Color),
    (Word.YES, Word),
    (Level.LOW, Level),
    (Right.READ | Right.WRITE, Right),
    ({1, 2}, set[int]),
    (frozenset({"a"}), frozenset[str]),
    ((1, "a"), tuple[int, str]),
    ((1, 2, 3), tuple[int, ...]),
    (deque([1, 2]), deque[int]),
    (OrderedDict(a=1), OrderedDict[str, int]),
    ({"a": 1}, Mapping[str, int]),
    (Point(1, "p"), Point),
    ([Point(1)], list[Point]),
    (Inner((1, 2)), Inner),
    (Outer(Inner((1,)), frozenset({"a"}), b"\xff"), Outer),
    ({"a": Outer(Inner())}, dict[str, Outer]),
    (Box(datetime(2024, 1, 1)), Box[datetime]),
    (NoEq(1.5), NoEq),
    (NoEq(math.nan), NoEq),
    (OddEq(1), OddEq),
    (Late(1), Late),
    ({"title": "t"}, Movie),
    ({"title": "t", "year": 1}, Movie),
    (Tree(name="a", kids=[Tree(name="b")]), Tree),
    (GenericModel[Inner](value=Inner((1,))), GenericModel[Inner]),
    (Aliased.model_validate({"theSize": 3, "in": 4}), Aliased),
    (Settled(name=" a "), Settled),
    (Excluding(kept=3), Excluding),
    (Private(kept=1), Private),
    (Open.model_validate({"known": 1, "more": [1, {"a": None}]}), Open),
    (Hexed(data=b"\xff", number=math.nan), Hexed),
    ([Hexed(data=b"a", number=math.inf)], list[Hexed]),
    (Numbers([1, 2]), Numbers),
    ([Cat(), Dog()], list[Annotated[Cat | Dog, Field(discriminator="kind")]]),
    ([Accept("a"), Reject("a")], list[Accept | Reject]),
    (["a", Accept("a"), {"why": "a"}, None], list[Accept | str | dict[str, str] | None]),
    (["2024-01-01", datetime(2024, 1, 1)], list[datetime | str]),
    (["AAAA", b"AAAA", Decimal(1), 1, "1"], list[bytes | str | Decimal | int]),
    (Anything({"a": [1, "2024-01-01"]}), Anything),
    (fg.Usage(input_tokens=3, cost=0.1), fg.Usage),
    (fg.Outcome(fg.Status.SUCCEEDED, Inner((1,)), attempts=1, path="m[0]"), fg.Outcome[Inner]),
    (fg.Outcome(fg.Status.SKIPPED, reason=fg.Reason("skip", detail="x")), fg.Outcome[int]),
]

REFUSED: list[tuple[Any, Any]] = [
    ((1, 2), Any),
    ({"a": {1}}, Any),
    ({1: "a"}, Any),
    ([Inner()], Any),
    (Word.YES, Any),
    ([(1,)], list),
    ("\ud83d\ude00", str),
    (10**5000, int),
    ("text", int),
    (True, int),
    (Word.YES, str),
    ([Word.YES], list[str]),
    (SubInner((1,), 2), Inner),
    ([SubInner((1,))], list[Inner]),
    ([1, 2], tuple[int, ...]),
    (Growing(n=1), Growing),
    (Excluding(left_out=3), Excluding),
    (private(3), Private),
    (Open.model_validate({"more": (1,)}), Open),
    (Anything((1, 2)), Anything),
    (Anything(Inner()), Anything),
    (Plain(), Plain),
    (Plain(), Any),
    (print, Callable[..., Any]),
    (iter([1]), Any),
    ({(1, 2): 3}, dict[tuple[int, int], int]),
    (GenericModel[Any](value=(1,)), GenericModel[Any]),
    (Hexed.model_construct(data="no bytes"), Hexed),
]


def same(a: Any, b: Any) -> bool:
    """Equal, also where the class has no equality of its own, and NaN to NaN."""
    if isinstance(a, NoEq | OddEq):
        return same(a.value, b.value)
    if isinstance(a, float) and math.isnan(a):
        return math.isnan(b)
    if isinstance(a, Hexed):
        return a.data == b.data and same(a.number, b.number)
    return bool(a == b)


@pytest.mark.parametrize(("value", "type_"), STORED, ids=str)
def test_a_value_of_a_declared_type_comes_back(value: Any, type_: Any) -> None:
    text = encode(value, type_, "node")
    text.encode()
    back = decode(text, type_)
    assert type(back) is type(value)
    assert same(back, value)


@pytest.mark.parametrize(("value", "type_"), REFUSED, ids=lambda value: type(value).__name__)
def test_a_value_that_would_not_come_back_is_refused_naming_node_and_type(value: Any, type_: Any) -> None:
    with pytest.raises(NotStorable) as caught:
        encode(value, type_, "team/node")
    assert "'team/node' gave a value of type " + type(value).__qualname__ in str(caught.value)


def test_the_place_of_what_cannot_be_stored_is_named() -> None:
    with pytest.raises(NotStorable, match=r"something of type tuple at \['a'\]\[1\], but declares no type"):
        encode({"a": [1, (2,)]})
    with pytest.raises(NotStorable, match=r"at \[0\].value, tuple would become list"):
        encode([Anything((2,))], list[Anything])


def test_values_that_hold_themselves_or_are_too_deep_are_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (circle, deep):
        for type_ in (Any, list[Any], tuple[Any, ...] | list[Any]):
            with pytest.raises(NotStorable):
                encode(value, type_)
        assert digest(value) is None
        assert json.loads(encode_detail({"a": value, "b": 1}))["b"] == 1


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("{", Any),
        ('"a"', int),
        ("[1]", list[str]),
        ('{"sizes":"x"}', Inner),
        ("3", Color),
        ('{"n":1,', Growing),
        ("[" * 100_000, Any),
    ],
)
def test_a_text_that_does_not_fit_is_an_error_of_the_store(text: str, type_: Any) -> None:
    with pytest.raises(StoreError, match="does not fit"):
        decode(text, type_)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)


@given(PLAIN)
@settings(max_examples=150, deadline=None)
def test_plain_json_comes_back(value: Any) -> None:
    text = encode(value)
    assert repr(decode(text)) == repr(value)
    assert encode(Anything(value), Anything) == f'{{"value":{text}}}'


# -- secrets


@pytest.mark.parametrize(
    "value",
    [
        SecretStr("hunter2"),
        SecretBytes(b"hunter2"),
        [{"a": (SecretStr("hunter2"),)}],
        Revealing(key=SecretStr("hunter2")),
        Box(Revealing(key=SecretStr("hunter2"))),
        Anything({SecretStr("hunter2"): 1}),
    ],
)
def test_a_value_that_holds_a_secret_is_withheld(value: Any) -> None:
    assert holds_secret(value)
    for type_ in (type(value), Any):
        with pytest.raises(Withheld) as caught:
            encode(value, type_)
        assert "hunter2" not in caught.value.masked
        assert "**********" in caught.value.masked
    assert "hunter2" not in encode_detail({"a": value})
    assert digest(value) is not None


def test_secrets_do_not_count_in_digests() -> None:
    one, other = ({"a": Revealing(key=SecretStr(key)), "b": 1} for key in "xy")
    assert digest(one) == digest(other)
    assert not holds_secret({"a": [1, Inner(), Tree(name="x")]})


# -- errors


def again(error: BaseException) -> BaseException:
    """The error as another process has it."""
    return decode_error(json.loads(json.dumps(encode_error(error))))


def from_call(call: Callable[[], object]) -> Exception:
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("it did not raise")


class WithState(Exception):
    def __init__(self, code: int, *, why: str) -> None:
        self.code, self._why = code, why
        self.point, self.inner = (1, {2}), Inner((3,))
        self.key = SecretStr("hunter2")
        self.odd = Plain()
        super().__init__()

    def __str__(self) -> str:
        return f"{self.code} since {self._why}"


class Wordless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


ERRORS = [
    ValueError("a", 1),
    KeyError("k"),
    from_call(lambda: Path("/there/is/none").read_bytes()),
    from_call(lambda: b"\xff".decode()),
    from_call(lambda: {}["x"]),
    from_call(lambda: json.loads("{")),
    from_call(lambda: __import__("there_is_none")),
    StopIteration(3),
    TimeoutError(),
    fg.GraphError("g", [Problem("a", "b"), Problem("", "c", "warning")]),
    fg.LimitExceeded("too much"),
    fg.NodeTimeout("after 3 s"),
    fg.SubgraphFailed("sub failed", {"a": fg.NodeTimeout("x"), "b": ValueError("y")}),
    fg.Break({"a": (1, 2)}),
    fg.Break(),
    fg.Skip("why"),
    RecordedError("Odd", "text"),
    WithState(3, why="so"),
    Wordless(),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_comes_back_with_its_class_text_and_arguments(error: Exception) -> None:
    error.__notes__ = ["one", "two"]
    error.__cause__ = KeyError("below")
    back = again(error)
    assert type(back) is type(error)
    assert words_of(back) == words_of(error)
    assert repr(back.args) == repr(error.args)
    assert back.__notes__ == ["one", "two"]
    assert repr(back.__cause__) == "KeyError('below')"
    assert vars(back).keys() == vars(error).keys() or isinstance(error, WithState)


def test_the_parts_of_errors_come_back() -> None:
    missing, decoding = again(ERRORS[2]), again(ERRORS[3])
    assert isinstance(missing, FileNotFoundError)
    assert (missing.errno, missing.filename) == (2, "/there/is/none")
    assert isinstance(decoding, UnicodeDecodeError)
    assert (decoding.object, decoding.start, decoding.reason) == (b"\xff", 0, "invalid start byte")
    module = again(ERRORS[6])
    assert isinstance(module, ModuleNotFoundError)
    assert module.name == "there_is_none"
    group = again(ExceptionGroup("several", [ValueError("x"), ExceptionGroup("in", [KeyError("y")])]))
    assert isinstance(group, ExceptionGroup)
    assert [type(error) for error in group.exceptions] == [ValueError, ExceptionGroup]
    graph = again(ERRORS[9])
    assert isinstance(graph, fg.GraphError)
    assert graph.problems == (Problem("a", "b"), Problem("", "c", "warning"))
    assert isinstance(end := again(fg.Break()), fg.Break)
    assert end.value is fg.Break().value


def test_what_cannot_be_stored_of_an_error_is_none_and_secrets_are_left_out() -> None:
    error = WithState(3, why="so")
    assert "hunter2" not in json.dumps(encode_error(error))
    back = again(error)
    assert isinstance(back, WithState)
    assert (back.code, back.point, back.inner) == (3, (1, {2}), Inner((3,)))
    assert (back.key, back.odd) == (None, None)


def test_a_failed_run_comes_back_without_the_run() -> None:
    graph = fg.Graph("g")
    graph.add("a", lambda: 1 / 0)
    error = from_call(lambda: fg.run(graph))
    back = again(error)
    assert isinstance(back, fg.RunFailed)
    assert (str(back), back.run) == (str(error), None)
    assert isinstance(back.errors["a"], ZeroDivisionError)


def test_an_error_whose_class_is_not_to_be_had_is_stood_for() -> None:
    class Local(Exception):
        pass

    for error, kind in ((Local("text"), "Local"), (KeyboardInterrupt("text"), "KeyboardInterrupt")):
        error.add_note("a note")
        back = again(error)
        assert isinstance(back, RecordedError)
        assert (str(back), back.kind, back.__notes__) == (f"{kind}: text", kind, ["a note"])
    odd = again(KeyError(Plain()))
    assert isinstance(odd, RecordedError)
    assert isinstance(again(ValueError(Plain())), ValueError)


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"class": "os:system", "text": "x"},
        {"class": "antigravity:Error", "text": "x"},
        {"class": "builtins:SystemExit", "text": "x"},
        {"class": "builtins:int", "text": "1"},
        {"class": "flowgraph.errors:GraphError", "text": "other", "args": {"tuple": ["x"]}},
        {"class": "builtins:UnicodeDecodeError", "text": "x", "args": {"tuple": []}},
        {"class": "builtins:ValueError", "text": "x", "args": {"nonsense": []}},
    ],
)
def test_a_row_that_is_no_error_of_ours_becomes_a_recorded_one_and_loads_nothing(row: dict[str, Any]) -> None:
    assert isinstance(decode_error(row), RecordedError)
    assert "antigravity" not in sys.modules


def test_errors_that_hold_themselves_or_many_end() -> None:
    error = ValueError("loop")
    error.__cause__ = error
    error.me = [error]  # type: ignore[attr-defined]
    assert len(json.dumps(encode_error(error))) < 20_000
    assert str(again(error)) == "loop"


def test_outcomes_are_stored_with_their_errors() -> None:
    failed: fg.Outcome[Inner] = fg.Outcome(fg.Status.TIMED_OUT, error=fg.NodeTimeout("after 3 s"), path="m[1]")
    kept = [fg.Outcome(fg.Status.SUCCEEDED, Inner((1,))), failed]
    back = decode(encode(kept, list[fg.Outcome[Inner]]), list[fg.Outcome[Inner]])
    assert back == kept
    assert isinstance(back[1].error, fg.NodeTimeout)


def test_a_map_that_keeps_outcomes_declares_what_they_hold() -> None:
    def size(word: str) -> Inner:
        return Inner((len(word) // len(word),))

    graph = fg.Graph("g")
    graph.add("words", lambda: ["a", ""])
    graph.map("sizes", size, each={"word": "words"}, on_item_failure="keep")
    run = fg.run(graph)
    declared = list[fg.Outcome[Inner]]
    back = decode(encode(run["sizes"], declared), declared)
    assert back == run["sizes"]
    assert [type(outcome.error) for outcome in back] == [type(None), ZeroDivisionError]


# -- details


def test_details_become_what_json_can_hold() -> None:
    detail = {"a": (1, {2}), 3: Color.BLUE, "c": Outer(Inner((1,))), "d": date(2024, 1, 1), "e": Plain(), "f": print}
    written = json.loads(encode_detail(detail))  # type: ignore[arg-type]
    assert written["a"] == [1, [2]]
    assert (written["3"], written["d"], written["e"]) == ("b", "2024-01-01", "<Plain>")
    assert written["c"]["inner"] == {"sizes": [1]}


# -- digests

DIFFERENT: list[Any] = [
    None, True, 1, 1.0, "1", b"1", "", [], (), {}, set(), frozenset(), [1], (1,), {1}, ["a", "b"], ["ab"], [["a"], "b"],
    {"a": 1}, {"a": "1"}, {1: "a"}, ((1, 2), 3), (1, (2, 3)), [(1,)], [[1]], ({"a": 1, "b": (2,)},),
    date(2024, 1, 1), datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC), time(1), timedelta(1), timedelta(0, 1),
    UUID(int=1), Path("a"), Decimal(1), 1j, range(3), Color.RED, Color.BLUE, Word.YES, Level.LOW, Right.READ,
    Inner((1,)), SubInner((1,)), Accept("a"), Reject("a"), Point(1), Tree(name="a"), Tree(name="b"), private(1),
    private(2), len, print, str.upper, digest, Inner, Outer, ValueError("a"), ValueError("b"), [].append,
    math.inf, -math.inf, math.nan,
]  # fmt: skip


def test_different_values_have_different_digests_and_copies_the_same() -> None:
    digests = [digest(value) for value in DIFFERENT]
    assert None not in digests
    assert len(set(digests)) == len(DIFFERENT)
    for value, type_ in STORED:
        if not isinstance(value, str):  # halves of pairs
            assert digest(decode(encode(value, type_), type_)) == digest(value) is not None


def test_orders_of_dicts_and_sets_do_not_count() -> None:
    assert digest({"a": (1,), "b": 2}) == digest({"b": 2, "a": (1,)})
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})


def test_what_has_no_stable_form_has_no_digest() -> None:
    class Raising:
        __digest__ = property(lambda self: 1 / 0)

    for value in (Plain(), [Plain()], (x for x in ()), Raising(), {"a": Anything(Plain())}, {1, Plain()}):
        assert digest(value) is None


def test_an_object_may_have_its_own() -> None:
    class Own:
        def __digest__(self) -> str | None:
            return own

    own: str | None = "a"
    first = digest([Own()])
    assert first == digest([Own()])
    own = "b"
    assert first != digest([Own()])
    own = None
    assert digest([Own()]) is None


SOURCE = """
from datetime import date
from decimal import Decimal
from pathlib import Path
from flowgraph.codec import digest
import flowgraph as fg
words = ["alpha", "beta", "gamma", "delta"]
usage = fg.Usage(1, 2, cost=0.5)
print(digest({"s": set(words), "f": frozenset(words), "d": {w: (w,) for w in words}, "u": usage, "e": fg.Status.FAILED,
    "o": [len, fg.run, Path("a"), date(2024, 1, 1), Decimal("1.5"), b"x", 1.5, None]}))
"""


def test_digests_are_the_same_in_every_process() -> None:
    found = set()
    for seed in ("1", "2", "3"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", SOURCE],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
            env=environment,
            cwd=Path(fg.__file__).parents[1],
        )
        found.add(done.stdout)
    assert len(found) == 1
    assert len(found.pop().strip()) == 64


@given(PLAIN, st.randoms())
@settings(max_examples=100, deadline=None)
def test_shuffled_dicts_have_the_same_digest(value: Any, random: Any) -> None:
    def shuffled(part: Any) -> Any:
        if isinstance(part, dict):
            items = [(key, shuffled(item)) for key, item in part.items()]
            random.shuffle(items)
            return dict(items)
        return [shuffled(item) for item in part] if isinstance(part, list) else part

    assert digest(shuffled(value)) == digest(value)
    assert digest((shuffled(value),)) == digest((value,))
