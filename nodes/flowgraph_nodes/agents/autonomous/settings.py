"""What the parts of an autonomous agent's run are done with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from flowgraph_nodes.agents.progress import Patience
from flowgraph_nodes.agents.turn import Means
from flowgraph_nodes.messages import Message
from flowgraph_nodes.models import ToolChoice
from flowgraph_nodes.tools import Tool, Toolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The numbers of an autonomous agent; see `AutonomousAgent`."""

    planning_attempts: int
    subtask_loops: int
    subtask_iterations: int
    parallel: int
    by_priority: bool
    thinks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What one run of the agent has: fresh for each run.

    name: the agent's. task: what was asked. system: the system prompt. before: the conversation that is continued.
    means: with the tools that work is done with. reading: those that may be used while planning. names: the built-in
    tools that it has. patience: makes the patience of one conversation.
    """

    name: str
    task: str
    system: str
    before: tuple[Message, ...]
    means: Means
    reading: tuple[Tool, ...]
    names: frozenset[str]
    pace: Pace
    patience: Callable[[], Patience]

    def with_tools(self, tools: list[Tool], choice: ToolChoice | None = None, *, work: bool = False) -> Means:
        """The means of one conversation: these tools, which steer it, and those of the work if wanted."""
        box = self.means.toolbox.copy() if work else Toolbox(self.reading)
        for tool in tools:
            box.pin(tool)
        controls = self.means.controls | {tool.name for tool in tools}
        return replace(self.means, toolbox=box, tool_choice=choice, controls=controls)
