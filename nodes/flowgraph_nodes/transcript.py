"""The transcript of a conversation, which leaves no tool call unanswered.

Providers refuse a request with an unanswered call, and the turn after would fail far from the cause: so such
a transcript cannot be built.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, overload

from flowgraph.codec import digest
from flowgraph_nodes.errors import TranscriptError
from flowgraph_nodes.messages import AssistantMessage, Message, ToolMessage
from flowgraph_nodes.wire import WireMessage, from_wire, to_wire

_Rolled: TypeAlias = tuple[int, str | None]
"""How many messages a digest covers, and the digest; None when one of them has none."""
_START: Final[_Rolled] = (0, "")


@dataclass(frozen=True, slots=True, init=False)
class Transcript(Sequence[Message]):
    """An immutable sequence of messages in which every tool call is answered.

    After an assistant message with calls come exactly one `ToolMessage` per call, in call order, and no
    tool message stands anywhere else.

    Raises:
        TranscriptError: from the constructor, `add` and `answer` when that would not hold.
    """

    messages: tuple[Message, ...]
    _rolled: _Rolled = field(compare=False, repr=False)

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        checked = tuple(messages)
        _check(checked)
        object.__setattr__(self, "messages", checked)
        object.__setattr__(self, "_rolled", _START)

    def add(self, *messages: Message) -> Transcript:
        """A transcript with `messages` at its end; they must be complete in themselves."""
        _check(messages)
        return self._joined(messages)

    def answer(self, reply: AssistantMessage, results: Iterable[ToolMessage] = ()) -> Transcript:
        """A transcript with a reply and the results of its calls; the results may come in any order."""
        found: dict[str, ToolMessage] = {}
        for result in results:
            if result.call_id in found:
                raise TranscriptError(f"call {result.call_id!r} has two results; give one result per call id")
            found[result.call_id] = result
        ordered = [found.pop(call.id) for call in reply.tool_calls if call.id in found]
        if found:
            raise TranscriptError(f"results for calls that were not made: {', '.join(map(repr, found))}")
        return self.add(reply, *ordered)

    def to_wire(self) -> list[WireMessage]:
        """The messages as plain JSON-able dicts; `from_wire` reads them back without loss."""
        return [to_wire(message) for message in self.messages]

    @classmethod
    def from_wire(cls, messages: Iterable[Mapping[str, Any]]) -> Transcript:
        """Read plain dicts.

        Raises:
            TranscriptError: a message has an unknown role, parts that are not text, or an unanswered call.
        """
        return cls(from_wire(message) for message in messages)

    def __digest__(self) -> str | None:
        """For `flowgraph.codec.digest`: a rolling digest, so that only messages that came since the last are read."""
        count, rolled = self._rolled
        for message in self.messages[count:]:
            one = digest(message)
            rolled = None if rolled is None or one is None else hashlib.sha256(f"{rolled}{one}".encode()).hexdigest()
        object.__setattr__(self, "_rolled", (len(self.messages), rolled))
        return rolled

    def _joined(self, more: tuple[Message, ...]) -> Transcript:
        joined = object.__new__(Transcript)
        object.__setattr__(joined, "messages", self.messages + more)
        object.__setattr__(joined, "_rolled", self._rolled)
        return joined

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...

    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        return self.messages[index]


def _check(messages: tuple[Message, ...]) -> None:
    """Raise unless each call is answered once, in call order, right after its message."""
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            if not waiting:
                raise TranscriptError(f"result for {message.call_id!r}, but no call waits for one there")
            if message.call_id != waiting[0]:
                raise TranscriptError(f"result for {message.call_id!r} where one for {waiting[0]!r} is due")
            del waiting[0]
            continue
        if waiting:
            break
        if isinstance(message, AssistantMessage):
            waiting = [call.id for call in message.tool_calls]
            if not all(waiting) or len(set(waiting)) < len(waiting):
                raise TranscriptError(f"missing or repeated call ids: {waiting}; use with_unique_ids() first")
    if waiting:
        raise TranscriptError(f"unanswered tool calls: {waiting}; add a result for each")
