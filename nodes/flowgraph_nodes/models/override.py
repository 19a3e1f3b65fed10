"""Putting other models in the place of real ones, for a block of code: tests need not touch module-level graphs.

The stand-ins hold for everything the block starts, on any thread or event loop, and for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from fnmatch import fnmatchcase
from typing import Final

from flowgraph_nodes.errors import RealModelError
from flowgraph_nodes.models.base import ChatModel

_layers: Final[ContextVar[tuple[Mapping[str, ChatModel] | None, ...]]] = ContextVar("flowgraph_models", default=())


@contextmanager
def override_models(models: Mapping[str, ChatModel]) -> Iterator[None]:
    """In this block, a call of a real model whose name fits a pattern goes to the model given for it.

    models: from a name or pattern (`"openai/*"`, `"*"`) to a model, usually a `ScriptedModel` or `Scripted`; the
    first pattern that fits holds. Blocks nest: inner ones come first.
    """
    with _layer(dict(models)):
        yield


@contextmanager
def no_real_models() -> Iterator[None]:
    """In this block, a call of a real model raises `RealModelError`, unless `override_models` within replaces it."""
    with _layer(None):
        yield


@contextmanager
def _layer(models: Mapping[str, ChatModel] | None) -> Iterator[None]:
    token = _layers.set((models, *_layers.get()))
    try:
        yield
    finally:
        with suppress(ValueError):  # left in another context than entered, as fixtures may be: nothing to undo here
            _layers.reset(token)


def stand_in(name: str) -> ChatModel | None:
    """The model to use in place of the real model `name`; None when there is none.

    Raises:
        RealModelError: real models are forbidden here.
    """
    for models in _layers.get():
        if models is None:
            raise RealModelError(f"model '{name}' is real, and no_real_models() forbids it here", model=name)
        for pattern, model in models.items():
            if fnmatchcase(name, pattern):
                return model
    return None
