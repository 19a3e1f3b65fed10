"""What an exception of a provider's client means: transient or permanent, and when to try again.

Classes are told by their names along the inheritance line, so that neither litellm nor httpx needs importing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from flowgraph_nodes.errors import (
    AuthenticationError,
    BadRequestError,
    ContextTooLongError,
    InvalidReplyError,
    ModelConfigError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelServerError,
    ModelTimeoutError,
    PermanentModelError,
    RateLimitError,
    TransientModelError,
)
from flowgraph_nodes.redact import redacted

_PREFIX: Final = re.compile(r"^\s*(litellm\.)?\w*(Error|Timeout|Exceeded)\s?(Error)?: ")
_TOO_LONG: Final = re.compile(
    r"context[_ ](length|size|window)|maximum context|prompt is too long|too many (input )?tokens|exceeds? .*context",
    re.IGNORECASE,
)
_NO_PROVIDER: Final = re.compile(r"LLM Provider NOT provided|Unmapped LLM provider", re.IGNORECASE)
_NO_MONEY: Final = re.compile(r"insufficient_quota|exceeded your current quota|billing", re.IGNORECASE)
_UNREADABLE: Final = "Invalid response object"
"""What litellm says of a reply that it cannot convert, before a traceback and the whole reply."""
_OF_ARGUMENTS: Final = "in handle_invalid_parallel_tool_calls"
_ERROR_LINE: Final = re.compile(r"^[\w.]*(?:Error|Exception)\b.*", re.MULTILINE)
_MISFIT: Final = re.compile(r"\d+ validation errors? for \w+\n")
_NOTHING: Final = re.compile(r"(\w*Exception -)?")
"""A message that litellm's sync client lost on the way."""
_TIMEOUTS: Final = frozenset({"Timeout", "APITimeoutError", "TimeoutException", "TimeoutError"})
_CONNECTIONS: Final = frozenset({"APIConnectionError", "TransportError", "ConnectionError"})


class UnreadableReplyError(Exception):
    """The provider's reply cannot be read; the message says why, in a line."""


class _ErrorInBodyError(Exception):
    """An error that came as the body of a reply with status 200."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.message = message
        self.status_code = status


def error_in(body: bytes) -> Exception | None:
    """The error that the JSON text is, as providers write them; None when it is none."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    error = data.get("error") if isinstance(data, dict) else None
    if not error:
        return None
    message, code = (error.get("message"), error.get("code")) if isinstance(error, dict) else (error, None)
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return _ErrorInBodyError(str(message or error), status)


def is_about_arguments(error: Exception) -> bool:
    """Whether a reply could not be read for the arguments of its calls, such as numbers of thousands of digits."""
    text = str(error)
    return _UNREADABLE in text and _OF_ARGUMENTS in text


def translated(error: Exception, model: str, secrets: Iterable[str] = ()) -> ModelError:
    """Our error for one of litellm's, openai's or httpx's; `secrets` are taken out of its message."""
    error = _innermost(error)
    status = _status(error)
    text = _message(error)
    if _is_unreadable(error, text):
        why = redacted(_why_unreadable(text), *secrets, limit=300)
        return InvalidReplyError(f"model '{model}': the reply is no valid chat completion: {why}", model=model)
    message = f"model '{model}': {redacted(text, *secrets) or type(error).__name__}"
    kind = _kind(error, status, text)
    if issubclass(kind, TransientModelError):
        return kind(message, model=model, status=status, retry_after=_retry_after(error))
    return kind(message, model=model, status=status)


def _kind(error: Exception, status: int | None, text: str) -> type[ModelError]:
    names = _names(error)
    if "LiteLLMUnknownProvider" in names or _NO_PROVIDER.search(text):
        return ModelConfigError
    if "ContextWindowExceededError" in names or (status in (400, 413, 422, 500) and _TOO_LONG.search(text)):
        return ContextTooLongError
    if status == 429:
        return AuthenticationError if _NO_MONEY.search(text) else RateLimitError
    if names & _TIMEOUTS or status == 408 or any(_names(cause) & _TIMEOUTS for cause in _causes(error)):
        return ModelTimeoutError
    if names & _CONNECTIONS or any(_names(cause) & _CONNECTIONS for cause in _causes(error)):
        return ModelConnectionError
    return _by_status(status)


def _by_status(status: int | None) -> type[ModelError]:
    match status:
        case 401 | 402 | 403:
            return AuthenticationError
        case 404:
            return ModelNotFoundError
        case 409 | 425:
            return ModelServerError
        case int() if status >= 500:
            return ModelServerError
        case int() if status >= 400:
            return BadRequestError
        case _:
            return PermanentModelError


def _is_unreadable(error: Exception, text: str) -> bool:
    if isinstance(error, UnreadableReplyError) or _UNREADABLE in text:
        return True
    return bool(_names(error) & _CONNECTIONS and _MISFIT.search(text))  # a chunk of a stream: no connection failed


def _why_unreadable(text: str) -> str:
    """The error in a line, without a traceback and what follows it."""
    if _UNREADABLE not in text:
        return text.partition("\n")[0]
    lines = _ERROR_LINE.findall(text.partition("\nreceived_args=")[0])
    return str(lines[-1]) if lines else "it could not be converted"


def _innermost(error: Exception) -> Exception:
    """The provider's error inside those that wrap it for a cut stream."""
    inner = getattr(error, "original_exception", None)
    return _innermost(inner) if isinstance(inner, Exception) else error


def _names(error: BaseException) -> set[str]:
    return {cls.__name__ for cls in type(error).__mro__}


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen = {id(error)}
    cause = error.__cause__ or error.__context__
    while cause is not None and id(cause) not in seen:
        yield cause
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__


def _status(error: Exception) -> int | None:
    try:
        return int(getattr(error, "status_code", None))  # type: ignore[arg-type]  # None is a TypeError
    except (TypeError, ValueError):
        return None


def _message(error: Exception) -> str:
    text = str(getattr(error, "message", "") or error)
    while match := _PREFIX.match(text):
        text = text[match.end() :]
    text = text.strip()
    if not _NOTHING.fullmatch(text):
        return text
    said = (str(getattr(cause, "message", "")) for cause in _causes(error))
    return " ".join([text, *filter(None, said)][:2])


def _retry_after(error: Exception) -> float | None:
    """The provider's wish in seconds, from the headers `retry-after-ms` and `retry-after` (seconds or a date)."""
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or {}
    own: Any = getattr(error, "litellm_response_headers", None) or getattr(error, "headers", None) or {}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name) or own.get(name)
        if value is None:
            continue
        try:
            return max(0.0, float(value) * unit)
        except ValueError:
            return _seconds_until(str(value))
    return None


def _seconds_until(date: str) -> float | None:
    try:
        then = parsedate_to_datetime(date)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (then - datetime.now(UTC)).total_seconds())
