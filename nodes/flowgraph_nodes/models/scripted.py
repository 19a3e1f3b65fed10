"""Models that answer from a script: for tests and examples, offline."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import anyio

from flowgraph.outcome import Usage
from flowgraph_nodes.errors import ScriptError
from flowgraph_nodes.messages import AssistantMessage, ToolCall
from flowgraph_nodes.models.base import (
    OnDelta,
    ReasoningDelta,
    Request,
    Response,
    TextDelta,
    ToolCallDelta,
)

_PIECE: Final = 8
_CALL: Final = Usage(model_calls=1, cost=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A scripted reply with everything that can be set.

    finish_reason: None means "tool_calls" with calls and "stop" without.
    usage: counts to report; `model_calls` is set to 1. None reports no tokens at a cost of 0.
    """

    text: str = ""
    calls: Sequence[ToolCall] = ()
    reasoning: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None


Answer: TypeAlias = (
    str | ToolCall | Sequence[ToolCall] | AssistantMessage | Reply | Response | BaseException | type[BaseException]
)
"""What a script may answer: text, calls, a whole message or response, or an error to raise."""

Responder: TypeAlias = Callable[[Request], Answer | Awaitable[Answer]]
"""A function of the request, sync or async."""

Script: TypeAlias = Iterable[Answer | Responder] | Responder


def call(name: str, /, *, call_id: str = "", **arguments: Any) -> ToolCall:
    """A tool call for a script: `call("fetch", url="…")`. Without an id it gets one when it is replied."""
    return ToolCall(call_id, name, json.dumps(arguments, ensure_ascii=False))


class ScriptedModel:
    """A model that replies from a script and records what it was asked.

    script: replies in order, each an `Answer` or a function; or one function of the request for all calls.
    requests: every request so far, in order.

    >>> model = ScriptedModel([call("add", a=1, b=2), "The sum is 3."])
    """

    def __init__(self, script: Script, *, name: str = "scripted") -> None:
        self.name = name
        self.requests: list[Request] = []
        self._respond = script if callable(script) else None
        self._replies: Iterator[Answer | Responder] = iter(()) if callable(script) else iter(script)

    def __repr__(self) -> str:
        return f"ScriptedModel({self.name!r}, {len(self.requests)} requests)"

    def check(self) -> None:
        """Nothing can be wrong with it."""

    async def priced(self) -> bool:
        """Its replies cost what the script says, else nothing."""
        return True

    async def complete(self, request: Request, on_delta: OnDelta | None = None) -> Response:
        """The next reply.

        Raises:
            ScriptError: the script has ended.
        """
        self.requests.append(request)
        number = len(self.requests)
        await anyio.lowlevel.checkpoint()
        answer = await self._next(request, number)
        if isinstance(answer, BaseException) or (isinstance(answer, type) and issubclass(answer, BaseException)):
            raise answer
        response = self._response(answer, number)
        if on_delta is not None:
            await _stream(response.message, on_delta)
        return response

    async def _next(self, request: Request, number: int) -> Answer:
        step: Answer | Responder
        if self._respond is not None:
            step = self._respond
        else:
            try:
                step = next(self._replies)
            except StopIteration:
                where = f" by '{request.path}'" if request.path else ""
                raise ScriptError(
                    f"script of {self.name!r} has ended: request {number}{where} has no reply",
                    model=self.name,
                ) from None
        if callable(step) and not isinstance(step, type):
            answer = step(request)
            return await answer if inspect.isawaitable(answer) else answer
        return step

    def _response(self, answer: Answer, number: int) -> Response:
        match answer:
            case Response():
                return answer
            case AssistantMessage():
                reply = Reply()
                message = answer
            case _:
                reply = _as_reply(answer)
                message = AssistantMessage(reply.text, tuple(reply.calls), reply.reasoning)
        calls = tuple(
            item if item.id else replace(item, id=f"call-{number}-{position}")
            for position, item in enumerate(message.tool_calls)
        )
        return Response(
            message=replace(message, tool_calls=calls),
            usage=_CALL if reply.usage is None else replace(reply.usage, model_calls=1),
            finish_reason=reply.finish_reason or ("tool_calls" if calls else "stop"),
            model=self.name,
        )


class Scripted:
    """A model whose script depends on the node run that calls it: parallel calls come in no certain order.

    scripts: from a node path to a script or model. A key holds for the path itself and for all below it, in
    every round, item and repeat (`draft` also for `draft#2/judge`). The deepest key wins, plain ones before
    patterns; `*` stands for anything.

    >>> model = Scripted({"triage": ["urgent"], "fix": [call("patch", file="a.py"), "done"]})
    """

    def __init__(self, scripts: Mapping[str, Script | ScriptedModel], *, name: str = "scripted") -> None:
        self.name = name
        self.models: dict[str, ScriptedModel] = {
            key: script if isinstance(script, ScriptedModel) else ScriptedModel(script, name=f"{name}:{key}")
            for key, script in scripts.items()
        }

    def __repr__(self) -> str:
        return f"Scripted({', '.join(self.models)})"

    @property
    def requests(self) -> list[Request]:
        """Every request so far, by key and then in order."""
        return [request for model in self.models.values() for request in model.requests]

    def check(self) -> None:
        """Nothing can be wrong with it."""

    async def priced(self) -> bool:
        """Its replies cost what the script says, else nothing."""
        return True

    async def complete(self, request: Request, on_delta: OnDelta | None = None) -> Response:
        """The next reply of the script for the caller's path.

        Raises:
            ScriptError: no key fits the path, or its script has ended.
        """
        for key in sorted(self.models, key=_weight, reverse=True):
            if _covers(key, request.path):
                return await self.models[key].complete(request, on_delta)
        known = ", ".join(map(repr, self.models)) or "none"
        raise ScriptError(f"no script for path {request.path!r}; there are: {known}", model=self.name)


def _weight(key: str) -> tuple[int, bool, int]:
    return key.count("/"), "*" not in key, len(key)


def _covers(key: str, path: str) -> bool:
    """Whether `path` is `key`, a round, item or repeat of it, or below one."""
    stem = ".*".join(re.escape(part) for part in key.split("*"))
    return re.fullmatch(rf"{stem}([#\[~][^/]*)?(/.*)?", path, re.DOTALL) is not None


def _as_reply(answer: object) -> Reply:
    match answer:
        case Reply():
            return answer
        case str():
            return Reply(text=answer)
        case ToolCall():
            return Reply(calls=(answer,))
        case Sequence() if all(isinstance(item, ToolCall) for item in answer):
            return Reply(calls=tuple(answer))
        case _:
            raise ScriptError(f"a script cannot answer with {type(answer).__name__}: {answer!r:.80}")


async def _stream(message: AssistantMessage, on_delta: OnDelta) -> None:
    for piece in _pieces(message.reasoning):
        await on_delta(ReasoningDelta(piece))
    for piece in _pieces(message.content):
        await on_delta(TextDelta(piece))
    for index, item in enumerate(message.tool_calls):
        for piece in _pieces(item.arguments) or [""]:
            await on_delta(ToolCallDelta(index, item.id, item.name, piece))


def _pieces(text: str) -> list[str]:
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
