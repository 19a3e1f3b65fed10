"""Lists of tools: pages, names, patterns, schemas, and tools that are no tools (cases C34 to C36)."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from flowgraph_nodes import ReactAgent, ScriptedModel, call
from flowgraph_nodes.errors import DuplicateToolError
from flowgraph_nodes.tools.mcp import McpServer
from flowgraph_nodes.tools.mcp import listing as lists
from flowgraph_nodes.tools.mcp.connection import connected
from tests.nodes.mcp.servers import EMPTY, InProcess, listed, raw

pytestmark = pytest.mark.anyio


async def names(server: McpServer, warnings: list[str] | None = None) -> list[str]:
    """The names of a server's tools."""
    async with server.connect(warn=None if warnings is None else warnings.append) as connection:
        return [item.name for item in connection.tools()]


# -- C34: pages


async def test_all_pages_are_read_and_an_empty_cursor_is_the_end(in_process: InProcess) -> None:
    pages = {None: (["a", "b"], "2"), "2": (["c"], "3"), "3": (["d"], "")}

    def page(cursor: str | None) -> Any:
        found, following = pages[cursor]
        return [listed(name) for name in found], following

    warnings: list[str] = []
    assert await names(in_process.add("paged", page), warnings) == ["a", "b", "c", "d"]
    assert warnings == []


async def test_a_cursor_that_comes_again_ends_the_list_with_a_warning_and_no_tool_twice(in_process: InProcess) -> None:
    asked: list[str | None] = []

    def page(cursor: str | None) -> Any:
        asked.append(cursor)
        return [listed("a"), listed("b")], "again"

    warnings: list[str] = []
    assert await names(in_process.add("endless", page), warnings) == ["a", "b"]
    assert asked == [None, "again"]
    assert "'endless': its list of tools does not end" in warnings[0]


async def test_a_list_of_ever_new_cursors_ends(in_process: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "_MOST_PAGES", 5)
    warnings: list[str] = []

    def page(cursor: str | None) -> Any:
        number = int(cursor or 0)
        return [listed(f"tool{number}")], str(number + 1)

    assert len(await names(in_process.add("endless", page), warnings)) == 6
    assert len(warnings) == 1


# -- C35: names


def send(to: str) -> str:
    return f"local {to}"


async def test_the_same_name_from_two_servers_is_refused_and_both_are_named(in_process: InProcess) -> None:
    servers = [in_process.add(name, [listed("send")]) for name in ("A", "B")]
    agent = ReactAgent(model=ScriptedModel(["done"]), mcp=servers)
    with pytest.raises(DuplicateToolError, match="'send' of MCP server 'A' and 'send' of MCP server 'B'"):
        await agent.arun("go")


async def test_a_tool_of_the_agent_is_not_replaced_by_a_server(in_process: InProcess) -> None:
    agent = ReactAgent(model=ScriptedModel(["done"]), tools=[send], mcp=in_process.add("A", [listed("send")]))
    with pytest.raises(DuplicateToolError, match="'send' given to the agent and 'send' of MCP server 'A'"):
        await agent.arun("go")


async def test_a_server_that_lists_a_name_twice_is_refused(in_process: InProcess) -> None:
    with pytest.raises(DuplicateToolError, match="MCP server 'C' lists the tool 'send' twice"):
        await names(in_process.add("C", [listed("send"), listed("send")]))


async def test_names_that_are_one_after_the_clean_up_are_refused_and_can_be_renamed(in_process: InProcess) -> None:
    tools = [listed("a.b"), listed("a_b")]
    with pytest.raises(DuplicateToolError, match=r"'D': its tools 'a.b' and 'a_b' would both be called 'a_b'"):
        await names(in_process.add("D", tools))
    assert await names(in_process.add("D", tools, rename={"a.b": "dotted"})) == ["dotted", "a_b"]


async def test_a_clash_is_refused_also_of_a_server_that_is_not_required(in_process: InProcess) -> None:
    with pytest.raises(DuplicateToolError):
        await names(in_process.add("C", [listed("send"), listed("send")], required=False))


async def test_with_prefixes_each_call_reaches_its_own_server_under_its_own_name(in_process: InProcess) -> None:
    servers = [
        in_process.add("A", [listed("send")], prefix=True),
        in_process.add("B", [listed("send")], prefix="other"),
        in_process.add("D", [listed("a.b"), listed("a_b")], rename={"a.b": "dotted"}),
    ]
    calls = [
        call("send", to="x"),
        call("A_send", to="y"),
        call("other_send"),
        call("dotted", n=1),
        call("a_b"),
    ]
    model = ScriptedModel([calls, "done"])
    result = await ReactAgent(model=model, tools=[send], mcp=servers).arun("go")
    assert [message.content for message in result.messages[2:-1]] == [
        "local x",
        'A: send {"to": "y"}',
        "B: send {}",
        'D: a.b {"n": 1}',
        "D: a_b {}",
    ]


