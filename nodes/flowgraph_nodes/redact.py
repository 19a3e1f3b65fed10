"""Taking what looks like a secret out of texts that leave the process, such as error messages."""

from __future__ import annotations

import json
import re
from typing import Final
from urllib.parse import quote, quote_plus

_MASK: Final = "***"
_SHORTEST: Final = 6
"""Shorter ones ("none", "x") are no secrets, and would tear words apart."""

_PATTERNS: Final = (
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1 {_MASK}"),
    (re.compile(r"\b(sk|pk|rk|xox[abp]|gh[pousr]|AIza|AKIA)[-_]?[\w*-]{16,}"), _MASK),
    (re.compile(r"(\w+://)[^\s/@:]*:[^\s/@]*@"), rf"\1{_MASK}@"),
    (
        re.compile(
            r"((?:api[_-]?key|access[_-]?key|token|secret|password|passwd|authorization)['\"]?\s*[:=]\s*['\"]?)"
            r"(?!\*\*\*|bearer |basic )[^\s'\",;&)}\]]+",
            re.IGNORECASE,
        ),
        rf"\1{_MASK}",
    ),
)


def redacted(text: str, *secrets: str | None, limit: int = 2_000) -> str:
    """The text without the given secrets and what looks like one, cut at `limit` characters."""
    for secret in secrets:
        if secret and len(secret) >= _SHORTEST:
            for form in (secret, quote(secret), quote_plus(secret), json.dumps(secret)[1:-1]):
                text = text.replace(form, _MASK)
    for pattern, mask in _PATTERNS:
        text = pattern.sub(mask, text)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} characters left out)"
