"""Budgets: what a node run and everything below it has used of its limits, counted once on every level above."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .errors import LimitExceeded
from .outcome import NO_USAGE, Usage
from .policy import Limits

NEAR: Final = 0.8
"""From this share of a limit on, it is told once that the limit is near."""

_TOKENS: Final = ("tokens", "input_tokens", "output_tokens")

Near = Callable[[str, str, float, float], object]
"""Called with the path, the name of the limit, what is used, and the limit."""


class Budget:
    """The limits of the node run `path` ("" is the run), and what is used of them.

    depth: how far below the run the node run is. used, nodes, retries: what was used before, in a run taken up again.

    Tokens, cost and calls refuse the next call that costs something, and nothing else: what is under way may overshoot,
    and is counted. A failed call counts for nothing.
    """

    __slots__ = ("_calls", "_near", "_tell", "depth", "limits", "nodes", "path", "retries", "used")

    def __init__(
        self,
        limits: Limits,
        path: str,
        tell: Near,
        depth: int = 0,
        used: Usage = NO_USAGE,
        nodes: int = 0,
        retries: int = 0,
    ) -> None:
        self.limits = limits
        self.path = path
        self.depth = depth
        self.used = used
        self.nodes = nodes
        self.retries = retries
        self._calls = {"model_calls": used.model_calls, "tool_calls": used.tool_calls}  # those under way included
        self._tell = tell
        self._near: set[str] = set()

    def begin(self, depth: int, fresh: bool) -> None:
        """A node run below begins; fresh: for the first time. Raises LimitExceeded."""
        below, limits = depth - self.depth, self.limits
        if limits.depth is not None and below > limits.depth:
            raise self._exceeded("depth", f"nodes may lie at most {limits.depth} deep below it")
        if fresh:
            if limits.nodes is not None and self.nodes >= limits.nodes:
                raise self._exceeded("nodes", f"{limits.nodes} node runs have begun")
            self.nodes += 1
            self._look("nodes", self.nodes)

    def admit(self, spends: Usage) -> None:
        """A call that costs something is about to be made. Raises LimitExceeded; then it counts for nothing."""
        limits = self.limits
        for kind in _TOKENS:
            most, used = getattr(limits, kind), getattr(self.used, kind)
            if most is not None and used >= most:
                raise self._exceeded(kind, f"{used} of {most} {kind.replace('_', ' ')} are used")
        if limits.cost is not None and (self.used.cost or 0.0) >= limits.cost:
            raise self._exceeded("cost", f"${self.used.cost or 0.0:.4f} of ${limits.cost:.4f} are spent")
        for kind, count in (("model_calls", spends.model_calls), ("tool_calls", spends.tool_calls)):
            most = getattr(limits, kind)
            if count and most is not None and self._calls[kind] + count > most:
                raise self._exceeded(kind, f"{most} {kind.replace('_', ' ')} are made")
        self._count(spends, +1)

    def take_back(self, spends: Usage) -> None:
        """The call failed."""
        self._count(spends, -1)

    def retry(self) -> bool:
        """Whether one more attempt may be made; it is counted then."""
        if self.limits.retries is not None and self.retries >= self.limits.retries:
            return False
        self.retries += 1
        self._look("retries", self.retries)
        return True

    def charge(self, usage: Usage, admitted: bool) -> None:
        """Count what was used. admitted: its calls were counted when they were admitted."""
        self.used += usage
        if not admitted:
            self._count(usage, +1)
        for kind in _TOKENS:
            self._look(kind, getattr(self.used, kind))
        self._look("cost", self.used.cost or 0.0)

    def _count(self, usage: Usage, sign: int) -> None:
        for kind, count in (("model_calls", usage.model_calls), ("tool_calls", usage.tool_calls)):
            if count:
                self._calls[kind] += sign * count
                self._look(kind, self._calls[kind])

    def _look(self, limit: str, used: float) -> None:
        most = getattr(self.limits, limit)
        if most is not None and limit not in self._near and used >= NEAR * most:
            self._near.add(limit)
            self._tell(self.path, limit, used, most)

    def _exceeded(self, limit: str, detail: str) -> LimitExceeded:
        where = f"of '{self.path}'" if self.path else "of the run"
        return LimitExceeded(f"the limit '{limit}' {where} is used up: {detail}")
