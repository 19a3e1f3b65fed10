"""Descriptions of servers: URLs, commands, files of other clients, what is wrong with them, and what they hide."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from flowgraph_nodes import ReactAgent, ScriptedModel
from flowgraph_nodes.agents import AgentConfigError
from flowgraph_nodes.tools.mcp import McpConfigError, McpServer, mcp_servers
from flowgraph_nodes.tools.mcp.server import servers_of

MARKER = "marker-5ecret-79"


def test_a_command_line_is_split_into_words_and_a_path_with_spaces_is_not(tmp_path: Path) -> None:
    server = McpServer(command="npx -y '@scope/server files' /tmp")
    assert (server.command, server.args) == ("npx", ("-y", "@scope/server files", "/tmp"))
    (program := tmp_path / "my server").touch()
    assert (McpServer(command=str(program)).command, McpServer(command=str(program)).args) == (str(program), ())


def test_servers_are_made_of_urls_commands_files_and_what_is_in_them(tmp_path: Path) -> None:
    (file := tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"one": {"command": "a"}}}))
    things: list[Any] = [
        "https://example.org/mcp",
        "https://example.org/sse",
        "uvx mcp-server-time",
        file,
        str(file),
        {"command": "b", "args": ["c"]},
        {"mcpServers": {"two": {"url": "https://example.org"}}},
        McpServer(command="d", name="mine"),
    ]
    made = [(server.name, server.transport) for server in servers_of(things)]
    assert made == [
        ("example.org", "http"),
        ("example.org", "sse"),
        ("uvx", "stdio"),
        ("one", "stdio"),
        ("one", "stdio"),
        ("b", "stdio"),
        ("two", "http"),
        ("mine", "stdio"),
    ]
    assert [server.name for server in servers_of("uvx mcp-server-time")] == ["uvx"]


def test_a_file_of_other_clients_is_read_with_their_ways_to_say_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWGRAPH_TEST_TOKEN", MARKER)
    monkeypatch.delenv("FLOWGRAPH_TEST_UNSET", raising=False)
    servers = mcp_servers(
        {
            "mcpServers": {
                "local": {
                    "command": "run me",
                    "args": ["--root", "${FLOWGRAPH_TEST_UNSET:-/srv}"],
                    "env": {"TOKEN": "${env:FLOWGRAPH_TEST_TOKEN}"},
                    "alwaysAllow": ["*"],
                    "timeout": 60000,
                },
                "off": {"command": "x", "disabled": True},
                "remote": {"type": "streamable-http", "url": "https://example.org/", "headers": {"X-Key": "abc"}},
                "old": {"type": "sse", "url": "https://example.org/events"},
                "other": {"httpUrl": "https://example.org/sse"},
            }
        },
        prefix=True,
    )
    assert [server.name for server in servers] == ["local", "remote", "old", "other"]
    assert [server.transport for server in servers] == ["stdio", "http", "sse", "http"]
    assert servers[0].args == ("--root", "/srv")
    assert servers[0].process_env == {"TOKEN": MARKER}
    assert servers[1].http_headers == {"X-Key": "abc"}
    assert all(server.prefix is True for server in servers)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ({"mcpServers": {"x": {"command": "${FLOWGRAPH_TEST_UNSET}"}}}, "'x': command: the environment has no"),
        ({"mcpServers": {"x": {"url": "https://a.b", "type": "carrier-pigeon"}}}, "type 'carrier-pigeon' is none of"),
        ({"mcpServers": {"x": {"url": "a.b"}}}, "'x': its url must begin with http"),
        ({"mcpServers": {"x": {}}}, "'x': give either a command or a url"),
        ({"mcpServers": []}, "no MCP servers"),
        ({"servers": {"x": 1}}, "no MCP servers"),
    ],
)
def test_what_is_wrong_with_a_configuration_is_said_with_the_servers_name(source: Any, told: str) -> None:
    with pytest.raises(McpConfigError, match=told):
        mcp_servers(source)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(McpConfigError, match=r"absent\.json: cannot be read: No such file"):
        mcp_servers(tmp_path / "absent.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(McpConfigError, match=r"bad\.json: is no JSON"):
        mcp_servers(tmp_path / "bad.json")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "give either a command or a url"),
        ({"command": "a", "url": "https://b.c"}, "give either a command or a url"),
        ({"command": "a", "bearer": "t"}, "headers, bearer and auth go with a url"),
        ({"url": "https://b.c", "env": {"A": "b"}}, "env and cwd go with a command"),
        ({"url": "https://b.c", "transport": "stdio"}, "does not go with a url"),
        ({"command": "a", "transport": "fax"}, "transport='fax' is none of"),
        ({"command": "a", "prefix": "ä"}, "prefix='ä' must be"),
        ({"command": "a", "timeout": 0}, "more than 0 seconds"),
        ({"command": "a 'b"}, "cannot be split into words"),
    ],
)
def test_a_description_that_will_not_do_is_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(McpConfigError, match=told):
        McpServer(**settings)


def test_an_agent_says_what_is_wrong_with_its_servers_when_it_is_built() -> None:
    with pytest.raises(AgentConfigError, match="mcp: something of type int is no MCP server"):
        ReactAgent(model=ScriptedModel(["done"]), mcp=[3])  # type: ignore[list-item]
    with pytest.raises(AgentConfigError, match="mcp: mcp= wants servers"):
        ReactAgent(model=ScriptedModel(["done"]), mcp=3)  # type: ignore[arg-type]


def test_nothing_secret_is_in_a_repr_a_place_or_a_dump() -> None:
    remote = McpServer(
        url=f"https://ada:{MARKER}@example.org:8443/{MARKER}/mcp?key={MARKER}",
        headers={"X-Key": MARKER},
        bearer=SecretStr(MARKER),
    )
    local = McpServer(command=f"serve --key {MARKER}", env={"KEY": MARKER})
    assert repr(remote) == "<McpServer example.org: https://example.org:8443>"
    assert repr(local) == "<McpServer serve: serve>"
    assert remote.http_headers["Authorization"] == f"Bearer {MARKER}"
    for name in ("env", "headers", "bearer"):
        assert MARKER not in repr(getattr(remote, name)) + repr(getattr(local, name))
    assert MARKER not in remote.shown(f"cannot post to {remote.url} with {MARKER}")
    assert MARKER not in local.shown(f"KEY is {MARKER}")
    agent = ReactAgent(model=ScriptedModel(["done"]), mcp={"command": "a", "env": {"KEY": MARKER}})
    assert MARKER not in repr(agent) + repr(agent.mcp)


def test_folders_in_the_environment_stay_readable_in_results_and_keys_do_not() -> None:
    local = McpServer(command="a", env={"ROOT": "/srv/data", "API_KEY": MARKER, "PLAIN": SecretStr("hidden-words")})
    assert local.masked(f"/srv/data/{MARKER}.txt hidden-words") == "/srv/data/***.txt ***"
    headers = {"Accept": "application/json", "X-Key": "123456789"}
    remote = McpServer(url="https://example.org", headers=headers, bearer=MARKER)
    assert remote.masked(f"application/json {MARKER} 123456789") == "application/json *** ***"


def test_the_sdk_is_loaded_only_when_a_server_is_reached() -> None:
    code = """
import sys
from flowgraph_nodes import ReactAgent, ScriptedModel
agent = ReactAgent(model=ScriptedModel(["done"]), mcp="uvx mcp-server-time")
assert agent.problems() == []
assert not {"mcp", "httpx"} & set(sys.modules), "loaded"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
