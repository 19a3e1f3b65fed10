"""What comes of an agent that runs alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from flowgraph.codec import StoredValue
from flowgraph.node_run import NodeRun
from flowgraph.outcome import Usage
from flowgraph_nodes.agents.reasons import StopReason
from flowgraph_nodes.messages import Message
from flowgraph_nodes.transcript import Transcript


@dataclass(frozen=True, slots=True)
class AgentResult:
    """The result of a run.

    output: the answer, text or a value of the output type. messages: the whole conversation, system prompt included;
    give it as `history=` to go on. new_messages: those of this run, from the task on. stop_reason: "completed" or
    "stopped_by_tool". usage: tokens, calls and money of this run, nested agents included.
    """

    output: Annotated[Any, StoredValue()]
    messages: tuple[Message, ...]
    new_messages: tuple[Message, ...]
    stop_reason: StopReason
    usage: Usage


def messages_of(run: NodeRun) -> tuple[Message, ...]:
    """The conversation of an agent's node run, in which no call is unanswered; () when it has not ended yet."""
    return Transcript.from_wire(run.detail.get("messages", ())).messages


def result_of(run: NodeRun) -> AgentResult:
    """The result of an agent's node run that succeeded."""
    messages = messages_of(run)
    start = len(messages) - run.detail["new"]
    return AgentResult(run.value, messages, messages[start:], run.detail["stop_reason"], run.usage)
