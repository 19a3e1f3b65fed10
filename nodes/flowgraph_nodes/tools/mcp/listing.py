"""Reading a server's list of tools, page by page. What is wrong with one tool costs that tool, not the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jsonschema import SchemaError
from jsonschema.validators import validator_for
from mcp import ClientSession, McpError, types
from pydantic import ValidationError

from flowgraph_nodes.errors import ToolDefinitionError
from flowgraph_nodes.tools.mcp.names import Warn
from flowgraph_nodes.tools.schema import JsonSchema, checked_schema, over_parts

_MOST_PAGES: Final = 1_000


class _Page(types.Result):
    """A page whose tools are read one by one, so that a bad one does not spoil the page."""

    tools: list[Any] = []  # noqa: RUF012 - pydantic copies it
    nextCursor: str | None = None  # noqa: N815 - the protocol's name


async def list_tools(session: ClientSession, server: str, warn: Warn) -> list[types.Tool]:
    """Every tool of every page, in the server's order; those that cannot be used are left out with a warning.

    An empty cursor ends the list, as a missing one does. A cursor that comes again, or too many pages, end it with a
    warning; nothing is listed twice then. Raises the SDK's McpError.
    """
    raw: list[Any] = []
    seen: set[str] = set()
    cursor: str | None = None
    while True:
        page = await _page(session, cursor)
        raw += page.tools
        cursor = page.nextCursor
        if not cursor:
            break
        if cursor in seen or len(seen) >= _MOST_PAGES:
            raw = _each_once(raw)
            warn(f"MCP server '{server}': its list of tools does not end; {len(raw)} tools of {len(seen)} pages count")
            break
        seen.add(cursor)
    return [item for item in (_read(tool, server, warn) for tool in raw) if item is not None]


async def _page(session: ClientSession, cursor: str | None) -> _Page:
    params = None if cursor is None else types.PaginatedRequestParams(cursor=cursor)
    try:
        return await session.send_request(types.ClientRequest(types.ListToolsRequest(params=params)), _Page)
    except McpError as error:
        if error.error.code == types.METHOD_NOT_FOUND:  # a server of prompts or resources only
            return _Page()
        raise


def _each_once(raw: list[Any]) -> list[Any]:
    """The tools without repeats of a name; entries that have none are kept, to be refused one by one."""
    names = [item.get("name") if isinstance(item, Mapping) else None for item in raw]
    return [item for n, item in enumerate(raw) if names[n] is None or names[n] not in names[:n]]


def _read(raw: Any, server: str, warn: Warn) -> types.Tool | None:
    name = raw.get("name") if isinstance(raw, Mapping) else None
    try:
        tool = types.Tool.model_validate(raw)
        if not tool.name:
            raise ToolDefinitionError("it has no name")
        usable_schema(tool.inputSchema, tool.name)
    except ValidationError as error:
        fields = ", ".join(".".join(map(str, item["loc"])) or "it" for item in error.errors(include_url=False))
        warn(f"MCP server '{server}': its tool {name!r} is left out: not valid: {fields}")
    except ToolDefinitionError as error:
        warn(f"MCP server '{server}': its tool {name!r} is left out: {error}")
    else:
        return tool
    return None


def usable_schema(schema: Mapping[str, Any], name: str) -> JsonSchema:
    """The schema of a tool's arguments as the server gave it, definitions and references included.

    Raises:
        ToolDefinitionError: it is no schema of an object, or a reference in it leads nowhere.
    """
    checked = checked_schema(schema, name)
    try:
        validator_for(checked).check_schema(checked)
    except SchemaError as error:
        raise ToolDefinitionError(f"its schema is not valid: {error.message[:200]}") from None

    def check(part: Any) -> Any:
        if not isinstance(part, Mapping):  # true and false are schemas, too
            return part
        reference = part.get("$ref")
        if isinstance(reference, str) and not _leads_somewhere(reference, checked):
            raise ToolDefinitionError(f"its schema refers to {reference!r}, which is not there")
        return over_parts(part, check)

    check(checked)
    return checked


def _leads_somewhere(reference: str, root: Any) -> bool:
    if not reference.startswith("#/"):  # the root itself, an anchor, or another document: not ours to judge
        return True
    place = root
    for escaped in reference[2:].split("/"):
        key = escaped.replace("~1", "/").replace("~0", "~")
        if isinstance(place, list) and key.isdigit() and int(key) < len(place):
            place = place[int(key)]
        elif isinstance(place, Mapping) and key in place:
            place = place[key]
        else:
            return False
    return True
