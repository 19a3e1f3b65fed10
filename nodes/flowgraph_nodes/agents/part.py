"""Parts: a stretch of an agent's run that is a child of its own, with a conversation of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, TypeAlias

from flowgraph.codec import StoredValue
from flowgraph.context import Context
from flowgraph.node import Parameter
from flowgraph_nodes.agents.conclusion import concluded
from flowgraph_nodes.agents.history import History
from flowgraph_nodes.agents.reasons import Ending, StopReason
from flowgraph_nodes.agents.turn import Means
from flowgraph_nodes.messages import AssistantMessage, Message

Work: TypeAlias = Callable[[Context[Any], History, Means], Awaitable[Ending]]
"""What is done in a part, from its task to an ending."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a part that succeeded.

    output: the answer, or what the tool that stopped it gave. reason: "completed" or "stopped_by_tool". reply: the
    text of the model's last reply, "" for none. said: the last text that the model wrote at all. turns: taken.
    """

    output: Annotated[Any, StoredValue()]
    reason: StopReason
    reply: str
    said: str
    turns: int


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Part:
    """A part as a node: it takes a task, and gives an Answer. Raises AgentFailed when it stops without success.

    name: below the agent's node run. title: free text for drawings. system: its system prompt. before: messages that
    its conversation continues.
    """

    name: str
    work: Work
    means: Means
    title: str = ""
    system: str = ""
    before: tuple[Message, ...] = ()

    kind: ClassVar[str] = "agent"
    parameters: ClassVar[Mapping[str, Parameter]] = {"task": Parameter("task", str)}
    output_type: ClassVar[Any] = Answer

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Answer:
        """Do the work, and keep the conversation as details of this node run."""
        history = History(self.system, self.before, inputs["task"])
        means = replace(self.means, toolbox=self.means.toolbox.copy())  # what one part finds out is no other's
        ending = await concluded(ctx, ctx.path, history, lambda: self.work(ctx, history, means))
        return Answer(ending.output, ending.reason, _reply(history), history.said or "", history.turns)


def _reply(history: History) -> str:
    for message in reversed(history.transcript[history.start :]):
        if isinstance(message, AssistantMessage):
            return message.content.strip()
    return ""
