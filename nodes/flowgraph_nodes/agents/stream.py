"""Watching an agent: its events, typed."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

import anyio

import flowgraph as fg
from flowgraph import events as ev
from flowgraph_nodes.agents.alone import Alone, Conversing
from flowgraph_nodes.agents.part import Answer
from flowgraph_nodes.agents.result import AgentResult, messages_of
from flowgraph_nodes.messages import Message, ToolCall
from flowgraph_nodes.models import ToolCallDelta
from flowgraph_nodes.tools import ToolResult

if TYPE_CHECKING:
    from flowgraph.streams import Reader

_ROUND: Final = re.compile(r".*#(\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """Something that happened in an agent. path: of the node run it happened in, nested agents included."""

    path: str

    @property
    def iteration(self) -> int | None:
        """The round (from 0) of the innermost loop around it; None outside of loops."""
        found = _ROUND.match(self.path)
        return int(found[1]) if found else None


@dataclass(frozen=True, slots=True)
class TextPiece(AgentEvent):
    """A piece of what the model writes."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningPiece(AgentEvent):
    """A piece of the model's thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class CallPiece(AgentEvent):
    """A piece of a tool call while the model writes it. index: its position in the reply."""

    index: int
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Restarted(AgentEvent):
    """The model is asked again for the same reply: forget the pieces of it so far."""


@dataclass(frozen=True, slots=True)
class ToolStarted(AgentEvent):
    """A tool call begins to run."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolFinished(AgentEvent):
    """A tool call has ended."""

    result: ToolResult


@dataclass(frozen=True, slots=True)
class TurnTaken(AgentEvent):
    """A turn is over; `number` counts them from 1."""

    number: int


@dataclass(frozen=True, slots=True)
class IterationTaken(AgentEvent):
    """A round of a LoopAgent is over. number: from 0. output: its answer. finished: whether that is the final one."""

    number: int
    output: Any
    finished: bool


@dataclass(frozen=True, slots=True)
class SubtaskTaken(AgentEvent):
    """A subtask of an AutonomousAgent is over. success: whether it has done what it was for. summary: of its model."""

    step_id: str
    success: bool
    summary: str


@dataclass(frozen=True, slots=True)
class AgentEnded(AgentEvent):
    """An agent has ended with this status; `output` is its answer when it succeeded."""

    status: fg.Status
    output: Any = None


AnyAgentEvent: TypeAlias = (
    TextPiece
    | ReasoningPiece
    | CallPiece
    | Restarted
    | ToolStarted
    | ToolFinished
    | TurnTaken
    | IterationTaken
    | SubtaskTaken
    | AgentEnded
)


def agent_event(event: ev.Event) -> AnyAgentEvent | None:
    """The event of an agent that an event of a run stands for; None when it is of another kind."""
    if isinstance(event, ev.NodeFinished):
        stopped = event.detail is not None and "stop_reason" in event.detail
        output = event.value.output if isinstance(event.value, Answer) else event.value
        return AgentEnded(event.path, event.status, output) if stopped else None
    if not isinstance(event, ev.Emitted):
        return None
    match event.kind, event.data:
        case "text", str(text):
            return TextPiece(event.path, text)
        case "reasoning", str(text):
            return ReasoningPiece(event.path, text)
        case "tool_call", ToolCallDelta(index, call_id, name, arguments):
            return CallPiece(event.path, index, call_id, name, arguments)
        case "restart", None:
            return Restarted(event.path)
        case "tool_started", ToolCall() as call:
            return ToolStarted(event.path, call)
        case "tool_finished", ToolResult() as result:
            return ToolFinished(event.path, result)
        case "turn", int(number):
            return TurnTaken(event.path, number)
        case "iteration", {"number": int(number), "output": output, "finished": bool(finished)}:
            return IterationTaken(event.path, number, output, finished)
        case "subtask", {"step_id": str(step_id), "success": bool(success), "summary": str(summary)}:
            return SubtaskTaken(event.path, step_id, success, summary)
    return None


class _Feed:
    """The events of an agent, read once and kept, so that everybody who watches gets all of them."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._kept: list[AnyAgentEvent] = []
        self._reading = anyio.Lock()

    async def at(self, position: int) -> AnyAgentEvent:
        """The event at that position, once it is there. Raises StopAsyncIteration when there will be none."""
        if position < len(self._kept):
            await anyio.lowlevel.checkpoint()
            return self._kept[position]
        async with self._reading:  # another watcher may have read on while this one waited
            while position >= len(self._kept):
                if (found := agent_event(await anext(self._reader))) is not None:
                    self._kept.append(found)
        return self._kept[position]


class AgentEvents(AsyncIterator[AnyAgentEvent]):
    """One watcher of an agent: its events from the start."""

    def __init__(self, feed: _Feed) -> None:
        self._feed = feed
        self._next = 0

    async def __anext__(self) -> AnyAgentEvent:
        event = await self._feed.at(self._next)
        self._next += 1
        return event


class AgentRun:
    """An agent at work; made by `agent.stream`. Iterate over it for its events, or over `text()`; then `result()`.

    Every iteration, side by side or one after the other, gets everything from the start.
    It starts when the block is entered. Leaving the block stops what still runs, and waits for its end.
    """

    def __init__(self, agent: Conversing, inputs: Mapping[str, Any], history: Iterable[Message] | None) -> None:
        self._alone = Alone(agent, tuple(history or ()))
        self._live = fg.start(self._alone.graph, self._alone.checked(inputs))
        self._feed: _Feed | None = None

    async def __aenter__(self) -> Self:
        await self._live.__aenter__()
        self._feed = _Feed(aiter(self._live))  # before the first call, so that all is streamed
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._live.__aexit__(kind, error, traceback)

    def __aiter__(self) -> AgentEvents:
        if self._feed is None:
            raise fg.FlowgraphError("the run has not started: use `async with agent.stream(...) as run`")
        return AgentEvents(self._feed)

    @property
    def record(self) -> fg.Run:
        """The run so far, with everything that it called."""
        return self._live.record

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation once the agent has ended, however it did: every call in it is answered."""
        return messages_of(self.record.nodes[self._alone.name])

    async def text(self) -> AsyncIterator[str]:
        """The pieces of text of this agent (not of those below it), as they are written."""
        own = re.compile(rf"{re.escape(self._alone.name)}(#\d+)?/model(~\d+)?")  # a loop's rounds are its own, too
        async for event in self:
            if isinstance(event, TextPiece) and own.fullmatch(event.path):
                yield event.text

    async def result(self) -> AgentResult:
        """Wait for the end. Raises what stopped the agent, RunCancelled when it was cancelled."""
        return self._alone.result(await self._live.result(raise_on_failure=False))

    def cancel(self) -> None:
        """Stop the agent; `result` raises RunCancelled then."""
        self._live.cancel()
