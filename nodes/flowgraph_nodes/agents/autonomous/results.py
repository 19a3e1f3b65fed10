"""Results: in what form an autonomous agent gives its answer."""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

from flowgraph_nodes.messages import AssistantMessage, SystemMessage, ToolMessage
from flowgraph_nodes.transcript import Transcript

Result: TypeAlias = Literal["final", "transcript", "messages", "json", "yaml"]
"""final: the answer. Else the conversation: as text, a list of messages, or that list as a JSON or YAML text."""


def result_type(result: Result) -> Any:
    """The type of what `in_form` gives."""
    return list[dict[str, Any]] if result == "messages" else str


def in_form(result: Result, answer: Any, transcript: Transcript) -> Any:
    """The answer, or the conversation that led to it."""
    if result == "final":
        return answer
    if result == "transcript":
        return "\n\n".join(f"{_role(message)}: {message.content}" for message in transcript)
    messages = transcript.to_wire()
    if result == "messages":
        return messages
    if result == "json":
        return json.dumps(messages, ensure_ascii=False, indent=2)
    import yaml  # only here is it needed

    text: str = yaml.safe_dump(messages, allow_unicode=True, sort_keys=False)
    return text


def _role(message: object) -> str:
    kinds = {SystemMessage: "system", AssistantMessage: "assistant", ToolMessage: "tool"}
    return kinds.get(type(message), "user")
