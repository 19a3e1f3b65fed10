"""The desk of a run: its open gates, the answers to them, and when nothing but gates is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import anyio

from .errors import AnswerRefused
from .missing import MISSING
from .question import Question

_SETTLED: Final = 5
"""So many turns of the event loop after something ended, what follows from it has begun."""


class Waiting:
    """A gate that is open. answer: MISSING until `done` is set."""

    __slots__ = ("answer", "done", "question")

    def __init__(self, question: Question) -> None:
        self.question = question
        self.answer: Any = MISSING
        self.done = anyio.Event()


class Desk:
    """The open gates, by path. answers: path → answer, for gates that open later."""

    def __init__(self, answers: Mapping[str, Any] | None = None) -> None:
        self.answers = dict(answers or {})
        self.open: dict[str, Waiting] = {}
        self._bell = anyio.Event()

    def wait(self, path: str, question: Question) -> Waiting:
        """Open a gate."""
        waiting = self.open[path] = Waiting(question)
        self.ring()
        return waiting

    def checked(self, path: str, answer: Any) -> Any:
        """An answer to an open gate, converted. Raises AnswerRefused."""
        if path not in self.open:
            known = ", ".join(f"'{name}'" for name in self.open) or "none"
            raise AnswerRefused(f"no gate '{path}' is open: there are {known}")
        try:
            return self.open[path].question.checked(answer)
        except AnswerRefused as error:
            raise AnswerRefused(f"gate '{path}': {error}") from None

    def give(self, path: str, answer: Any) -> None:
        """Let the gate go on with an answer that was checked."""
        waiting = self.open[path]
        waiting.answer = answer
        waiting.done.set()

    def ring(self) -> None:
        """Something ended, or a gate opened."""
        self._bell.set()

    async def only_gates_are_left(self, blocked: Callable[[], bool]) -> None:
        """Wait until gates are open and, by `blocked`, nothing else is at work."""
        while True:
            await self._bell.wait()
            self._bell = anyio.Event()
            for _ in range(_SETTLED):
                await anyio.lowlevel.checkpoint()
            if self.open and not any(waiting.done.is_set() for waiting in self.open.values()) and blocked():
                return
