"""From what users write as a model to a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from flowgraph_nodes.errors import ModelConfigError
from flowgraph_nodes.models.base import ChatModel
from flowgraph_nodes.models.model import Fallbacks, Model

ModelLike: TypeAlias = str | ChatModel | Sequence[str | ChatModel]
"""A litellm name, a model, or a list of either: later ones are fallbacks, tried for each call."""


def resolve(model: ModelLike) -> ChatModel:
    """The model that is meant. Stand-ins (`override_models`) are looked up at each call, not here.

    Raises:
        ModelConfigError: an empty name or list, or something that is no model.
    """
    if isinstance(model, str):
        if not model.strip():
            raise ModelConfigError("an empty model name; names are 'provider/model', such as 'openai/gpt-5-mini'")
        return Model(model)
    if isinstance(model, ChatModel):
        return model
    if isinstance(model, Sequence):
        flat = tuple(resolve(item) for item in model)
        return flat[0] if len(flat) == 1 else Fallbacks(flat)
    # its repr may hold a key
    raise ModelConfigError(
        f"something of type {type(model).__name__} is no model; give a name, a Model, or a list of these"
    )
