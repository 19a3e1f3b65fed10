"""A provider that refuses every request which breaks a published rule, for tests of what agents send.

The rules, and whose they are:

- every call of an assistant message is answered exactly once, by the messages right after it (OpenAI: "An assistant
  message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'"; Anthropic: results
  "must immediately follow their corresponding tool use blocks"); no result stands anywhere else;
- ids of calls are not empty, without white space, and unique in the conversation (Anthropic: "tool_use ids must be
  unique");
- names of tools match `[a-zA-Z0-9_-]{1,64}`, those of calls too (OpenAI, Anthropic);
- arguments are a JSON object (Anthropic's `input`, Google's `args` are objects);
- no assistant message is empty (Anthropic: "all messages must have non-empty content"), no user message either;
- system messages come first; then a user speaks; no two assistant messages follow each other, and the last word is the
  user's or a tool's (Anthropic: roles alternate, a trailing assistant message would be a prefill);
- what is forced exists; a call of the model is of any name, but what is offered is offered once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from flowgraph_nodes import ScriptedModel
from flowgraph_nodes.models import ForcedTool, OnDelta, Request, Response
from flowgraph_nodes.wire import WireMessage

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ID = re.compile(r"[!-~]+")


class Refused(AssertionError):
    """The request breaks a rule."""


class StrictModel(ScriptedModel):
    """A scripted model that looks at each request as a strict provider does, before it answers."""

    async def complete(self, request: Request, on_delta: OnDelta | None = None) -> Response:
        names = [spec.name for spec in request.tools]
        if len(set(names)) != len(names) or not all(map(_NAME.fullmatch, names)):
            raise Refused(f"tools are offered as {names}")
        if isinstance(request.tool_choice, ForcedTool) and request.tool_choice.name not in names:
            raise Refused(f"{request.tool_choice.name!r} is forced and not offered")
        messages = request.messages.to_wire()
        check(messages)
        if messages[-1]["role"] == "assistant":
            raise Refused("the last word is the assistant's")
        return await super().complete(request, on_delta)


def check(messages: Sequence[WireMessage]) -> None:
    """Raise `Refused` when a conversation breaks a rule. It may end with an answer."""
    json.dumps(messages).encode()
    spoken = [message for message in messages if message["role"] != "system"]
    if any(message["role"] == "system" for message in messages[len(messages) - len(spoken) :]):
        raise Refused("a system message in the middle")
    if not spoken or spoken[0]["role"] != "user":
        raise Refused("the first word is not the user's")
    seen: set[str] = set()
    due: list[str] = []
    before = ""
    for message in spoken:
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in due:
                raise Refused(f"a result for {message['tool_call_id']!r} where {due} are due")
            due.remove(message["tool_call_id"])
            if "name" in message and not _NAME.fullmatch(message["name"]):
                raise Refused(f"a result of {message['name']!r}")
        elif due:
            raise Refused(f"no results for {due}")
        elif role == "user":
            if not message["content"].strip():
                raise Refused("an empty user message")
        else:
            if before == "assistant":
                raise Refused("two assistant messages in a row")
            due = _calls_of(message, seen)
        before = role
    if due:
        raise Refused(f"no results for {due}")


def _calls_of(message: Mapping[str, Any], seen: set[str]) -> list[str]:
    """The ids of a message's calls, which are sound."""
    calls = message.get("tool_calls") or []
    if not calls and not (message["content"] or "").strip():
        raise Refused("an empty assistant message")
    for call in calls:
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        if not _ID.fullmatch(call["id"]) or call["id"] in seen:
            raise Refused(f"the id {call['id']!r} is odd, or was there before")
        seen.add(call["id"])
        if not _NAME.fullmatch(name):
            raise Refused(f"a call of {name!r}")
        try:
            if not isinstance(json.loads(arguments), dict):
                raise Refused(f"arguments that are no object: {arguments!r}")
        except ValueError:
            raise Refused(f"arguments that are no JSON: {arguments!r}") from None
    return [call["id"] for call in calls]
