"""What an MCP tool gives: text for the model, and everything as it came for code."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from mcp import types


class Progress(Protocol):
    """Told how far a call is; `total` and `message` if the server gives them."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


class McpResult:
    """The result of a call.

    text: what a model reads: all text, and one line for each part that is none. content: the SDK's parts as they came:
    text, images and audio (base64), resources and links to them. structured: the structured content, None when there
    is none. failed: whether the server calls it an error.

    (No dataclass, so that a toolbox shows it as its text.)
    """

    __slots__ = ("content", "failed", "structured", "text")

    def __init__(
        self, text: str, content: Sequence[types.ContentBlock], structured: dict[str, Any] | None, failed: bool
    ) -> None:
        self.text = text
        self.content = tuple(content)
        self.structured = structured
        self.failed = failed

    def __str__(self) -> str:
        return self.text

    @property
    def plain(self) -> bool:
        """Whether there is nothing but text."""
        return self.structured is None and all(part.type == "text" for part in self.content)

    def to_wire(self) -> dict[str, Any]:
        """The result as plain data, in the protocol's form."""
        parts = [part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in self.content]
        return {"content": parts} if self.structured is None else {"content": parts, "structured": self.structured}


def result_of(found: types.CallToolResult, mask: Callable[[str], str]) -> McpResult:
    """The result that the SDK read; `mask` takes secrets out of its text."""
    text = "\n".join(map(_shown, found.content))
    if not text and found.structuredContent is not None:
        text = json.dumps(found.structuredContent, ensure_ascii=False)
    return McpResult(mask(text), found.content, found.structuredContent, found.isError)


def _shown(part: types.ContentBlock) -> str:
    match part.type:
        case "text":
            return part.text
        case "image" | "audio":
            return f"[{part.type}, {part.mimeType}, {_size(part.data)}]"
        case "resource_link":
            return f"[resource {part.uri} ({part.title or part.name})]"
        case "resource":
            inner = part.resource
            text: str | None = getattr(inner, "text", None)  # one of two classes, that of text or that of bytes
            if text is not None:
                return f"[resource {inner.uri}]\n{text}"
            return f"[resource {inner.uri}, {inner.mimeType or 'bytes'}, {_size(getattr(inner, 'blob', ''))}]"


def _size(base64: str) -> str:
    return f"{len(base64) * 3 // 4 - base64[-2:].count('=')} bytes"
