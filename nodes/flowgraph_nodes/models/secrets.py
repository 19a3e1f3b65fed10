"""What must not be shown of the settings of a call: keys, tokens and passwords, wherever they were given."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import SecretStr

_SECRET_NAME: Final = re.compile(r"key|token|secret|passw|credential|auth|header|cookie|query", re.IGNORECASE)
_SECRET_VARIABLE: Final = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)$", re.IGNORECASE)
_BASE_VARIABLE: Final = re.compile(r"(API_BASE|BASE_URL|ENDPOINT)$", re.IGNORECASE)
_PLAIN_WORD: Final = re.compile(r"[a-z]{1,12}([_ -][a-z]{1,12})*")
"""Values such as "medium": to mask them would only make errors about them unreadable."""
_URL_SECRETS: Final = (re.compile(r"//[^/@]*@"), re.compile(r"[?#][^\s'\"]*"))


def shown_url(url: str) -> str:
    """A URL, without the parts that may hold a password or token."""
    userinfo, query = _URL_SECRETS
    return query.sub("?***", userinfo.sub("//***@", url))


def secrets_of(api_key: str | None, api_base: str | None, extra: Mapping[str, Any]) -> list[str]:
    """Every secret of a call, those of the environment included: a provider may repeat any in its error."""
    found = {api_key or "", *_in_url(api_base or ""), *_in_environment()}
    for name, value in extra.items():
        found.update(_in_value(value, secret=bool(_SECRET_NAME.search(name))))
    return sorted(found - {""}, key=len, reverse=True)  # a longer one may hold a shorter one


def _in_value(value: Any, *, secret: bool) -> Iterator[str]:
    if isinstance(value, SecretStr):
        value, secret = value.get_secret_value(), True
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        if secret or not _PLAIN_WORD.fullmatch(value):
            yield from (value, *value.split(), *_in_url(value))  # "Bearer abc": abc alone is the secret, too
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _in_value(item, secret=secret or bool(_SECRET_NAME.search(str(name))))
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _in_value(item, secret=secret)


def _in_url(url: str) -> Iterator[str]:
    if "://" not in url:
        return
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    for text in (parts.username or "", parts.password or ""):
        yield from (text, unquote(text))
    for piece in (*parts.query.split("&"), parts.fragment):
        yield piece.partition("=")[2] or piece
    yield from (value for _, value in parse_qsl(parts.query))


def _in_environment() -> Iterator[str]:
    for name, value in os.environ.items():
        if _SECRET_VARIABLE.search(name):
            yield value
        elif _BASE_VARIABLE.search(name):
            yield from _in_url(value)
