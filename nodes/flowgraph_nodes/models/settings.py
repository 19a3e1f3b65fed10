"""The settings of a model call, and how levels of them lie over one another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from pydantic import SecretStr

from flowgraph_nodes.errors import ModelConfigError
from flowgraph_nodes.models.secrets import secrets_of, shown_url


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ModelSettings:
    """What is asked of the model beside the messages. None means unset; 0, "" and () are values.

    temperature, top_p, seed, max_tokens, stop: as the provider understands them.
    api_base: URL of the server. api_key: shown nowhere; give a str or a `SecretStr`.
    timeout: seconds for one call.
    extra: more arguments for litellm (`reasoning_effort`, `extra_headers` …); values are shown nowhere.

    Raises:
        ModelConfigError: a value is out of range, or `extra` holds a name that has a place of its own.
    """

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] | list[str] | str | None = None
    api_base: str | None = None
    api_key: SecretStr | str | None = None
    timeout: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.api_key, str):
            object.__setattr__(self, "api_key", SecretStr(self.api_key))
        if self.stop is not None:
            stop = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)
            object.__setattr__(self, "stop", stop)
        object.__setattr__(self, "extra", dict(self.extra))
        for name, wrong in (
            ("temperature", self.temperature is not None and self.temperature < 0),
            ("top_p", self.top_p is not None and not 0 <= self.top_p <= 1),
            ("max_tokens", self.max_tokens is not None and self.max_tokens < 1),
            ("timeout", self.timeout is not None and self.timeout <= 0),
        ):
            if wrong:
                raise ModelConfigError(f"ModelSettings({name}={getattr(self, name)!r}) is out of range")
        if clash := sorted(_RESERVED & self.extra.keys()):
            raise ModelConfigError(f"ModelSettings.extra may not hold {', '.join(clash)}: it has a place of its own")

    def over(self, lower: ModelSettings | None) -> ModelSettings:
        """These settings, with `lower` where they are unset; `extra` is merged by key."""
        if lower is None:
            return self
        merged: dict[str, Any] = {}
        for name in _NAMES:
            mine = getattr(self, name)
            merged[name] = getattr(lower, name) if mine is None else mine
        return ModelSettings(**merged, extra={**lower.extra, **self.extra})

    def secret(self) -> str | None:
        """The API key in clear text, for the call itself."""
        return self.api_key.get_secret_value() if isinstance(self.api_key, SecretStr) else self.api_key

    def secrets(self) -> list[str]:
        """Everything that errors about a call with these settings must not show, the longest first."""
        return secrets_of(self.secret(), self.api_base, self.extra)

    def __repr__(self) -> str:
        values = {name: getattr(self, name) for name in _NAMES}
        if isinstance(self.api_base, str):
            values["api_base"] = shown_url(self.api_base)
        shown = [f"{name}={value!r}" for name, value in values.items() if value is not None]
        if self.extra:
            shown.append(f"extra=<{', '.join(map(str, self.extra))}>")
        return f"ModelSettings({', '.join(shown)})"


_NAMES: Final = tuple(f.name for f in fields(ModelSettings) if f.name != "extra")
_RESERVED: Final = frozenset(_NAMES) | {
    "messages",
    "model",
    "response_format",
    "stream",
    "stream_options",
    "tool_choice",
    "tools",
    "num_retries",
    "max_retries",
    "fallbacks",
    "base_url",
}
