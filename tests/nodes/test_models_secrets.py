"""Secrets are shown in no error and no repr, wherever they were given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flowgraph as fg
from flowgraph_nodes import ReactAgent
from flowgraph_nodes.agents.errors import AgentConfigError
from flowgraph_nodes.errors import ModelConfigError, ModelError
from flowgraph_nodes.messages import UserMessage
from flowgraph_nodes.models import Delta, Model, ModelSettings, Request, resolve
from flowgraph_nodes.transcript import Transcript

from .chat_server import ChatServer, error

SECRET = "zq7-marker-12345678"


async def failure(settings: ModelSettings, *, stream: bool) -> ModelError:
    async def listen(delta: Delta) -> None: ...

    request = Request(messages=Transcript([UserMessage("Hi")]))
    with pytest.raises(ModelError) as caught:
        await Model("openai/x", settings).complete(request, listen if stream else None)
    return caught.value


@pytest.mark.anyio
@pytest.mark.network_local
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "made",
    [
        lambda url: ModelSettings(api_base=url, api_key=SECRET),
        lambda url: ModelSettings(api_base=url, extra={"extra_headers": {"X-Custom": SECRET}}),
        lambda url: ModelSettings(api_base=url, extra={"extra_headers": {"Authorization": f"Bearer {SECRET}"}}),
        lambda url: ModelSettings(api_base=url, extra={"extra_body": {"deep": [{"word": SECRET}]}}),
        lambda url: ModelSettings(api_base=f"{url}?tok={SECRET}"),
    ],
    ids=["key", "header", "bearer", "deep", "query"],
)
async def test_c51_errors_of_providers_repeat_no_secret_of_the_settings(
    chat_server: ChatServer, made: Callable[[str], ModelSettings], stream: bool
) -> None:
    chat_server.script(error(400, f"what is {SECRET} for?"))
    assert "what is *** for?" in str(await failure(made(chat_server.url), stream=stream))


@pytest.mark.anyio
@pytest.mark.network_local
async def test_c51_errors_repeat_no_key_of_the_environment(
    chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    chat_server.script(error(400, f"what is {SECRET} for?"))
    assert "what is *** for?" in str(await failure(ModelSettings(api_base=chat_server.url), stream=False))


@pytest.mark.anyio
@pytest.mark.network_local
async def test_words_that_are_no_secret_stay_readable(chat_server: ChatServer) -> None:
    chat_server.script(error(400, "medium will not do"))
    settings = ModelSettings(api_base=chat_server.url, extra={"reasoning_effort": "medium"})
    assert "medium will not do" in str(await failure(settings, stream=False))


@pytest.mark.parametrize(
    "build",
    [
        lambda: ReactAgent(model="openai/x", settings={"api_key": SECRET}),  # type: ignore[arg-type]
        lambda: ReactAgent(model={"model": "openai/x", "api_key": SECRET}),  # type: ignore[arg-type]
        lambda: ReactAgent(model=[{"api_key": SECRET}]),  # type: ignore[list-item]
        lambda: ReactAgent(model="openai/x", prompt={"api_key": SECRET}),  # type: ignore[arg-type]
        lambda: ReactAgent(model="openai/x", model_retry={"api_key": SECRET}),  # type: ignore[arg-type]
        lambda: Model("openai/x", {"api_key": SECRET}),  # type: ignore[arg-type]
        lambda: Model({"api_key": SECRET}),  # type: ignore[arg-type]
        lambda: resolve({"api_key": SECRET}),  # type: ignore[arg-type]
    ],
)
def test_c51_what_is_refused_is_named_by_its_type(build: Callable[[], Any]) -> None:
    with pytest.raises((AgentConfigError, ModelConfigError), match="of type dict") as caught:
        build()
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("base", [f"https://h/v1?key={SECRET}", f"https://u:{SECRET}@h/v1", f"https://h/v1?{SECRET}"])
def test_c51_reprs_show_no_secret_of_a_url(base: str) -> None:
    settings = ModelSettings(api_base=base)
    for shown in (settings, Model("openai/x", settings), ReactAgent(model=Model("openai/x", settings)), fg.Retry(1)):
        assert SECRET not in repr(shown)
    assert "//h/v1" in repr(settings) or "@h/v1" in repr(settings)
