"""Why an agent's run stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from flowgraph_nodes.messages import ToolCall

StopReason: TypeAlias = Literal[
    "completed",  # an answer without calls, or one of the output type
    "stopped_by_tool",  # a tool returned `Stop(payload)`
    "agent_failed",  # a tool returned `GiveUp(reason)`
    "limit",  # a limit was reached; the detail says which
    "tool_failures",  # the same call failed again and again: stuck
    "cancelled",  # from outside
    "error",  # something raised: the provider, mostly
]

SUCCESSES: Final = frozenset({"completed", "stopped_by_tool"})


@dataclass(frozen=True, slots=True)
class Ending:
    """How an agent's run ended.

    output: the answer, when it is a success; else what there is of one, None when there is nothing. detail: the
    reason in words. call: the one that stopped the run, for `stopped_by_tool`.
    """

    reason: StopReason
    output: Any = None
    detail: str = ""
    call: ToolCall | None = None

    @property
    def ok(self) -> bool:
        """Whether the output is an answer."""
        return self.reason in SUCCESSES
