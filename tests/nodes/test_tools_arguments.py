"""Arguments as models write them: empty, broken, doubly encoded, values as JSON text."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import enum
import json
import uuid
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from flowgraph_nodes.errors import ArgumentsError
from flowgraph_nodes.messages import ToolCall
from flowgraph_nodes.tools import Toolbox, ToolContext, tool
from flowgraph_nodes.tools.arguments import parsed
from flowgraph_nodes.tools.result import BAD_ARGUMENTS


class Recorder:
    """Tools that record what they were called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.box = Toolbox([self.optional, self.required, self.typed])

    def optional(self, a: int = 1, b: str = "x") -> str:
        self.calls.append((a, b))
        return "ran"

    def required(self, a: int) -> str:
        self.calls.append((a,))
        return "ran"

    def typed(
        self,
        number: int = 0,
        items: list[int] | None = None,
        table: dict[str, Any] | None = None,
        flag: bool = False,
        text: str = "",
        mixed: str | list[str] = "",
    ) -> tuple[Any, ...]:
        value = (number, items, table, flag, text, mixed)
        self.calls.append(value)
        return value

    async def run(self, name: str, arguments: Any) -> Any:
        return await self.box.run_call(ToolCall("1", name, arguments))


@pytest.mark.anyio
@pytest.mark.parametrize("arguments", ["", "  ", "\n", None, "{}", "null", " null ", '""', '"null"', '"{}"'])
async def test_c29_no_arguments_run_once_with_defaults(arguments: str | None) -> None:
    recorder = Recorder()
    result = await recorder.run("optional", arguments)
    assert (result.text, recorder.calls) == ("ran", [(1, "x")])


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["optional", "required"])
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("[]", "one JSON object, not array"),
        ("3", "one JSON object, not integer"),
        ("true", "one JSON object, not boolean"),
        ('"[]"', "one JSON object, not array"),
        ('{"a":', "not valid JSON"),
        ("{'a': 1}", "not valid JSON"),
        ("a=1", "not valid JSON"),
        ('{"a": 1} {"a": 2}', "not valid JSON"),
        ('{"a": ' + "9" * 5000 + "}", "not valid JSON"),
        ("[" * 100_000, "not valid JSON|nested too deeply"),
        ('{"a": 1, "c": 2}', r"c: no such argument \(arguments: a"),
        ('{"a": "many"}', "a: Input should be a valid integer"),
    ],
)
async def test_c29_wrong_arguments_are_an_error_result(name: str, arguments: str, problem: str) -> None:
    recorder = Recorder()
    result = await recorder.run(name, arguments)
    assert recorder.calls == []
    assert not result.ok
    assert result.failure.kind == BAD_ARGUMENTS
    assert result.text.startswith("Error (BadArguments): ")
    with pytest.raises(AssertionError, match=problem):
        raise AssertionError(result.text)


@pytest.mark.anyio
@pytest.mark.parametrize("arguments", ["", "{}", "null", '""'])
async def test_c29_a_required_argument_is_never_made_up(arguments: str) -> None:
    recorder = Recorder()
    result = await recorder.run("required", arguments)
    assert recorder.calls == []
    assert result.text == "Error (BadArguments): a: is missing (arguments: a)"


def test_c29_of_a_repeated_key_the_last_holds() -> None:
    assert parsed('{"a": 1, "a": 2}') == {"a": 2}


@given(st.text(max_size=30))
def test_c29_any_text_is_an_object_or_an_error(text: str) -> None:
    with contextlib.suppress(ArgumentsError):
        assert isinstance(parsed(text), dict)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "given_text", "expected"),
    [
        ("number", "4", 4),
        ("number", "-4", -4),
        ("items", "[1,2]", [1, 2]),
        ("items", '["1", 2]', [1, 2]),
        ("items", "null", None),
        ("table", '{"a": {"b": "[1]"}}', {"a": {"b": "[1]"}}),
        ("flag", "false", False),
        ("flag", "true", True),
        ("text", "4", "4"),
        ("text", "[1,2]", "[1,2]"),
        ("text", "null", "null"),
        ("text", '"quoted"', '"quoted"'),
        ("mixed", '["a"]', '["a"]'),
    ],
)
async def test_c33_json_text_in_place_of_a_value(name: str, given_text: str, expected: Any) -> None:
    recorder = Recorder()
    names = ["number", "items", "table", "flag", "text", "mixed"]
    for arguments in (json.dumps({name: given_text}), json.dumps(json.dumps({name: given_text}))):
        result = await recorder.run("typed", arguments)
        value = result.value[names.index(name)]
        assert (value, type(value)) == (expected, type(expected))


