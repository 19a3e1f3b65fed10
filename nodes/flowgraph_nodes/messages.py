"""The messages between an agent, its model and its tools. All are frozen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to run a tool.

    `arguments` is the text as the model wrote it: it may be empty, broken or doubly encoded JSON; reading it
    is the toolbox's business. `id` is empty when the model gave none (see
    `AssistantMessage.with_unique_ids`).
    """

    id: str
    name: str
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as it is offered to a model: `parameters` is a JSON schema of an object.

    `strict` asks the provider to hold the model to the schema (the schema must then be in the closed form).
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    strict: bool = False

    def to_wire(self) -> dict[str, Any]:
        function: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        if self.strict:
            function["strict"] = True
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """Instructions of the agent."""

    content: str


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A task, or what a person says."""

    content: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """A model's reply: its text *and* its calls.

    `reasoning` is the model's thinking where the provider shows it; it is kept, never sent back.
    `extra` holds fields of the provider that must go back as they came (signed thinking blocks).
    """

    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def with_unique_ids(self, prefix: str, taken: Collection[str] = ()) -> AssistantMessage:
        """The same message, its calls with missing, odd or repeated ids given ids of our own.

        taken: ids that stand in the conversation already. Odd are those with white space or other than ASCII. The first
        call of a repeated id keeps it. Ours are `{prefix}-{position}`: the same for the same reply, so that a resumed
        run sends the same requests.
        """
        ids = [call.id for call in self.tool_calls]
        seen = set(taken)
        if all(map(_is_sound_id, ids)) and len({*ids, *seen}) == len(ids) + len(seen):
            return self
        taken = {*ids, *seen}
        calls: list[ToolCall] = []
        for position, call in enumerate(self.tool_calls):
            kept = call.id if call.id not in seen and _is_sound_id(call.id) else ""
            own = kept or _free_id(f"{prefix}-{position}", taken)
            taken.add(own)
            seen.add(own)
            calls.append(replace(call, id=own))
        return replace(self, tool_calls=tuple(calls))


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The answer to one call, as text for the model."""

    call_id: str
    content: str
    name: str = ""


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage


def _is_sound_id(text: str) -> bool:
    return text.isascii() and text.isprintable() and text != "" and " " not in text


def _free_id(wanted: str, taken: set[str]) -> str:
    candidate, number = wanted, 1
    while candidate in taken:
        candidate, number = f"{wanted}.{number}", number + 1
    return candidate
