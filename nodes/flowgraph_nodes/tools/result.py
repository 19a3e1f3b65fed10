"""What came of a tool call: text for the model, the raw value for code, and what it means for the agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

from flowgraph.codec import StoredValue
from flowgraph_nodes.messages import ToolCall, ToolMessage
from flowgraph_nodes.redact import redacted
from flowgraph_nodes.tools.names import nearest_name
from flowgraph_nodes.tools.text import to_text

UNKNOWN_TOOL: Final = "UnknownTool"
BAD_ARGUMENTS: Final = "BadArguments"
TIMEOUT: Final = "Timeout"
CANCELLED: Final = "Cancelled"
FAILED: Final = "Failed"
BAD_RESULT: Final = "BadResult"
REFUSED: Final = "Refused"


@dataclass(frozen=True, slots=True)
class Stop:
    """Returned by a tool to end the agent's run: the call succeeded, `payload` is the outcome."""

    payload: Annotated[Any, StoredValue()] = None


@dataclass(frozen=True, slots=True)
class Fail:
    """Returned by a tool to say that it failed, in words for the model; the agent goes on."""

    message: str


@dataclass(frozen=True, slots=True)
class NeedsFeedback:
    """Returned by a tool that a person has to answer first: the answer is what the model gets as the result.

    choices: the possible answers; none: any text will do. The run waits meanwhile, if need be across processes; the
    tool is not called again.
    """

    question: str
    choices: tuple[str, ...] = ()

    @property
    def answers(self) -> Any:
        """The type of an answer."""
        return Literal[self.choices] if self.choices else str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Returned by a tool to end the agent's run without success: its task cannot be done, for this reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call has no value. kind: one of the constants of this module, or the exception's class name."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The one result of a call.

    text: what the model reads. value: what the tool returned, as it is; None when it failed.
    failure: set when it failed. stop, give_up: set when the tool asked the agent to stop, or to give up. feedback: set
    when a person has to answer first. full: the whole text, where `text` is cut.
    """

    call: ToolCall
    text: str
    value: Annotated[Any, StoredValue()] = None
    failure: Failure | None = None
    stop: Stop | None = None
    give_up: GiveUp | None = None
    feedback: NeedsFeedback | None = None
    full: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the tool ran and did not fail."""
        return self.failure is None

    @property
    def message(self) -> ToolMessage:
        """The result as it stands in the transcript."""
        return ToolMessage(self.call.id, self.text, nearest_name(self.call.name))


def returned(call: ToolCall, value: Any) -> ToolResult:
    """The result of a tool that returned `value`."""
    if isinstance(value, Fail):
        return failed(call, FAILED, value.message)
    if isinstance(value, GiveUp):
        return ToolResult(call, to_text(value.reason), value, give_up=value)
    if isinstance(value, NeedsFeedback):
        return ToolResult(call, f"A person has to answer first: {to_text(value.question)}", value, feedback=value)
    shown = value.payload if isinstance(value, Stop) else value
    if isinstance(shown, Iterator | AsyncIterator):  # it may never end, and would be used up
        kind = type(shown).__name__
        return failed(call, BAD_RESULT, f"the tool gave a {kind}, which cannot be shown; it must give a list or text")
    if isinstance(value, Stop):
        return ToolResult(call, to_text(value.payload), value.payload, stop=value)
    return ToolResult(call, to_text(value), value)


def failed(call: ToolCall, kind: str, message: str) -> ToolResult:
    """An error result, in words for the model."""
    message = to_text(message)
    return ToolResult(call, f"Error ({kind}): {message}", failure=Failure(kind, message))


def raised(call: ToolCall, error: BaseException) -> ToolResult:
    """The error result of a tool that raised: the error's kind and message, without its stack and secrets."""
    kind, leaves = type(error).__name__, list(_leaves(error))
    if leaves == [error]:
        message = to_text(error).removeprefix(f"{kind}: ") or "no message"
    else:
        message = "; ".join(map(to_text, leaves))
    return failed(call, kind, redacted(message))


def answered(result: ToolResult, answer: str) -> ToolResult:
    """The result of a call whose question was answered."""
    return replace(result, text=to_text(answer), value=answer, feedback=None)


def capped(result: ToolResult, limit: int | None) -> ToolResult:
    """The result with no more than `limit` characters of text, and a mark that says how many are left out."""
    length = len(result.text)
    if limit is None or length <= limit:
        return result
    mark = f"\n[{length - limit:,} of {length:,} characters are left out here]"
    return replace(result, text=result.text[:limit] + mark, full=result.text)


def cancelled(call: ToolCall) -> ToolResult:
    """The result of a call that was cancelled before it ended: for the transcript of a stopped run."""
    return failed(call, CANCELLED, "the call was cancelled before it ended")


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
