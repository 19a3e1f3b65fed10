"""Scripted models whose replies travel: from a real server, through litellm, streamed or whole.

    with over_http() as wire:
        wire.streamed = True
        ...  # every ScriptedModel and Scripted in the block

The script makes the reply as ever; a header tells the server which reply it is. Each request is looked at as a strict
provider does. Errors in a script are raised where they are: those of a server have tests of their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from flowgraph.outcome import Usage
from flowgraph_nodes import ModelSettings, ScriptedModel
from flowgraph_nodes.models import Delta, OnDelta, Request, Response, litellm

from .chat_server import Answer, ChatServer, Seen, error, text
from .strict_provider import Refused, check

_HEADER = "x-reply"


class Wire:
    """Between the scripts and the server. streamed: also where nobody listens."""

    def __init__(self) -> None:
        self.streamed = False
        self.server = ChatServer(itertools.repeat(self._served))
        self._replies: dict[str, Response] = {}
        self._numbers = itertools.count()

    async def ask(self, request: Request, reply: Response, on_delta: OnDelta | None) -> Response:
        """Send the request, to be answered with the reply."""
        number = str(next(self._numbers))
        self._replies[number] = reply
        extra = {"extra_headers": {_HEADER: number}}
        settings = ModelSettings(api_base=self.server.url, api_key="none", extra=extra).over(request.settings)
        listener = on_delta or (_nobody if self.streamed else None)
        got = await litellm.complete("openai/unknown-model", replace(request, settings=settings), listener)
        return replace(got, model=reply.model)

    def _served(self, seen: Seen) -> Answer:
        try:
            check(seen.body["messages"])
        except Refused as refused:
            return error(400, f"a strict provider refuses this: {refused}")
        return answer_of(self._replies.pop(seen.headers[_HEADER]))


@contextmanager
def over_http() -> Iterator[Wire]:
    """All scripted models in the block answer by HTTP."""
    wire, offline = Wire(), ScriptedModel.complete

    async def complete(self: ScriptedModel, request: Request, on_delta: OnDelta | None = None) -> Response:
        return await wire.ask(request, await offline(self, request), on_delta)

    with wire.server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptedModel, "complete", complete)
        yield wire


def answer_of(reply: Response) -> Answer:
    """The reply as a server sends it."""
    message = reply.message
    more: dict[str, Any] = {"reasoning_content": message.reasoning} if message.reasoning else {}
    if message.tool_calls:
        more["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    return text(message.content, usage=_counts(reply.usage), finish_reason=reply.finish_reason, **more)


def _counts(usage: Usage) -> dict[str, Any]:
    counts: dict[str, Any] = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
    return counts if usage.cost is None else {**counts, "cost": usage.cost}


async def _nobody(delta: Delta) -> None:
    """Listens without interest."""
