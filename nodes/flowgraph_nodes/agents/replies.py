"""Replies as they go into a conversation: so that every provider takes them back, whatever the model wrote."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

from flowgraph_nodes.agents.history import History
from flowgraph_nodes.errors import ArgumentsError
from flowgraph_nodes.messages import AssistantMessage
from flowgraph_nodes.tools.arguments import parsed
from flowgraph_nodes.tools.names import nearest_name

AS_WRITTEN: Final = "invalid_arguments"
"""The key under which arguments that are no JSON object are kept, word for word."""


def identified(message: AssistantMessage, history: History) -> AssistantMessage:
    """The reply, its calls with ids that no other call of the conversation has."""
    if not message.tool_calls:
        return message
    taken = {call.id for said in history.transcript if isinstance(said, AssistantMessage) for call in said.tool_calls}
    return message.with_unique_ids(f"call-{len(history)}", taken)


def sendable(message: AssistantMessage) -> AssistantMessage:
    """The reply with names that providers take, and arguments that are JSON objects.

    Anthropic and Google want the arguments as an object, local servers parse them, and a name has to match
    `[A-Za-z0-9_-]{1,64}` nearly everywhere: one odd call would spoil every later request. What runs, or is refused,
    is the call as the model wrote it.
    """
    calls = tuple(
        replace(call, name=nearest_name(call.name), arguments=_object(call.arguments)) for call in message.tool_calls
    )
    return message if calls == message.tool_calls else replace(message, tool_calls=calls)


def _object(arguments: str) -> str:
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except (ValueError, RecursionError):
        pass
    try:
        return json.dumps(parsed(arguments))
    except ArgumentsError:
        return json.dumps({AS_WRITTEN: arguments})
