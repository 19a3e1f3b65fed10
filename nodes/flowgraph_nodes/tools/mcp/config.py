"""Files of servers as other clients write them: `{"mcpServers": {"time": {"command": "uvx", "args": […]}}}`.

A value may hold `${NAME}`, `${NAME:-default}` or `${env:NAME}`, which are taken from the environment. Keys that are
other clients' own are left alone; `allow`, `deny`, `prefix`, `rename` and `required` are ours.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from flowgraph_nodes.tools.mcp.errors import McpConfigError

_TAKEN: Final = ("command", "args", "env", "cwd", "url", "headers", "allow", "deny", "prefix", "rename", "required")
_TRANSPORTS: Final = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}
_VARIABLE: Final = re.compile(r"\$\{(?:env:)?(?P<name>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\}")


def read_config(source: str | Path | Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The options of each server by its name, those that are disabled left out.

    Raises:
        McpConfigError: the file cannot be read, is no JSON, or names an unknown transport or unset variable.
    """
    found = source if isinstance(source, Mapping) else _from_file(Path(source))
    servers = found.get("mcpServers", found.get("servers"))
    where = "the configuration" if isinstance(source, Mapping) else str(source)
    if not isinstance(servers, Mapping) or not all(isinstance(item, Mapping) for item in servers.values()):
        raise McpConfigError(f'{where}: no MCP servers; it must look like {{"mcpServers": {{"name": {{…}}}}}}')
    return {str(name): read_server(item, str(name)) for name, item in servers.items() if not item.get("disabled")}


def read_server(item: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The options of one server, as `Settings` takes them. Raises McpConfigError."""
    options = {key: _expanded(item[key], f"MCP server '{name}': {key}") for key in _TAKEN if item.get(key) is not None}
    kind = item.get("type", item.get("transport"))
    if "httpUrl" in item:
        kind, options["url"] = "http", _expanded(item["httpUrl"], f"MCP server '{name}': httpUrl")
    if kind is None and urlsplit(str(options.get("url", ""))).path.rstrip("/").endswith("/sse"):
        kind = "sse"
    if kind is not None:
        if kind not in _TRANSPORTS:
            raise McpConfigError(f"MCP server '{name}': type {kind!r} is none of {', '.join(_TRANSPORTS)}")
        options["transport"] = _TRANSPORTS[kind]
    options.setdefault("args", ())
    return {**options, "name": name}


def _from_file(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise McpConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise McpConfigError(f"{path}: is no JSON: {error}") from None
    return found if isinstance(found, Mapping) else {}


def _expanded(value: Any, where: str) -> Any:
    """The value with the environment's values in place of `${NAME}`, at any depth."""
    if isinstance(value, Mapping):
        return {str(key): _expanded(item, where) for key, item in value.items()}
    if isinstance(value, list):
        return [_expanded(item, where) for item in value]
    if not isinstance(value, str):
        return value

    def found(match: re.Match[str]) -> str:
        text = os.environ.get(match["name"], match["default"])
        if text is None:
            raise McpConfigError(f"{where}: the environment has no {match['name']}")
        return text

    return _VARIABLE.sub(found, value)
