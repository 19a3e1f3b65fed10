"""Calls as JSON by a schema: a forced choice between the tools and an answer, which nearly every server can enforce."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from flowgraph_nodes.agents.output import json_in
from flowgraph_nodes.agents.tool_modes.around import Around
from flowgraph_nodes.agents.tool_modes.plain import catalogue, plain
from flowgraph_nodes.errors import BadRequestError, ModelServerError
from flowgraph_nodes.messages import AssistantMessage, ToolCall, ToolMessage, ToolSpec
from flowgraph_nodes.models import (
    ChatModel,
    Delta,
    ForcedTool,
    OnDelta,
    ReasoningDelta,
    Request,
    Response,
    ResponseFormat,
    TextDelta,
    ToolCallDelta,
)
from flowgraph_nodes.models.base import MALFORMED
from flowgraph_nodes.models.settings import ModelSettings

_CALL: Final = '{"tool": "<name>", "args": {<arguments>}}'
_ANSWER: Final = '{"answer": "<your answer>"}'
_NAMES: Final = ("tool", "name", "function")
_ARGUMENTS: Final = ("args", "arguments", "parameters", "input")


class SchemaMode(Around):
    """A model whose calls travel as `{"tool": …, "args": …}` and whose answers as `{"answer": …}`.

    A request without tools passes as it is. Where only one call is possible its arguments are asked for alone, with no
    wrapping and no word about tools: small models then keep their minds on the question.
    A server that refuses a `json_schema` response format is asked once more with the older `json_object` form, and with
    that alone from then on.
    """

    def __init__(self, model: ChatModel) -> None:
        super().__init__(model)
        self._older_form = False

    async def complete(self, request: Request, on_delta: OnDelta | None = None) -> Response:
        """One call; raises as the inner model does."""
        if not request.tools or request.tool_choice == "none":
            return await self.model.complete(request, on_delta)
        forced = request.tool_choice.name if isinstance(request.tool_choice, ForcedTool) else None
        specs = tuple(spec for spec in request.tools if forced is None or spec.name == forced)
        answers = request.tool_choice in (None, "auto")
        if len(specs) == 1 and not answers:
            return await self._arguments_of(specs[0], request, on_delta)
        inner = replace(
            request,
            messages=plain(request.messages, _rules(specs, answers), _write, _report),
            tools=(),
            tool_choice=None,
            response_format=ResponseFormat(_schema(specs, answers), "reply", strict=False),
        )
        response = await self._asked(inner, None if on_delta is None else _only_reasoning(on_delta))
        read = _read(response, {spec.name for spec in specs})
        if on_delta is not None:
            await _show(read.message, on_delta)
        return read

    async def _arguments_of(self, spec: ToolSpec, request: Request, on_delta: OnDelta | None) -> Response:
        """The only possible call, of which just the arguments are asked for."""
        inner = replace(
            request,
            messages=plain(request.messages, "", _write_arguments, _report),
            tools=(),
            tool_choice=None,
            response_format=ResponseFormat(dict(spec.parameters), "reply", strict=False),
        )
        response = await self._asked(inner, None if on_delta is None else _only_reasoning(on_delta))
        message = response.message
        if message.tool_calls or not message.content.strip():
            return response
        try:
            arguments = json.dumps(json_in(message.content.strip()), ensure_ascii=False)
        except (ValueError, RecursionError):
            arguments = message.content
        reason = response.finish_reason if response.cut_off else "tool_calls"
        called = replace(message, content="", tool_calls=(ToolCall("", spec.name, arguments),))
        if on_delta is not None:
            await _show(called, on_delta)
        return replace(response, message=called, finish_reason=reason)

    async def _asked(self, request: Request, on_delta: OnDelta | None) -> Response:
        if not self._older_form:
            try:
                return await self.model.complete(request, on_delta)
            except (BadRequestError, ModelServerError) as error:
                if error.status not in (None, 400, 422, 500, 501):
                    raise  # a refusal looks otherwise
                refusal = error
            try:
                response = await self.model.complete(_in_older_form(request), on_delta)
            except Exception as error:
                error.add_note(f"before it, with a json_schema: {type(refusal).__name__}: {refusal}")
                raise
            self._older_form = True
            return response
        return await self.model.complete(_in_older_form(request), on_delta)


def _in_older_form(request: Request) -> Request:
    """The same request with `{"type": "json_object", "schema": …}`, which goes into the body as it is."""
    wanted = request.response_format
    assert wanted is not None
    body = {"response_format": {"type": "json_object", "schema": dict(wanted.schema)}}
    own = request.settings.extra.get("extra_body", {})
    older = ModelSettings(extra={"extra_body": {**own, **body}})
    return replace(request, response_format=None, settings=older.over(request.settings))


def _rules(specs: tuple[ToolSpec, ...], answers: bool) -> str:
    forms = f"{_CALL} to use a tool" + (f", or {_ANSWER} when you can answer" if answers else "")
    return f"You can use these tools:\n{catalogue(specs)}\n\nReply with one JSON object and nothing else: {forms}."


def _schema(specs: tuple[ToolSpec, ...], answers: bool) -> dict[str, Any]:
    """The choice as a JSON schema; the tools' definitions go to its root, under names of their own."""
    definitions: dict[str, Any] = {}
    choices: list[dict[str, Any]] = []
    for number, spec in enumerate(specs):
        parameters = _moved(dict(spec.parameters), f"t{number}_")
        for name, definition in parameters.pop("$defs", {}).items():
            definitions[f"t{number}_{name}"] = definition
        choices.append(_object({"tool": {"const": spec.name}, "args": parameters}))
    if answers:
        choices.append(_object({"answer": {"type": "string"}}))
    schema = choices[0] if len(choices) == 1 else {"anyOf": choices}
    return {**schema, "$defs": definitions} if definitions else schema


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _moved(part: Any, prefix: str) -> Any:
    """A copy of a schema whose references have the prefix."""
    if isinstance(part, list):
        return [_moved(item, prefix) for item in part]
    if not isinstance(part, dict):
        return part
    moved = {key: _moved(value, prefix) for key, value in part.items()}
    reference = moved.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        moved["$ref"] = f"#/$defs/{prefix}{reference.removeprefix('#/$defs/')}"
    return moved


