"""`Model`: a real model by its name, and `Fallbacks`: several models, tried in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from flowgraph_nodes.errors import ModelConfigError, ModelError, PermanentModelError, TransientModelError
from flowgraph_nodes.models import litellm
from flowgraph_nodes.models.base import ChatModel, OnDelta, Request, Response, is_priced
from flowgraph_nodes.models.override import stand_in
from flowgraph_nodes.models.rate import RateLimit, estimate, gate_of
from flowgraph_nodes.models.settings import ModelSettings


@dataclass(frozen=True, slots=True)
class Model:
    """A real model, called through litellm.

    name: as litellm has it, "provider/model" (https://docs.litellm.ai/docs/providers).
    settings: the model's own; those of a request lie over them.
    rate: how often this process may call it. Models of the same name, server, key and rate share it, wherever in the
    process they are. Models that stand in for it (`override_models`) go without.

    Raises:
        ModelConfigError: the name is no text, the settings are no `ModelSettings`, or the rate is no `RateLimit`.
    """

    name: str
    settings: ModelSettings = field(default_factory=ModelSettings)
    rate: RateLimit | None = None

    def __post_init__(self) -> None:
        kinds: tuple[tuple[str, Any], ...] = (("name", str), ("settings", ModelSettings), ("rate", RateLimit | None))
        for what, wanted in kinds:
            if not isinstance(value := getattr(self, what), wanted):  # which may hold a key: its type is enough
                kind = getattr(wanted, "__name__", "RateLimit")
                raise ModelConfigError(f"Model: {what} is of type {type(value).__name__}, not {kind}")

    def check(self) -> None:
        """Raise `ModelConfigError` when the provider is unknown or its key is missing. Makes no call."""
        if (other := self._stand_in()) is not None:
            return other.check()
        return litellm.check(self.name, self.settings)

    async def complete(self, request: Request, on_delta: OnDelta | None = None) -> Response:
        """One call, without retries, when the rate allows it; see `ChatModel`.

        Raises:
            TransientModelError, PermanentModelError: the provider's error. RealModelError: see `no_real_models`.
        """
        request = replace(request, settings=request.settings.over(self.settings))
        if (other := self._stand_in()) is not None:
            return await other.complete(request, on_delta)
        if self.rate is None:
            return await litellm.complete(self.name, request, on_delta)
        settings = request.settings
        gate = gate_of((self.name, settings.api_base, settings.secret()), self.rate)
        async with gate.admitted(estimate(request)) as admission:
            return admission.told(await litellm.complete(self.name, request, on_delta))

    async def priced(self) -> bool:
        """Whether litellm's table has a price for it; see `Priced`."""
        if (other := self._stand_in()) is not None:
            return await is_priced(other)
        return await litellm.priced(self.name)

    def _stand_in(self) -> ChatModel | None:
        other = stand_in(self.name)
        itself = isinstance(other, Model) and other.name == self.name
        return None if itself else other


@dataclass(frozen=True, slots=True)
class Fallbacks:
    """Models tried in turn for each call, until one answers.

    models: at least one. A caller that retries does so for each of them before it goes on to the next.
    """

    models: tuple[ChatModel, ...]

    def __post_init__(self) -> None:
        if not self.models:
            raise ModelConfigError("an empty list of models: name at least one")

    @property
    def name(self) -> str:
        """The names of all, the first first."""
        return ", ".join(model.name for model in self.models)

    def check(self) -> None:
        """Check every one of them, since each may be needed."""
        for model in self.models:
            model.check()

    async def priced(self) -> bool:
        """Whether each of them has a known price, since each may be asked."""
        return all([await is_priced(model) for model in self.models])

    async def complete(self, request: Request, on_delta: OnDelta | None = None) -> Response:
        """The answer of the first model that gives one.

        Raises:
            TransientModelError: every model failed, one of them so that it may answer later.
            PermanentModelError: every model failed for good; it is the first one's error.
        """
        errors: list[ModelError] = []
        for model in self.models:
            try:
                return await model.complete(request, on_delta)
            except (TransientModelError, PermanentModelError) as error:
                errors.append(error)
        raise _worth_most(errors)


def _worth_most(errors: Sequence[ModelError]) -> ModelError:
    """The first transient error, since a retry makes sense then, or the first; the others as notes."""
    chosen = next((error for error in errors if isinstance(error, TransientModelError)), errors[0])
    for error in errors:
        if error is not chosen:
            chosen.add_note(f"also failed: {type(error).__name__}: {error}")
    return chosen
