"""Calls as text, for models without native ones: the ReAct format."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

from flowgraph_nodes.agents.tool_modes.around import Around
from flowgraph_nodes.agents.tool_modes.parser import Parsed, answer_start, parsed
from flowgraph_nodes.agents.tool_modes.plain import catalogue, plain
from flowgraph_nodes.messages import AssistantMessage, ToolCall, ToolMessage, ToolSpec
from flowgraph_nodes.models import (
    Delta,
    ForcedTool,
    OnDelta,
    ReasoningDelta,
    Request,
    Response,
    TextDelta,
    ToolCallDelta,
)

_RULES: Final = """\
You can use these tools:
{tools}

To use one, reply in exactly this form and stop; you will get its result as an Observation:
Thought: what you think
Action: the name of one tool
Action Input: its arguments as a JSON object
"""
_ANSWERS: Final = """
When you can answer, reply in exactly this form:
Thought: what you think
Final Answer: the answer"""


class TextMode(Around):
    """A model whose calls travel as `Action:` and `Action Input:`, one a reply, and answers as `Final Answer:`.

    Thoughts become the reasoning of the message, never its text. What follows an action is dropped: the model made it
    up. A request without tools passes as it is.
    """

    async def complete(self, request: Request, on_delta: OnDelta | None = None) -> Response:
        """One call; raises as the inner model does."""
        if not request.tools or request.tool_choice == "none":
            return await self.model.complete(request, on_delta)
        forced = request.tool_choice.name if isinstance(request.tool_choice, ForcedTool) else None
        specs = tuple(spec for spec in request.tools if forced is None or spec.name == forced)
        answers = request.tool_choice in (None, "auto")
        rules = _RULES.format(tools=catalogue(specs)) + (_ANSWERS if answers else "")
        inner = replace(request, messages=plain(request.messages, rules, _write, _report), tools=(), tool_choice=None)
        if on_delta is None:
            return _read(await self.model.complete(inner), specs)
        shown = _Shown(on_delta)
        response = _read(await self.model.complete(inner, shown.take), specs)
        await shown.finish(response.message)
        return response


class _Shown:
    """Shows a reply while it is written: the final answer as text, all before it as reasoning."""

    def __init__(self, on_delta: OnDelta) -> None:
        self._on_delta = on_delta
        self._text = ""
        self._start: int | None = None  # where the answer begins, once that is known
        self._shown = 0  # up to where it is shown

    async def take(self, delta: Delta) -> None:
        """Take a piece of the reply."""
        if not isinstance(delta, TextDelta):
            await self._on_delta(delta)
            return
        self._text += delta.text
        if self._start is None and "answer" in self._text[-200:].lower():
            self._start = answer_start(self._text)
            if self._start is not None:
                await self._think()
        if self._start is None:
            return
        piece = self._text[max(self._start, self._shown) :]
        if not self._shown:
            piece = piece.lstrip()
        if piece:
            self._shown = len(self._text)
            await self._on_delta(TextDelta(piece))

    async def finish(self, message: AssistantMessage) -> None:
        """Show what could not be shown before: the thought, the call, or an answer without a marker."""
        if self._start is not None:
            return
        await self._think()
        if message.content:
            await self._on_delta(TextDelta(message.content))
        for index, call in enumerate(message.tool_calls):
            await self._on_delta(ToolCallDelta(index, call.id, call.name, call.arguments))

    async def _think(self) -> None:
        if thought := parsed(self._text).thought:
            await self._on_delta(ReasoningDelta(thought))


def _read(response: Response, specs: tuple[ToolSpec, ...]) -> Response:
    """The reply with its text read. A call at whose end the reply was cut off stays marked so, and will not run."""
    message = response.message
    if message.tool_calls or not message.content.strip():
        return response
    found = parsed(message.content)
    thought = found.thought or message.reasoning
    if found.action is None:
        return replace(response, message=replace(message, content=found.answer or "", reasoning=thought))
    call = ToolCall("", found.action, _arguments(found, specs))
    reason = response.finish_reason if response.cut_off and not found.closed else "tool_calls"
    return replace(
        response,
        message=replace(message, content="", reasoning=thought, tool_calls=(call,)),
        finish_reason=reason,
    )


def _arguments(found: Parsed, specs: tuple[ToolSpec, ...]) -> str:
    """The arguments as JSON text: a bare value goes to the only parameter that a tool has, or requires."""
    text = found.action_input
    if not text or text.startswith("{"):
        return text
    spec = next((spec for spec in specs if spec.name == found.action), None)
    properties = list(spec.parameters.get("properties", {})) if spec else []
    required = list(spec.parameters.get("required", ())) if spec else []
    wanted = required if len(required) == 1 else properties
    if len(wanted) != 1:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    return json.dumps({wanted[0]: value}, ensure_ascii=False)


def _write(message: AssistantMessage) -> str:
    """A reply in the format, as the model should have written it."""
    thought = f"Thought: {message.reasoning or message.content}\n" if message.reasoning or message.content else ""
    if message.tool_calls:
        lines = (f"Action: {call.name}\nAction Input: {call.arguments or '{}'}" for call in message.tool_calls)
        return thought + "\n".join(lines)
    return f"Thought: {message.reasoning}\nFinal Answer: {message.content}" if message.reasoning else message.content


def _report(message: ToolMessage) -> str:
    return f"Observation: {message.content}"
