"""What is said in one run of an agent, as it grows."""

from __future__ import annotations

from collections.abc import Iterable

from flowgraph_nodes.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from flowgraph_nodes.transcript import Transcript


class History:
    """The transcript of one run; at no moment does it hold an unanswered call.

    instructions: the system prompt, "" for none. before: the conversation that is continued; its system messages are
    left out, since each run has its own. task: what is asked now.
    """

    def __init__(self, instructions: str, before: Iterable[Message], task: str) -> None:
        system = [SystemMessage(instructions)] if instructions else []
        earlier = [message for message in before if not isinstance(message, SystemMessage)]
        self.transcript = Transcript((*system, *earlier))
        self.start = len(self.transcript)
        self.turns = 0
        self.add(UserMessage(task))

    def __len__(self) -> int:
        return len(self.transcript)

    def add(self, message: Message) -> None:
        """Add a message that is complete in itself."""
        self.transcript = self.transcript.add(message)

    def answer(self, reply: AssistantMessage, results: Iterable[ToolMessage]) -> None:
        """Add a reply together with the results of its calls."""
        self.transcript = self.transcript.answer(reply, results)

    @property
    def said(self) -> str | None:
        """The last text that the model wrote in this run."""
        for message in reversed(self.transcript[self.start :]):
            if isinstance(message, AssistantMessage) and message.content.strip():
                return message.content
        return None
