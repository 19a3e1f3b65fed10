"""Messages as plain dicts, in the form of the chat-completions protocol.

Source: https://platform.openai.com/docs/api-reference/chat (as litellm and most servers take it).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from flowgraph_nodes.errors import TranscriptError
from flowgraph_nodes.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)

WireMessage: TypeAlias = dict[str, Any]
"""One message as the chat-completions protocol writes it."""

_ASSISTANT_KEYS: Final = frozenset({"role", "content", "tool_calls", "reasoning_content"})


def sound(text: str) -> str:
    """The text, lone surrogates escaped: they cannot be sent."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def sendable(value: Any) -> Any:
    """Plain data with every text in it sound."""
    match value:
        case str():
            return sound(value)
        case Mapping():
            return {sendable(key): sendable(item) for key, item in value.items()}
        case list() | tuple():
            return [sendable(item) for item in value]
        case _:
            return value


def sound_reply(message: AssistantMessage) -> AssistantMessage:
    """A model's reply with every text in it sound: what cannot be sent back cannot be stored either."""
    calls = (ToolCall(sound(call.id), sound(call.name), sound(call.arguments)) for call in message.tool_calls)
    return replace(
        message,
        content=sound(message.content),
        tool_calls=tuple(calls),
        reasoning=sound(message.reasoning),
        extra=sendable(message.extra),
    )


def to_wire(message: Message) -> WireMessage:
    """One message as the chat-completions protocol writes it."""
    match message:
        case SystemMessage(content):
            return {"role": "system", "content": content}
        case UserMessage(content):
            return {"role": "user", "content": content}
        case ToolMessage(call_id, content, name):
            wire: WireMessage = {"role": "tool", "tool_call_id": call_id, "content": content}
            return wire | {"name": name} if name else wire
        case AssistantMessage():
            return _assistant_to_wire(message)


def from_wire(message: Mapping[str, Any]) -> Message:
    """Read one message; fields of an assistant message that we do not know are kept in its `extra`.

    Raises:
        TranscriptError: the role is unknown, or the content has parts that are not text.
    """
    role = message.get("role")
    content = _text(message.get("content"))
    match role:
        case "system" | "developer":
            return SystemMessage(content)
        case "user":
            return UserMessage(content)
        case "tool":
            call_id, name = (str(message.get(key) or "") for key in ("tool_call_id", "name"))
            return ToolMessage(call_id, content, name)
        case "assistant":
            extra = {k: v for k, v in message.items() if k not in _ASSISTANT_KEYS and v is not None}
            return AssistantMessage(
                content=content or str(message.get("refusal") or ""),  # a refusal is what the model answered
                tool_calls=tuple(_call_from_wire(call) for call in message.get("tool_calls") or ()),
                reasoning=str(message.get("reasoning_content") or ""),
                extra=extra,
            )
        case _:
            raise TranscriptError(f"unknown role {role!r}; known are system, user, assistant and tool")


def _assistant_to_wire(message: AssistantMessage) -> WireMessage:
    wire: WireMessage = {"role": "assistant", "content": message.content or None}
    if not message.tool_calls:
        wire["content"] = message.content
    else:
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.reasoning:
        wire["reasoning_content"] = message.reasoning
    return wire | dict(message.extra)


def _call_from_wire(call: Mapping[str, Any]) -> ToolCall:
    function = call.get("function") or {}
    arguments = function.get("arguments")
    if arguments is None:
        arguments = ""
    elif not isinstance(arguments, str):  # some servers send the object itself
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(str(call.get("id") or ""), str(function.get("name") or ""), arguments)


def _text(content: object) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        raise TranscriptError(f"message content is {type(content).__name__}, neither text nor parts")
    texts: list[str] = []
    for part in content:
        if not isinstance(part, Mapping) or part.get("type") != "text":
            kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
            raise TranscriptError(f"message part of type {kind!r} is not text and cannot be kept")
        texts.append(str(part.get("text") or ""))
    return "".join(texts)
