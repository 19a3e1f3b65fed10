"""How agents fail.

::

    flowgraph_nodes.errors.AgentError
    ├── AgentConfigError     an agent cannot be built as it is described; names everything that is wrong (permanent)
    └── AgentFailed          an agent's run stopped without success: `reason`, `partial`
        └── IterationsExhausted    a LoopAgent's answer was never finished (also a flows.LoopExhausted): `last`

A model's error is not wrapped: when no retry and no fallback helps, the agent fails with the provider's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flowgraph.errors import Permanent
from flowgraph_nodes.agents.reasons import StopReason
from flowgraph_nodes.errors import AgentError
from flowgraph_nodes.flows.errors import LoopExhausted
from flowgraph_nodes.messages import Message


class AgentConfigError(AgentError, Permanent, ValueError):
    """An agent cannot be built; `problems` lists everything that is wrong with its configuration."""

    def __init__(self, kind: str, name: str, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        lines = "".join(f"\n  - {problem}" for problem in self.problems)
        super().__init__(f"{kind} '{name}' cannot be built:{lines}")


class AgentFailed(AgentError):
    """An agent's run stopped without success.

    reason: why (see `StopReason`). detail: the same in words, such as which limit. partial: what there is of an
    answer, the last text that the model wrote; None when there is nothing. messages: the whole conversation, in
    which no call is unanswered, so that it can be continued.
    """

    def __init__(
        self, name: str, reason: StopReason, detail: str, *, partial: Any = None, messages: tuple[Message, ...] = ()
    ) -> None:
        self.reason = reason
        self.detail = detail
        self.partial = partial
        self.messages = messages
        super().__init__(f"agent '{name}' stopped ({reason}): {detail}")


class IterationsExhausted(AgentFailed, LoopExhausted):
    """A LoopAgent ran out of rounds, or stalled, before its answer was finished.

    last: the answer of its last round (also `partial`). iterations: how many rounds ran. stalled: the same answer came
    again and again.
    """

    def __init__(
        self, name: str, last: Any, iterations: int, *, stalled: bool = False, messages: tuple[Message, ...] = ()
    ) -> None:
        rounds = f"{iterations} iteration{'s' if iterations != 1 else ''}"
        self.reason = "limit"
        self.detail = f"stalled: the same answer came again, after {rounds}" if stalled else f"not done after {rounds}"
        self.partial = self.last = last
        self.messages = messages
        self.iterations = iterations
        self.stalled = stalled
        text = f"agent '{name}' stopped (limit): {self.detail} (on_exhausted='last' would take the last answer)"
        Exception.__init__(self, text)