@pytest.mark.anyio
async def test_c33_unwraps_once_only_and_in_nested_places_too() -> None:
    recorder = Recorder()
    assert not (await recorder.run("typed", json.dumps({"items": json.dumps(json.dumps([1]))}))).ok
    assert not (await recorder.run("typed", json.dumps(json.dumps(json.dumps({"number": 1}))))).ok

    class Filter(BaseModel):
        ids: list[int]
        size: int = 3

    @tool
    def search(filters: list[Filter], either: int | list[int] = 0) -> list[Any]:
        return [*((f.ids, f.size) for f in filters), either]

    text = json.dumps({"filters": [json.dumps({"ids": "[1, 2]"}), {"ids": [3], "size": None}], "either": "[5]"})
    result = await Toolbox([search]).run_call(ToolCall("1", "search", text))
    assert result.value == [([1, 2], 3), ([3], 3), [5]]


class Colour(enum.Enum):
    RED = "red"


class Person(BaseModel):
    name: str
    boss: Person | None = None


@pytest.mark.anyio
async def test_values_are_coerced_to_the_annotated_types() -> None:
    @tool
    def take(
        when: datetime.datetime,
        key: uuid.UUID,
        price: decimal.Decimal,
        colour: Colour,
        path: Path,
        words: set[str],
        pair: tuple[int, str],
        person: Person,
        mode: Literal["a", "b"] = "a",
        limit: int = Field(default=5, le=9),
    ) -> list[Any]:
        return [when, key, price, colour, path, words, pair, person, mode, limit]

    text = json.dumps(
        {
            "when": "2026-01-02T03:04:05Z",
            "key": "12345678-1234-5678-1234-567812345678",
            "price": "1.10",
            "colour": "red",
            "path": "a/b",
            "words": ["x", "x"],
            "pair": [1, "y"],
            "person": {"name": "Ann", "boss": {"name": "Bob"}},
        }
    )
    result = await Toolbox([take]).run_call(ToolCall("1", "take", text))
    assert result.value == [
        datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
        uuid.UUID("12345678-1234-5678-1234-567812345678"),
        decimal.Decimal("1.10"),
        Colour.RED,
        Path("a/b"),
        {"x"},
        (1, "y"),
        Person(name="Ann", boss=Person(name="Bob")),
        "a",
        5,
    ]


@pytest.mark.anyio
async def test_positional_only_keyword_only_and_open_parameters() -> None:
    def call(a: int, b: int = 2, /, c: int = 3, *, d: int = 4, ctx: ToolContext, **rest: Any) -> list[Any]:
        return [a, b, c, d, ctx.call.id, rest]

    result = await Toolbox([call]).run_call(ToolCall("x", "call", '{"a": 1, "d": "5", "e": 6, "f0": 7, "ctx": 8}'))
    assert result.value == [1, 2, 3, 5, "x", {"e": 6, "f0": 7}]


@pytest.mark.anyio
async def test_models_and_ready_schemas_read_arguments_too() -> None:
    class Ticket(BaseModel):
        title: str
        votes: list[int] = []

    def file_ticket(ticket: Ticket, ctx: ToolContext) -> str:
        return f"{ticket.title} {ctx.deps}"

    schema = {
        "type": "object",
        "properties": {"n": {"type": ["integer", "null"]}, "s": {"type": "string"}, "l": {"type": "array"}, "x": {}},
        "required": ["n"],
        "additionalProperties": False,
    }
    box = Toolbox([Ticket, tool(file_ticket, schema=Ticket), tool(lambda **given: given, name="ready", schema=schema)])

    async def run(name: str, text: str) -> Any:
        return await box.run_call(ToolCall("1", name, text), deps="deps")

    assert (await run("Ticket", '{"title": "a", "votes": "[1]"}')).value == Ticket(title="a", votes=[1])
    assert (await run("file_ticket", '{"title": "a"}')).value == "a deps"
    assert (await run("file_ticket", "{}")).text == "Error (BadArguments): title: is missing (arguments: title, votes)"
    read = (await run("ready", '{"n": "4", "s": "4", "l": "[1]", "x": "4"}')).value
    assert read == {"n": 4, "s": "4", "l": [1], "x": "4"}
    assert (await run("ready", '{"n": "[4]"}')).value == {"n": "[4]"}
    wrong = await run("ready", '{"y": 1}')
    assert wrong.text == "Error (BadArguments): n: is missing; y: no such argument (arguments: n, s, l, x)"


@pytest.mark.anyio
async def test_names_that_look_like_secrets_stay_readable_in_argument_errors() -> None:
    def login(token: int, password: int) -> None:
        raise AssertionError("not to be called")

    result = await Toolbox([login]).run_call(ToolCall("1", "login", '{"token": "x"}'))
    assert result.text == (
        "Error (BadArguments): token: Input should be a valid integer, unable to parse string as an integer; "
        "password: is missing (arguments: token, password)"
    )


@pytest.mark.anyio
async def test_a_validator_that_raises_something_else_is_an_error_result() -> None:
    from pydantic import AfterValidator

    def explode(value: int) -> int:
        raise KeyError("odd")

    def take(a: int) -> int:
        return a

    from typing import Annotated

    take.__annotations__["a"] = Annotated[int, AfterValidator(explode)]
    result = await Toolbox([take]).run_call(ToolCall("1", "take", '{"a": 1}'))
    assert result.text == "Error (KeyError): 'odd'"
