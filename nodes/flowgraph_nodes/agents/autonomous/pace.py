"""What a model is told on its way: that it thinks too long, and that a budget is being used up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from flowgraph_nodes.agents.autonomous.tools import THINK
from flowgraph_nodes.tools import ToolResult

SHARES: Final = (0.5, 0.8)
"""Of a budget: when so much of it is used, the model is told."""


class Thinking:
    """Counts calls of `think` in a row. most: after so many the model is told to act."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0

    def after(self, results: Iterable[ToolResult]) -> str:
        """What the model is to be told after these calls; "" for nothing."""
        for result in results:
            self._count = self._count + 1 if result.call.name == THINK else 0
        if self._count < self._most:
            return ""
        count, self._count = self._count, 0
        return f"You have thought {count} times in a row. Act now: call a tool that gets the work done."


def near(used: int, most: int, what: str) -> str:
    """What the model is told when this use reaches a share of a budget; "" for nothing."""
    marks = {math.ceil(share * most) for share in SHARES} - {most}
    return f"{used} of {most} {what} are used: plan the rest so that it is enough." if used in marks else ""