async def test_names_are_cleaned_up_for_providers_and_stay_apart_when_cut(in_process: InProcess) -> None:
    long = ["x" * 70 + "1", "x" * 70 + "2"]
    found = await names(in_process.add("long", [listed("räum auf!"), *map(listed, long)]))
    assert found[0] == "r_um_auf_"
    assert [len(name) for name in found[1:]] == [64, 64]
    assert found[1] != found[2]


async def test_patterns_allow_and_deny_by_the_servers_own_names_and_unused_ones_are_told(in_process: InProcess) -> None:
    tools = [listed(name) for name in ("read_file", "read_dir", "write_file")]
    warnings: list[str] = []
    server = in_process.add("files", tools, allow=["read_*", "raed"], deny="*_dir", prefix="fs")
    assert await names(server, warnings) == ["fs_read_file"]
    assert warnings == ["MCP server 'files' has no tool 'raed' (it has: read_file, read_dir, write_file)"]


# -- C36: schemas

SCHEMA = {
    "type": "object",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"value": {"$ref": "#/$defs/value"}, "next": {"$ref": "#/$defs/node"}},
        },
        "value": {"type": "integer"},
    },
    "properties": {
        "definitions": {"type": "array", "items": {"$ref": "#/$defs/node"}},
        "ctx": {"type": "string"},
        "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["definitions"],
    "additionalProperties": False,
}


async def test_schemas_keep_definitions_references_and_names(in_process: InProcess) -> None:
    async with in_process.add("S", [listed("walk", SCHEMA)]) as connection:
        (found,) = connection.tools()
    assert found.parameters == SCHEMA
    validator = Draft202012Validator(found.parameters)
    assert validator.is_valid({"definitions": [{"value": 1, "next": {"value": 2}}]})
    assert not validator.is_valid({"definitions": [{"value": 1, "next": {"value": "two"}}]})


async def test_arguments_of_any_name_reach_the_server(in_process: InProcess) -> None:
    given = {"definitions": [{"value": 1}], "ctx": "c", "arguments": {"self": "s"}}
    model = ScriptedModel([call("walk", **given), "done"])
    result = await ReactAgent(model=model, mcp=in_process.add("S", [listed("walk", SCHEMA)])).arun("go")
    assert '"ctx": "c"' in result.messages[2].content
    assert '"definitions": [{"value": 1}]' in result.messages[2].content


async def test_arguments_that_do_not_fit_are_an_error_result_without_a_call(in_process: InProcess) -> None:
    model = ScriptedModel([call("walk", unknown=1), "done"])
    result = await ReactAgent(model=model, mcp=in_process.add("S", [listed("walk", SCHEMA)])).arun("go")
    assert "definitions: is missing" in result.messages[2].content
    assert "unknown: no such argument" in result.messages[2].content


# -- tools that are none

BAD: list[Any] = [
    {"name": "good", "inputSchema": EMPTY},
    {"name": "no schema"},
    {"inputSchema": EMPTY},
    "not even an object",
    {"name": "list", "inputSchema": {"type": "array"}},
    {"name": "nonsense", "inputSchema": {"type": "object", "properties": {"a": {"type": "no type"}}}},
    {"name": "dangling", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}},
    {"name": "", "inputSchema": EMPTY},
    {"name": "odd", "inputSchema": {"properties": {"$ref": {"type": "string"}}}},
]


async def test_a_bad_tool_is_left_out_with_a_warning_and_the_others_work() -> None:
    warnings: list[str] = []
    server = raw(options={"tools": BAD})
    async with server.connect(warn=warnings.append) as connection:
        assert [item.name for item in connection.tools()] == ["good", "odd"]
        assert str(await connection.call("good")) == "good {}"
    assert len(warnings) == len(BAD) - 2
    assert "'raw': its tool 'no schema' is left out: not valid: inputSchema" in warnings[0]
    assert "#/$defs/none" in "".join(warnings)


async def test_a_server_without_tools_is_no_error(in_process: InProcess) -> None:
    assert await names(in_process.add("none", [])) == []


async def test_many_servers_are_opened_side_by_side(in_process: InProcess) -> None:
    servers = [in_process.add(f"S{n}", [listed(f"t{n}")]) for n in range(3)]
    async with connected(*servers) as connections:
        assert [connection.tools()[0].name for connection in connections] == ["t0", "t1", "t2"]