def _write(message: AssistantMessage) -> str:
    if not message.tool_calls:
        return message.content
    return "\n".join(json.dumps({"tool": c.name, "args": _args(c)}, ensure_ascii=False) for c in message.tool_calls)


def _write_arguments(message: AssistantMessage) -> str:
    if not message.tool_calls:
        return message.content
    return "\n".join(json.dumps(_args(call), ensure_ascii=False) for call in message.tool_calls)


def _args(call: ToolCall) -> Any:
    try:
        return json.loads(call.arguments) if call.arguments.strip() else {}
    except ValueError:
        return call.arguments


def _report(message: ToolMessage) -> str:
    return f"Result of {message.name}: {message.content}" if message.name else f"Result: {message.content}"


def _read(response: Response, names: set[str]) -> Response:
    """The reply with its text read: a call, an answer, plain text, or something malformed."""
    message = response.message
    if message.tool_calls or not message.content.strip():
        return response
    text = message.content.strip()
    try:
        data = json_in(text)
    except (ValueError, RecursionError):
        broken = text.startswith(("{", "```"))
        return replace(response, finish_reason=MALFORMED) if broken else response
    if not isinstance(data, Mapping):
        return response
    if set(data) == {"answer"}:
        answer = data["answer"]
        content = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return replace(response, message=replace(message, content=content))
    if (call := _call(data, names)) is None:
        return response if "tool" not in data else replace(response, finish_reason=MALFORMED)
    reason = response.finish_reason if response.cut_off else "tool_calls"
    return replace(response, message=replace(message, content="", tool_calls=(call,)), finish_reason=reason)


def _call(data: Mapping[str, Any], names: set[str]) -> ToolCall | None:
    """The call that an object stands for; servers without schemas use other words for its parts."""
    if isinstance(data.get("function"), Mapping):
        data = data["function"]
    name = next((data[key] for key in _NAMES if isinstance(data.get(key), str)), None)
    if name is None or (name not in names and "tool" not in data):
        return None
    arguments: Any = next((data[key] for key in _ARGUMENTS if key in data), {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall("", name, text)


def _only_reasoning(on_delta: OnDelta) -> OnDelta:
    """Holds back the text, which is JSON until it is read."""

    async def pass_on(delta: Delta) -> None:
        if isinstance(delta, ReasoningDelta):
            await on_delta(delta)

    return pass_on


async def _show(message: AssistantMessage, on_delta: OnDelta) -> None:
    if message.content:
        await on_delta(TextDelta(message.content))
    for index, call in enumerate(message.tool_calls):
        await on_delta(ToolCallDelta(index, call.id, call.name, call.arguments))
