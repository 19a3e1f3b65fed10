"""Putting a streamed reply together from its chunks, however the server cut it.

Chunks are those of the chat-completions protocol, as dicts or as objects with the same names. Servers differ:
several calls carry the same index or none, ids and names come once, late, or with every fragment, and the token
counts stand in any chunk, also in one without choices, in several, or nowhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flowgraph_nodes.messages import AssistantMessage, ToolCall
from flowgraph_nodes.models.base import Delta, ReasoningDelta, TextDelta, ToolCallDelta


@dataclass(slots=True)
class _OpenCall:
    index: int | None
    id: str = ""
    name: str = ""
    arguments: str = ""

    @property
    def whole(self) -> bool:
        """Whether its arguments are complete JSON."""
        try:
            json.loads(self.arguments)
        except (ValueError, RecursionError):
            return False
        return True


class StreamAssembler:
    """Takes the chunks of one reply with `feed`, gives the pieces for listeners, and then the message.

    finish_reason: the server's, "" until it came. usage: the counts by their names on the wire, the greatest of
    each that was seen, since they are running totals; empty when the server gave none. reported: the last usage
    object as it came.
    """

    def __init__(self) -> None:
        self.finish_reason = ""
        self.model = ""
        self.usage: dict[str, int] = {}
        self.reported: Any = None
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_OpenCall] = []
        self._thinking: list[dict[str, Any]] = []

    def feed(self, chunk: Any) -> list[Delta]:
        """Take a chunk; what it adds to the reply, in order."""
        self.model = _get(chunk, "model") or self.model
        self._count(_get(chunk, "usage"))
        deltas: list[Delta] = []
        for choice in _get(chunk, "choices") or ():
            if _get(choice, "index"):  # a second answer that nobody asked for
                continue
            self.finish_reason = _get(choice, "finish_reason") or self.finish_reason
            if (delta := _get(choice, "delta")) is not None:
                deltas += self._add(delta)
        return deltas

    @property
    def message(self) -> AssistantMessage:
        """The reply as far as it came."""
        return AssistantMessage(
            content="".join(self._text),
            tool_calls=tuple(ToolCall(call.id, call.name, call.arguments) for call in self._calls),
            reasoning="".join(self._reasoning),
            extra={"thinking_blocks": self._thinking} if self._thinking else {},
        )

    def _add(self, delta: Any) -> Iterable[Delta]:
        if reasoning := _get(delta, "reasoning_content") or _get(delta, "reasoning"):
            self._reasoning.append(str(reasoning))
            yield ReasoningDelta(str(reasoning))
        for block in _get(delta, "thinking_blocks") or ():
            self._think(dict(block))
        if content := _get(delta, "content") or _get(delta, "refusal"):  # a refusal is what the model answers
            self._text.append(str(content))
            yield TextDelta(str(content))
        for fragment in _get(delta, "tool_calls") or ():
            yield self._extend(fragment)

    def _extend(self, fragment: Any) -> Delta:
        function = _get(fragment, "function")
        arguments = _get(function, "arguments")
        if arguments is None:
            arguments = ""
        elif not isinstance(arguments, str):  # some servers send the object itself
            arguments = json.dumps(arguments, ensure_ascii=False)
        call_id, name = str(_get(fragment, "id") or ""), str(_get(function, "name") or "")
        index = _get(fragment, "index")
        call = self._owner(index, call_id, name, arguments)
        if call is None:
            self._calls.append(call := _OpenCall(index))
        call.id = call.id or call_id
        call.name = call.name or name
        call.arguments += arguments
        position = next(number for number, item in enumerate(self._calls) if item is call)
        return ToolCallDelta(position, call.id, call.name, arguments)

    def _owner(self, index: int | None, call_id: str, name: str, arguments: str) -> _OpenCall | None:
        """The call that a fragment belongs to; None when it starts another one."""
        near = [call for call in reversed(self._calls) if index is None or call.index == index]
        if call_id:
            known = next((call for call in near if call.id == call_id), None)
            if known is not None or not near or near[0].id:
                return known
        if not near:
            return None
        last = near[0]
        another_name = bool(name and last.name and name != last.name)
        starts_anew = bool(name and last.name and arguments.lstrip()[:1] == "{" and last.whole)
        return None if another_name or starts_anew else last

    def _think(self, block: dict[str, Any]) -> None:
        """Signed thinking arrives in pieces: texts first, the signature closes the block."""
        last = self._thinking[-1] if self._thinking else None
        if last is None or block.get("type") != "thinking" or last.get("type") != "thinking" or last.get("signature"):
            self._thinking.append(block)
            return
        last["thinking"] = (last.get("thinking") or "") + (block.get("thinking") or "")
        if block.get("signature"):
            last["signature"] = block["signature"]

    def _count(self, usage: Any) -> None:
        self.reported = usage or self.reported
        for name, count in counts_of(usage).items():
            self.usage[name] = max(count, self.usage.get(name, 0))


def counts_of(usage: Any) -> dict[str, int]:
    """The counts that a usage object holds, those of its details under their own names; empty when it has none."""
    if usage is None:
        return {}
    prompt, completion = _get(usage, "prompt_tokens_details"), _get(usage, "completion_tokens_details")
    found = {
        "prompt_tokens": _get(usage, "prompt_tokens"),
        "completion_tokens": _get(usage, "completion_tokens"),
        "cached_tokens": _get(prompt, "cached_tokens"),
        "reasoning_tokens": _get(completion, "reasoning_tokens"),
    }
    return {name: int(count) for name, count in found.items() if isinstance(count, int | float) and count > 0}


def _get(thing: Any, name: str) -> Any:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
