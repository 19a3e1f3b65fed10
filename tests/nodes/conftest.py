"""Fixtures of the node tests: everything async runs on asyncio and on trio, servers are real."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .chat_server import ChatServer

LITELLMS_OWN_WARNINGS = (
    "ignore:Items? .* (is|are) using the `ReadOnly` qualifier:UserWarning",
    "ignore:Accessing the 'model_.*fields' attribute on the instance:DeprecationWarning",
)
"""What pydantic says of litellm's types when a stream is read. Warnings are errors here, and these are not ours."""


def pytest_configure(config: pytest.Config) -> None:
    for line in LITELLMS_OWN_WARNINGS:
        config.addinivalue_line("filterwarnings", line)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    """A running server without a script: give it one with `chat_server.script(...)`."""
    with ChatServer() as server:
        yield server
