"""What is known of a server before it is reached: where it is, what to tell it, which of its tools to offer."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import SecretStr

from flowgraph_nodes.redact import redacted
from flowgraph_nodes.tools.mcp.errors import McpConfigError

if TYPE_CHECKING:
    import httpx

Transport: TypeAlias = Literal["stdio", "http", "sse"]
TRANSPORTS: Final = ("stdio", "http", "sse")
Text: TypeAlias = str | SecretStr

_SECRET_NAME: Final = re.compile(r"key|token|secret|passw|credential|auth|cookie", re.IGNORECASE)
_PREFIX: Final = re.compile(r"[A-Za-z0-9_-]{1,32}")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Settings:
    """How to reach one server, and what to take from it. Values of `env` and `headers` are kept as secrets.

    command, args, env, cwd: of a server that is started as a process and spoken to over its standard streams.
    `command` alone may be a whole command line. The process gets `env` and a safe minimum (PATH, HOME …), never
    the whole environment.
    url, headers, bearer, auth: of a server that is reached over HTTP. `auth` is any `httpx.Auth`, such as the
    SDK's `OAuthClientProvider`.
    transport: "stdio", "http" (streamable HTTP) or "sse"; by default as `command` or `url` says.
    name: who it is in messages; by default the command's or the host's.
    allow, deny: patterns (`*` stands for anything) of the server's own tool names; a name must be allowed and not
    denied. prefix: put before every tool's name with a _; True means the server's name. rename: names to offer
    single tools under, by the server's own names; they get no prefix.
    required: False makes a server that cannot be reached a warning. connect_timeout: seconds to reach it and read its
    list of tools. timeout: seconds for one call, None for no limit.

    Raises McpConfigError.
    """

    command: str = ""
    args: Sequence[str] = ()
    env: Mapping[str, Text] = field(default_factory=dict)
    cwd: str | Path | None = None
    url: str = ""
    headers: Mapping[str, Text] = field(default_factory=dict)
    bearer: Text | None = None
    auth: httpx.Auth | None = None
    transport: Transport | None = None
    name: str = ""
    allow: Sequence[str] = ("*",)
    deny: Sequence[str] = ()
    prefix: str | Literal[True] = ""
    rename: Mapping[str, str] = field(default_factory=dict)
    required: bool = True
    connect_timeout: float = 30.0
    timeout: float | None = 60.0

    _hidden: frozenset[str] = field(init=False, default=frozenset())

    def __post_init__(self) -> None:
        given = {**self.env, **self.headers}
        words = [self.command, *self.args]
        if self.command and not self.args:
            words = _words(self.command)
        self._set(
            command=words[0] if words else "",
            args=tuple(words[1:]),
            # Of env and headers those that are secret by name or were given as such, before all of them are wrapped.
            _hidden=frozenset(k for k, v in given.items() if isinstance(v, SecretStr) or _SECRET_NAME.search(k)),
            env=_secrets(self.env),
            headers=_secrets(self.headers),
            bearer=None if self.bearer is None else _secret(self.bearer),
            transport=self.transport or ("stdio" if self.command else "http"),
            allow=_patterns(self.allow),
            deny=_patterns(self.deny),
            rename=dict(self.rename),
        )
        self._set(name=self.name or self._default_name())
        if problems := list(self._wrong()):
            raise McpConfigError(f"MCP server '{self.name}': {'; '.join(problems)}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {self.place}>"

    @property
    def place(self) -> str:
        """Where it is, without what may be secret: arguments, paths and queries."""
        if self.transport == "stdio":
            return Path(self.command).name
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")

    @property
    def process_env(self) -> dict[str, str]:
        """The given part of the process's environment, in clear."""
        return {name: _clear(value) for name, value in self.env.items()}

    @property
    def http_headers(self) -> dict[str, str]:
        """The headers of every request, in clear."""
        headers = {name: _clear(value) for name, value in self.headers.items()}
        if self.bearer is not None:
            headers["Authorization"] = f"Bearer {_clear(self.bearer)}"
        return headers

    def shown(self, text: object) -> str:
        """A text that may repeat anything it was given, such as an error or what the server wrote, without that."""
        given = [*map(_clear, self.env.values()), *self.http_headers.values(), self.url, *_in_url(self.url)]
        given += [word for value in self.http_headers.values() for word in value.split()]
        return redacted(str(text), *sorted(given, key=len, reverse=True))

    def masked(self, text: str) -> str:
        """A tool's result without what is certainly secret. (A folder in `env` must stay readable.)"""
        given = {**self.process_env, **self.http_headers}
        words = [word for name in (*self._hidden, "Authorization") for word in given.get(name, "").split()]
        for secret in sorted({*(given.get(name, "") for name in self._hidden), *words}, key=len, reverse=True):
            if len(secret) >= 6:  # as in `redacted`: shorter ones would tear words apart
                text = text.replace(secret, "***")
        return text

    def _default_name(self) -> str:
        if not self.url:
            return Path(self.command).name or "unnamed"
        return urlsplit(self.url).hostname or "unnamed"

    def _wrong(self) -> Iterator[str]:
        if bool(self.command) == bool(self.url):
            yield "give either a command or a url"
        elif self.transport not in TRANSPORTS:
            yield f"transport={self.transport!r} is none of {', '.join(TRANSPORTS)}"
        elif (self.transport == "stdio") != bool(self.command):
            yield f"transport={self.transport!r} does not go with a {'command' if self.command else 'url'}"
        if self.url and (urlsplit(self.url).scheme not in ("http", "https") or not urlsplit(self.url).hostname):
            yield "its url must begin with http:// or https:// and name a host"
        if self.command and (self.headers or self.bearer or self.auth):
            yield "headers, bearer and auth go with a url; a command gets env"
        if self.url and (self.env or self.cwd):
            yield "env and cwd go with a command; a url gets headers"
        if self.prefix is not True and self.prefix and not _PREFIX.fullmatch(self.prefix):
            yield f"prefix={self.prefix!r} must be up to 32 letters, digits, _ and -"
        if not self.connect_timeout > 0 or not (self.timeout is None or self.timeout > 0):
            yield "connect_timeout and timeout must be more than 0 seconds"

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


def _words(command: str) -> list[str]:
    if os.path.exists(command):  # a path with spaces in it
        return [command]
    try:
        return shlex.split(command)
    except ValueError as error:
        raise McpConfigError(f"an MCP server's command cannot be split into words: {error}") from None


def _patterns(given: Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _secrets(given: Mapping[str, Text]) -> dict[str, SecretStr]:
    return {name: _secret(value) for name, value in given.items()}


def _secret(value: Text) -> SecretStr:
    return value if isinstance(value, SecretStr) else SecretStr(str(value))


def _clear(value: Text) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def _in_url(url: str) -> Iterator[str]:
    """The parts of a URL that may be secret: a user's name and password, values of its query, a key in its path."""
    parts = urlsplit(url)
    for text in (parts.username or "", parts.password or ""):
        yield from (text, unquote(text))
    yield from (value for _, value in parse_qsl(parts.query))
    yield from (piece for piece in parts.path.split("/") if len(piece) >= 16)
