"""Model calls through litellm. The only file that knows litellm, which it imports on first use: that takes seconds.

On asyncio litellm's async client is used; on trio, where it fails, its sync one, in a thread. litellm makes each call
once: retries are the caller's. Prices are litellm's own table's; a model that is not in it costs None, never 0.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

import anyio

from flowgraph.outcome import Usage
from flowgraph_nodes.errors import ModelConfigError, ModelConnectionError, ModelError, ModelServerError
from flowgraph_nodes.messages import AssistantMessage
from flowgraph_nodes.models.base import MALFORMED, ForcedTool, OnDelta, Request, Response
from flowgraph_nodes.models.failures import UnreadableReplyError, error_in, is_about_arguments, translated
from flowgraph_nodes.models.settings import ModelSettings
from flowgraph_nodes.models.stream import StreamAssembler, counts_of
from flowgraph_nodes.threads import threads
from flowgraph_nodes.wire import WireMessage, from_wire, sendable, to_wire

_END: Final = object()
_BY_IDENTITY: Final = frozenset({"azure", "bedrock", "sagemaker", "vertex_ai"})
"""Providers that may take their rights from the machine: a missing key says nothing."""

_litellm: Any = None


async def complete(name: str, request: Request, on_delta: OnDelta | None = None) -> Response:
    """One call of the model `name`, with the request's settings; streamed when `on_delta` is given.

    Raises:
        TransientModelError, PermanentModelError: see `flowgraph_nodes.errors`.
    """
    litellm = _litellm or await threads().run(_load)
    arguments = _arguments(name, request)
    settings = request.settings
    if on_delta is None:
        return await _completed(litellm, name, arguments, settings)
    arguments |= {"stream": True, "stream_options": {"include_usage": True}}
    with _translation(name, settings):
        stream = await _call(litellm, arguments)
        await _see_if_refused(stream)
    assembler = StreamAssembler()
    try:
        while True:
            with _translation(name, settings):
                chunk = await _next(stream)
            if chunk is _END:
                break
            for delta in assembler.feed(chunk):
                await on_delta(delta)
    finally:
        await _close(stream)
    return _assembled(litellm, name, assembler, stream)


def check(name: str, settings: ModelSettings) -> None:
    """See that the provider is known and its key is there, without a call. A given key or base is not doubted.

    Raises:
        ModelConfigError: a call cannot succeed.
    """
    if settings.api_key is not None or settings.api_base is not None:
        return
    provider, _, rest = name.partition("/")
    if rest and os.environ.get(f"{provider.upper()}_API_KEY"):
        return  # no need for the slow import
    litellm = _load()
    try:
        _, provider, _, _ = litellm.get_llm_provider(model=name)
    except Exception:
        raise ModelConfigError(
            f"model '{name}': unknown provider; names are 'provider/model', such as 'openai/gpt-5-mini'", model=name
        ) from None
    if provider in _BY_IDENTITY or any("key" in key or "token" in key for key in settings.extra):
        return
    missing = [key for key in litellm.validate_environment(name)["missing_keys"] if key.endswith("_API_KEY")]
    if missing:
        raise ModelConfigError(
            f"model '{name}': no key; set {' and '.join(missing)} in the environment or give api_key=", model=name
        )


async def priced(name: str) -> bool:
    """Whether litellm's table has a price for the model."""
    return _in_table(_litellm or await threads().run(_load), name)


def _in_table(litellm: Any, name: str) -> bool:
    return any("input_cost_per_token" in litellm.model_cost.get(key, ()) for key in (name, name.partition("/")[2]))


def _load() -> Any:
    global _litellm  # noqa: PLW0603 - set once it is whole: sys.modules holds it long before
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # or it fetches its prices when imported
    import litellm

    loaded: Any = litellm
    loaded.suppress_debug_info = True  # or it prints advertisements
    _litellm = loaded
    return loaded


@contextmanager
def _translation(name: str, settings: ModelSettings) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise translated(error, name, settings.secrets()) from None


async def _completed(litellm: Any, name: str, arguments: dict[str, Any], settings: ModelSettings) -> Response:
    """A plain call. A reply that was made, and paid, but cannot be read is never a reason to ask for the same again."""
    with _translation(name, settings):
        try:
            completion = await _call(litellm, arguments)
        except Exception as error:
            if not is_about_arguments(error):
                raise
            # the model's doing, not the provider's: it may correct itself
            unknown = Usage(model_calls=1, partial=True)
            return Response(message=AssistantMessage(), usage=unknown, finish_reason=MALFORMED, model=name)
    try:
        return _response(litellm, name, completion)
    except ModelError:
        raise
    except Exception as error:
        unreadable = UnreadableReplyError(f"{type(error).__name__}: {error}")
        raise translated(unreadable, name, settings.secrets()) from None


async def _see_if_refused(stream: Any) -> None:
    """Raise the error that a server sent as plain JSON, with status 200, instead of a stream: it would be lost."""
    response = getattr(getattr(stream, "completion_stream", None), "response", None)
    headers = getattr(response, "headers", {})
    if response is None or "content-length" not in headers or "json" not in headers.get("content-type", ""):
        return
    body = await response.aread() if _on_asyncio() else await threads().run(response.read)
    if (error := error_in(body)) is not None:
        raise error


