"""What a model is: something that completes a request, streaming it when somebody listens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

from flowgraph.outcome import Usage
from flowgraph_nodes.messages import AssistantMessage, ToolSpec
from flowgraph_nodes.models.settings import ModelSettings
from flowgraph_nodes.transcript import Transcript


@dataclass(frozen=True, slots=True)
class ForcedTool:
    """A tool choice: the model must call the tool of that name."""

    name: str


ToolChoice: TypeAlias = Literal["auto", "none", "required"] | ForcedTool


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """The JSON schema that the answer's text must follow."""

    schema: Mapping[str, Any]
    name: str = "answer"
    strict: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One model call.

    messages: a transcript, so that no call in it is unanswered.
    tools: the tools offered now. tool_choice: None leaves it to the provider.
    settings: those of the call; they lie over the model's own.
    path: the path of the calling node run (`team/researcher`); scripted models are keyed by it.
    """

    messages: Transcript
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice | None = None
    settings: ModelSettings = field(default_factory=ModelSettings)
    response_format: ResponseFormat | None = None
    path: str = ""


MALFORMED: Final = "malformed"
"""The finish reason of a reply that could not be read for the model's own fault: it is asked again, with a remark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A model's reply.

    message: its text and calls; ids may be missing or repeated, see `AssistantMessage.with_unique_ids`.
    usage: tokens and money of this call; `partial` when a count was not reported or no price is known.
    finish_reason: "stop", "tool_calls", "length", "content_filter", or the provider's own word.
    model: the model that answered, as the provider names it.
    waited: seconds that the call waited for its `RateLimit`, before the model had it.
    """

    message: AssistantMessage
    usage: Usage
    finish_reason: str = "stop"
    model: str = ""
    waited: float = 0.0

    @property
    def cut_off(self) -> bool:
        """Whether the reply ended at the token limit: its last call must not run, it may be incomplete."""
        return self.finish_reason == "length"


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call.

    index: the call's position in the reply. id, name: as far as known by now. arguments: the piece.
    """

    index: int
    id: str
    name: str
    arguments: str


Delta: TypeAlias = TextDelta | ReasoningDelta | ToolCallDelta
OnDelta: TypeAlias = Callable[[Delta], Awaitable[object]]
"""Called with each piece of a reply, in order; it is awaited, so a slow listener slows the stream."""


@runtime_checkable
class ChatModel(Protocol):
    """A model that can be called: any object with these members. One object serves many calls at once."""

    @property
    def name(self) -> str:
        """The name for messages, records and price tables, such as "openai/gpt-5-mini"."""
        ...

    def check(self) -> None:
        """Raise `ModelConfigError` when a call cannot succeed as things are configured. Makes no call."""
        ...

    async def complete(self, request: Request, on_delta: OnDelta | None = None) -> Response:
        """Make one call, without retries; stream it when `on_delta` is given.

        Raises:
            TransientModelError: the same request may succeed later.
            PermanentModelError: it will not.
        """
        ...


@runtime_checkable
class Priced(Protocol):
    """A model that can say whether its calls have a known price. Under a cost limit, one that cannot is refused."""

    async def priced(self) -> bool:
        """Whether the usage of a call will have a cost. Makes no call."""
        ...


async def is_priced(model: ChatModel) -> bool:
    """Whether a call of the model has a known price."""
    return isinstance(model, Priced) and await model.priced()
