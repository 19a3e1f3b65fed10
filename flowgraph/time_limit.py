"""Time limits that can stand still, while a person or a time is waited for."""

from __future__ import annotations

import math

import anyio


class TimeLimit:
    """The limit that a cancel scope sets, if there is one. waited: seconds that did not count."""

    __slots__ = ("_holds", "_left", "_since", "scope", "waited")

    def __init__(self, scope: anyio.CancelScope | None = None) -> None:
        self.scope = scope
        self.waited = 0.0
        self._holds = 0
        self._since = self._left = 0.0

    def hold(self) -> None:
        """Let it stand still, until `let_go` was called as often."""
        self._holds += 1
        if self._holds == 1 and self.scope is not None:
            self._since = anyio.current_time()
            self._left = self.scope.deadline - self._since
            self.scope.deadline = math.inf

    def let_go(self) -> None:
        """It counts again, when nothing else holds it."""
        self._holds -= 1
        if self._holds == 0 and self.scope is not None:
            now = anyio.current_time()
            self.waited += now - self._since
            self.scope.deadline = now + self._left
