"""Putting other models in the place of real ones, for a block of code: tests need not touch module-level graphs.

A block holds in the whole process while it is open: on any thread (also of a pool that was there before), in any task
and event loop. What the block itself starts as tasks keeps it even when it outlives the block. Where several blocks
are open at once, as in tests that run side by side in threads, those that the caller is in itself come first.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import count, takewhile
from typing import Any, Final

from flowgraph_nodes.errors import ModelConfigError, RealModelError
from flowgraph_nodes.models.base import ChatModel


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    """One block. number: blocks are numbered as they are entered. models: None forbids every real model."""

    number: int
    models: Mapping[str, ChatModel] | None


_numbers: Final = count()
_own: Final[ContextVar[tuple[_Layer, ...]]] = ContextVar("flowgraph_models", default=())
"""The blocks that the caller is in, inner ones first."""
_open: tuple[_Layer, ...] = ()
"""All open blocks, the newest first: a context variable alone does not reach threads that others started."""
_lock: Final = threading.Lock()


@contextmanager
def override_models(models: Mapping[str, ChatModel]) -> Iterator[None]:
    """While this block is open, a call of a real model whose name fits a pattern goes to the model given for it.

    models: from a name or pattern (`"openai/*"`, `"*"`) to a model, usually a `ScriptedModel` or `Scripted`; the
    first pattern that fits holds. Blocks nest: inner ones come first. It holds in every thread of the process.

    Raises:
        ModelConfigError: a name is no text, or what is given for it is no model.
    """
    for pattern, model in dict[Any, Any](models).items():
        if not isinstance(pattern, str):
            raise ModelConfigError(f"override_models: {pattern!r} is no name or pattern, such as 'openai/*'")
        if not isinstance(model, ChatModel):
            kind = type(model).__name__
            raise ModelConfigError(f"override_models: '{pattern}' has a {kind}, which is no model: try ScriptedModel")
    with _layer(dict(models)):
        yield


@contextmanager
def no_real_models() -> Iterator[None]:
    """While this block is open, a call of a real model raises `RealModelError`, on every thread of the process.

    `override_models` within may replace the model.
    """
    with _layer(None):
        yield


@contextmanager
def _layer(models: Mapping[str, ChatModel] | None) -> Iterator[None]:
    global _open  # noqa: PLW0603 - that is what holds in the whole process
    layer = _Layer(next(_numbers), models)
    with _lock:
        _open = (layer, *_open)
    token = _own.set((layer, *_own.get()))
    try:
        yield
    finally:
        with _lock:
            _open = tuple(other for other in _open if other is not layer)
        with suppress(ValueError):  # left in another context than entered, as fixtures may be: nothing to undo here
            _own.reset(token)


def stand_in(name: str) -> ChatModel | None:
    """The model to use in place of the real model `name`; None when there is none.

    Raises:
        RealModelError: real models are forbidden here.
    """
    own = _own.get()
    mine = tuple(takewhile(lambda layer: layer.models is not None, own))
    forbidden = own[len(mine)].number if len(mine) < len(own) else -1
    others = [layer for layer in _open if layer not in own and layer.number > forbidden]
    before = tuple(takewhile(lambda layer: layer.models is not None, others))
    if (found := _first((*mine, *before), name)) is not None:
        return found
    if forbidden >= 0 or len(before) < len(others):
        raise RealModelError(f"model '{name}' is real, and no_real_models() forbids it here", model=name)
    return None


def _first(layers: Iterable[_Layer], name: str) -> ChatModel | None:
    for layer in layers:
        for pattern, model in (layer.models or {}).items():
            if fnmatchcase(name, pattern):
                return model
    return None
