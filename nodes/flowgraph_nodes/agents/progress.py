"""Whether an agent gets on: what each turn means for its run, and the words that bring it back on its way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from flowgraph_nodes.agents.history import History
from flowgraph_nodes.agents.output import FINAL_TOOL, Output
from flowgraph_nodes.agents.reasons import Ending
from flowgraph_nodes.agents.tool_modes import MALFORMED
from flowgraph_nodes.agents.turn import Turn
from flowgraph_nodes.errors import ArgumentsError
from flowgraph_nodes.messages import UserMessage
from flowgraph_nodes.tools import ToolResult

EMPTY: Final = (
    "Your last reply had no answer in it. Go on with the task: use a tool if you need one, "
    "otherwise give your final answer."
)
UNREADABLE: Final = "Your last reply could not be read. Follow the required format exactly and reply again."
NO_CALL: Final = f"Text alone is no answer here: call the tool {FINAL_TOOL} with your answer."


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How much an agent is forgiven before its run stops.

    nudges: replies in a row that bring nothing. tool_retry: failures in a row of the same tool with the same
    arguments. output_retries: answers that do not fit the output type.
    """

    nudges: int = 2
    tool_retry: int = 3
    output_retries: int = 2


class Progress:
    """Judges the turns of one run, one after the other.

    wanted: what is said to a text alone where only a call gets on; "" takes a text for the answer.
    """

    def __init__(self, patience: Patience, output: Output | None = None, wanted: str = "") -> None:
        self._patience = patience
        self._wanted = wanted
        self._output = output
        self._nudged = 0
        self._misfits = 0
        self._failed: tuple[str, str] | None = None
        self._failures = 0

    def after(self, turn: Turn, history: History) -> Ending | None:
        """How the run ends with this turn, or None when it goes on; what the model must be told is added."""
        if turn.message.tool_calls:
            return self._after_calls(turn)
        if turn.response.finish_reason == MALFORMED:
            return self._nudge(UNREADABLE, history)
        if not turn.text:
            return self._nudge(EMPTY, history)
        if self._wanted:
            return self._nudge(self._wanted, history)
        if self._output is None:
            return Ending("completed", turn.text)
        return self._read(self._output, turn.text, history)

    # -- replies with calls

    def _after_calls(self, turn: Turn) -> Ending | None:
        self._nudged = 0
        stuck: Ending | None = None
        for result in turn.results:
            if result.stop is not None:
                return self._stopped(result)
            if result.give_up is not None:
                return Ending("agent_failed", detail=result.give_up.reason, call=result.call)
            if result.failure is not None and result.call.name == FINAL_TOOL and self._output is not None:
                stuck = stuck or self._misfit(result.failure.message, result.call.arguments)
            stuck = self._counted(result) or stuck
        return stuck

    def _stopped(self, result: ToolResult) -> Ending:
        """A tool has stopped the run: the final tool with the answer, any other with its payload."""
        assert result.stop is not None
        payload, name = result.stop.payload, result.call.name
        if self._output is None:
            return Ending("stopped_by_tool", result.full or result.text, f"by the tool '{name}'", result.call)
        if name == FINAL_TOOL:
            return Ending("completed", self._output.read(payload))
        try:
            return Ending("stopped_by_tool", self._output.value(payload), f"by the tool '{name}'", result.call)
        except ArgumentsError as error:
            return Ending("error", payload, f"the tool '{name}' stopped the run, but {error}", result.call)

    def _counted(self, result: ToolResult) -> Ending | None:
        """Count failures of the same call in a row, across turns."""
        if result.ok:
            self._failed, self._failures = None, 0
            return None
        key = (result.call.name, " ".join(result.call.arguments.split()))
        self._failures = self._failures + 1 if key == self._failed else 1
        self._failed = key
        if self._failures <= self._patience.tool_retry:
            return None
        detail = f"stuck: '{result.call.name}' failed {self._failures} times in a row with the same arguments"
        return Ending("tool_failures", detail=f"{detail}: {result.text}")

    # -- replies without calls

    def _read(self, output: Output, text: str, history: History) -> Ending | None:
        """A text where an answer of the output type is wanted: perhaps it is one."""
        try:
            return Ending("completed", output.read_text(text))
        except ArgumentsError as error:
            if (ending := self._misfit(str(error), text)) is None:
                history.add(UserMessage(f"{error}. Correct it and answer again."))
            return ending
        except ValueError:
            return self._nudge(NO_CALL, history)

    def _misfit(self, wrong: str, answer: str) -> Ending | None:
        self._misfits += 1
        if self._misfits <= self._patience.output_retries:
            return None
        return Ending("limit", answer, f"output_retries={self._patience.output_retries}: {wrong}")

    def _nudge(self, words: str, history: History) -> Ending | None:
        self._nudged += 1
        if self._nudged > self._patience.nudges:
            detail = f"max_nudges={self._patience.nudges}: the model gave no usable answer, again and again"
            return Ending("limit", detail=detail)
        history.add(UserMessage(words))
        return None
