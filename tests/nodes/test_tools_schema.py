"""Schemas of tools: from signatures, docstrings, pydantic models and ready ones; the strict form."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from flowgraph_nodes.errors import ToolDefinitionError
from flowgraph_nodes.messages import ToolCall
from flowgraph_nodes.tools import Tool, Toolbox, tool

SOURCE = '''
import dataclasses, datetime, decimal, enum, pathlib, typing, uuid
from typing import Literal, Optional, Union, TYPE_CHECKING
import pydantic, typing_extensions
{imports}

class User(pydantic.BaseModel):
    name: str
    friends: "list[User]" = []

class Colour(enum.Enum):
    RED = "red"

@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5

class Movie(typing_extensions.TypedDict):
    title: str

def target(
    user: User, ctx: {context}, nick: Optional[str], mode: Literal["a", "b"], path: pathlib.Path,
    when: datetime.datetime, day: datetime.date, key: uuid.UUID, price: decimal.Decimal, colour: Colour,
    point: Point, movie: Movie, pair: tuple[int, str], words: set[str], table: dict[str, list[int]],
    either: Union[int, list[str]], level: typing.Annotated[int, pydantic.Field(ge=1, le=3)], free, nothing: None = None,
    *, only: bool = False,
) -> "Nowhere":
    """Do it."""
'''


def module(postponed: bool, context: str = "ToolContext", imports: str = "") -> Any:
    source = SOURCE.format(context=context, imports=imports or "from flowgraph_nodes.tools import ToolContext")
    made = types.ModuleType("made_for_test")
    sys.modules["made_for_test"] = made  # dataclasses look there
    try:
        exec(("from __future__ import annotations\n" if postponed else "") + source, vars(made))
    finally:
        del sys.modules["made_for_test"]
    return made


def test_c30_postponed_annotations_make_the_same_schema_and_hide_the_context() -> None:
    plain, postponed = tool(module(False).target), tool(module(True).target)
    assert plain.parameters == postponed.parameters
    assert plain.context == postponed.context == "ctx"
    properties = plain.parameters["properties"]
    assert "ctx" not in properties
    assert plain.parameters["required"] == [name for name in properties if name not in ("nothing", "only")]
    assert properties["mode"]["enum"] == ["a", "b"]
    assert properties["level"] == {"type": "integer", "minimum": 1, "maximum": 3}
    assert properties["user"] == {"$ref": "#/$defs/User"}
    assert plain.parameters["$defs"]["User"]["properties"]["friends"]["items"] == {"$ref": "#/$defs/User"}


@pytest.mark.parametrize("context", ["ToolContext", "tools.ToolContext", "ToolContext | None", "Optional[ToolContext]"])
def test_c30_a_context_imported_for_type_checking_only_is_known_by_its_name(context: str) -> None:
    unseen = module(True, context, "if TYPE_CHECKING: from flowgraph_nodes.tools import ToolContext").target
    assert tool(unseen).parameters == tool(module(False).target).parameters
    assert tool(unseen).context == "ctx"


def test_c30_an_annotation_that_cannot_be_resolved_is_reported_at_registration() -> None:
    def lookup(key: Missing) -> str:  # type: ignore[name-defined]  # noqa: F821
        return ""

    for register in (tool, Toolbox().add, lambda target: Toolbox([target])):
        with pytest.raises(ToolDefinitionError, match="tool 'lookup': the annotation 'Missing' of parameter 'key'"):
            register(lookup)


def test_local_classes_that_the_function_closes_over_are_found() -> None:
    class Local(BaseModel):
        x: int

    def use(local: Local) -> Local:
        return Local(x=local.x)

    assert tool(use).parameters["properties"] == {"local": {"$ref": "#/$defs/Local"}}


def google(city: str, days: int = 3) -> None:
    """Weather of a city.

    Ask before a journey.

    Args:
        city: Where to look.
        days: How many days.
    """


def numpy_style(city: str, days: int = 3) -> None:
    """Weather of a city.

    Ask before a journey.

    Parameters
    ----------
    city : str
        Where to look.
    days : int
        How many days.
    """


def rest(city: str, days: int = 3) -> None:
    """Weather of a city.

    Ask before a journey.

    :param city: Where to look.
    :param days: How many days.
    """


def by_field(
    city: Annotated[str, Field(description="Where to look.")],
    days: int = Field(default=3, description="How many days."),
) -> None:
    """Weather of a city.

    Ask before a journey.

    Args:
        city: Not this one.
        days: Nor this.
    """


@pytest.mark.parametrize("target", [google, numpy_style, rest, by_field])
def test_names_and_descriptions_come_from_signature_and_docstring(target: Callable[..., Any]) -> None:
    made = tool(target)
    assert made.name == target.__name__
    assert made.description == "Weather of a city.\n\nAsk before a journey."
    assert made.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where to look."},
            "days": {"type": "integer", "description": "How many days.", "default": 3},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def test_every_kind_of_callable_will_do() -> None:
    class Finder:
        """Finds."""

        def method(self, word: str) -> str:
            """Find by method."""
            return word

        def __call__(self, word: str) -> str:
            return word

    def two(word: str, limit: int) -> str:
        """Find two."""
        return word * limit

    async def later(word: str) -> str:
        return word

    made = [tool(t) for t in (Finder().method, Finder(), functools.partial(two, limit=2), later)]
    assert [m.name for m in made] == ["method", "Finder", "two", "later"]
    assert [m.description for m in made] == ["Find by method.", "Finds.", "Find two.", ""]
    assert all(m.parameters["properties"] == {"word": {"type": "string"}} for m in made)
    named = tool(lambda word: word, name="echo", description="Says it again.")
    assert (named.name, named.description, named("hi")) == ("echo", "Says it again.", "hi")


def test_the_decorator_with_and_without_options_keeps_the_function_callable() -> None:
    @tool
    def add(a: int, b: int) -> int:
        return a + b

    @tool(name="sub", timeout=2, serial=True)
    def subtract(a: int, b: int) -> int:
        return a - b

    assert add(1, 2) == 3
    assert subtract(3, b=1) == 2
    assert (subtract.name, subtract.timeout, subtract.serial) == ("sub", 2, True)


def test_names_that_shadow_pydantic_are_plain_names() -> None:
    def odd(schema: int, model_config: int, copy: int, _private: int, json: int = 1, f0: int = 2) -> int:
        return schema + model_config + copy + _private + json + f0

    made = tool(odd)
    assert list(made.parameters["properties"]) == ["schema", "model_config", "copy", "_private", "json", "f0"]
    given = made.read({"schema": 1, "model_config": 1, "copy": 1, "_private": 1, "f0": 5})
    assert made.target(*given.args, **given.kwargs) == 10


def test_defaults_that_json_cannot_hold_are_left_out_and_stay_the_targets() -> None:
    marker = object()

    def find(what: Any = marker) -> bool:
        return what is marker

    made = tool(find)
    assert "default" not in made.parameters["properties"]["what"]
    assert made.target(**made.read({}).kwargs) is True


@pytest.mark.parametrize(
    ("target", "match"),
    [
        (lambda word: word, "'<lambda>' cannot be a tool's name"),
        (lambda: (yield), "cannot be a tool's name"),
        (3, "cannot make a tool of 3"),
        (tool(google), "cannot make a tool of"),
    ],
)
def test_what_cannot_be_a_tool_is_refused(target: Any, match: str) -> None:
    with pytest.raises(ToolDefinitionError, match=match):
        tool(target)


def test_parameters_without_a_schema_are_named() -> None:
    class Plain:
        pass

    def use(a: int, thing: Plain, back: Callable[[], int]) -> None:
        return None

    with pytest.raises(ToolDefinitionError, match="tool 'use': the type of parameter 'thing' has no JSON schema"):
        tool(use)
    with pytest.raises(ToolDefinitionError, match="is a generator function"):
        tool(lambda: (yield), name="stream")
    with pytest.raises(ToolDefinitionError, match="unbound method"):

        class Owner:
            @tool
            def method(self, x: int) -> int:
                return x


@pytest.mark.parametrize("name", ["", "a b", "naïve", "a.b", "x" * 65])
def test_names_that_providers_refuse_are_refused(name: str) -> None:
    with pytest.raises(ToolDefinitionError):
        tool(google, name=name)


def test_a_pydantic_model_and_a_ready_schema() -> None:
    class Ticket(BaseModel):
        """Open a ticket."""

        title: str
        tags: list[str] = []

    made = tool(Ticket)
    assert (made.name, made.description, made.parameters["required"]) == ("Ticket", "Open a ticket.", ["title"])
    schema = {
        "type": "object",
        "properties": {"definitions": {"$ref": "#/$defs/D"}},
        "$defs": {"D": {"type": "array", "items": {"$ref": "#/$defs/D"}}},
        "additionalProperties": False,
        "required": ["definitions"],
    }
    ready = tool(lambda **given: given, name="ready", schema=schema)
    assert ready.parameters == schema
    with pytest.raises(ToolDefinitionError, match="must be an object"):
        tool(lambda **given: given, name="ready", schema={"type": "array"})


def test_the_strict_form_is_closed_everywhere() -> None:
    class Node(BaseModel):
        value: int
        label: str = "x"
        children: list[Node] = []

    def grow(node: Node, depth: int = 2, note: str | None = None) -> int:
        """Grow.

        Args:
            node: Where.
        """
        return depth

    schema = tool(grow, strict=True).parameters
    assert schema["required"] == ["node", "depth", "note"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["depth"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert schema["properties"]["note"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    for node in (schema["properties"]["node"], schema["$defs"]["Node"]):
        assert node["required"] == ["value", "label", "children"]
        assert node["additionalProperties"] is False
        assert node["properties"]["children"]["anyOf"][0]["items"] == {"$ref": "#/$defs/Node"}
    assert schema["properties"]["node"]["description"] == "Where."
    assert tool(grow, strict=True).spec.to_wire()["function"]["strict"] is True
    assert "strict" not in tool(grow).spec.to_wire()["function"]


@pytest.mark.parametrize("hint", [dict[str, int], Any, dict])
def test_what_cannot_be_closed_is_refused_when_strict(hint: Any) -> None:
    def use(thing: Any) -> None:
        return None

    use.__annotations__["thing"] = hint
    tool(use)
    with pytest.raises(ToolDefinitionError, match="tool 'use' cannot be strict"):
        tool(use, strict=True)


@pytest.mark.anyio
async def test_strict_null_for_an_absent_optional_means_its_default() -> None:
    @tool(strict=True)
    def find(word: str, limit: int | None = 10, deep: bool = True) -> list[object]:
        return [word, limit, deep]

    result = await Toolbox([find]).run_call(ToolCall("1", "find", '{"word": "a", "limit": null, "deep": null}'))
    assert result.value == ["a", 10, True]


def test_a_tool_shows_neither_target_nor_schema() -> None:
    assert repr(tool(google)).startswith("Tool(name='google', description='Weather")
    assert "properties" not in repr(tool(google))
    assert isinstance(tool(google), Tool)