async def _call(litellm: Any, arguments: dict[str, Any]) -> Any:
    if _on_asyncio():
        return await litellm.acompletion(**arguments)
    return await threads().run(partial(litellm.completion, **arguments))


async def _next(stream: Any) -> Any:
    if _on_asyncio():
        return await anext(stream, _END)
    return await threads().run(partial(next, stream, _END))


async def _close(stream: Any) -> None:
    """End the connection, also when we are being cancelled; what was received stands."""
    with anyio.CancelScope(shield=True), suppress(Exception):
        if _on_asyncio():
            await stream.aclose()
        else:
            stream.close()


def _on_asyncio() -> bool:
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


def _arguments(name: str, request: Request) -> dict[str, Any]:
    """The call as litellm takes it; what is unset is left out."""
    settings = request.settings
    given: dict[str, Any] = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "seed": settings.seed,
        "max_tokens": settings.max_tokens,
        "stop": None if settings.stop is None else list(settings.stop),
        "api_base": settings.api_base,
        "api_key": _key(name, settings),
        "timeout": settings.timeout,
    }
    arguments: dict[str, Any] = {
        **settings.extra,
        **{key: value for key, value in given.items() if value is not None},
        "model": name,
        "messages": [_taken_back(to_wire(message)) for message in request.messages],
        "num_retries": 0,
        "max_retries": 0,
    }
    if request.tools:
        arguments["tools"] = [sendable(spec.to_wire()) for spec in request.tools]
        if isinstance(request.tool_choice, ForcedTool):
            arguments["tool_choice"] = {"type": "function", "function": {"name": request.tool_choice.name}}
        elif request.tool_choice is not None:
            arguments["tool_choice"] = request.tool_choice
    if (wanted := request.response_format) is not None:
        schema = {"name": wanted.name, "schema": dict(wanted.schema), "strict": wanted.strict}
        arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
    return arguments


def _key(name: str, settings: ModelSettings) -> str | None:
    """The key to send. A server of one's own often wants none, while the client insists on one."""
    if settings.api_key is not None or settings.api_base is None:
        return settings.secret()
    provider = name.partition("/")[0].upper()
    return None if os.environ.get(f"{provider}_API_KEY") else "none"


def _taken_back(wire: WireMessage) -> WireMessage:
    """A message as providers take it back: without our record of the thinking, arguments always an object."""
    wire.pop("reasoning_content", None)
    for call in wire.get("tool_calls", ()):
        function = call["function"]
        if not _is_object(function["arguments"]):
            text = function["arguments"].strip()
            function["arguments"] = json.dumps({"invalid_arguments": text}) if text else "{}"
    sound: WireMessage = sendable(wire)
    return sound


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _response(litellm: Any, name: str, completion: Any) -> Response:
    if not completion.choices:
        raise ModelServerError(f"model '{name}': the reply has no choices", model=name)
    choice = completion.choices[0]
    message = from_wire(choice.message.model_dump(exclude_none=True))
    reported = getattr(completion, "usage", None)
    assert isinstance(message, AssistantMessage)
    blocks = message.extra.get("thinking_blocks")
    return Response(
        message=replace(message, extra={"thinking_blocks": blocks} if blocks else {}),
        usage=_usage(litellm, name, counts_of(reported), reported),
        finish_reason=choice.finish_reason or "stop",
        model=completion.model or name,
    )


def _assembled(litellm: Any, name: str, assembler: StreamAssembler, stream: Any) -> Response:
    # the chunks that litellm took in tell what is real: it makes up an end, and counts that were not reported
    taken = getattr(stream, "chunks", None)
    if taken is not None and not taken:
        raise ModelConnectionError(f"model '{name}': the stream ended before it began", model=name)
    reported = taken is None or any(getattr(chunk, "usage", None) is not None for chunk in taken)
    return Response(
        message=assembler.message,
        usage=_usage(litellm, name, assembler.usage if reported else {}, assembler.reported),
        finish_reason=assembler.finish_reason or "stop",
        model=assembler.model or name,
    )


def _usage(litellm: Any, name: str, counts: dict[str, int], reported: Any) -> Usage:
    """Tokens and money of one call; partial when the counts or the price are unknown."""
    if not counts:
        return Usage(model_calls=1, partial=True)
    cost = _cost(litellm, name, reported)
    return Usage(
        input_tokens=counts.get("prompt_tokens", 0),
        output_tokens=counts.get("completion_tokens", 0),
        cached_tokens=counts.get("cached_tokens", 0),
        reasoning_tokens=counts.get("reasoning_tokens", 0),
        model_calls=1,
        cost=cost,
        partial=cost is None,
    )


def _cost(litellm: Any, name: str, reported: Any) -> float | None:
    """What the provider says it cost, else by litellm's table, which prices some models it does not know at 0."""
    said = getattr(reported, "cost", None)
    if isinstance(said, int | float) and not isinstance(said, bool):
        return float(said)
    if not _in_table(litellm, name):
        return None
    try:
        return float(sum(litellm.cost_per_token(model=name, usage_object=reported)))
    except Exception:
        return None
