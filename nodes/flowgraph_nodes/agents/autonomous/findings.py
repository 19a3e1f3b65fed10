"""What comes of the parts of an autonomous agent's run: of a subtask, of a whole plan. Plain data, for any store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from flowgraph_nodes.agents.autonomous.plan import Plan, State
from flowgraph_nodes.agents.autonomous.rolls import Roll
from flowgraph_nodes.messages import ToolCall

FindingStatus: TypeAlias = Literal["completed", "failed", "open", "dropped"]


@dataclass(frozen=True, slots=True)
class Completion:
    """The end of a task in the words of the model; what `complete_task` was called with."""

    summary: str
    success: bool
    results: str = ""
    lessons_learned: str = ""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A tool of the user's has stopped the agent. text: what it stopped it with."""

    call: ToolCall
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of a subtask. (Of one that has failed it is the error's `partial`.)

    status: "open" when the agent has ended in it, "dropped" when a revised plan is without it. plan: as its last
    revision left it. completion, stopped: it has ended the agent. roll: the sub-agents, as it left them.
    """

    summary: str
    status: FindingStatus = "completed"
    plan: Plan | None = None
    completion: Completion | None = None
    stopped: Stopped | None = None
    roll: Roll = field(default_factory=Roll)

    @property
    def over(self) -> bool:
        """Whether the agent has ended with it."""
        return self.completion is not None or self.stopped is not None


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a plan, as far as it was carried out.

    plan: as it is now; with a higher number than the one that was begun it was revised. states: of its steps, by id;
    those that a revision wants to be tried again are pending. ran: subtasks that have run so far, in all revisions.
    """

    plan: Plan
    states: dict[str, State]
    ran: int
    completion: Completion | None = None
    stopped: Stopped | None = None
    roll: Roll = field(default_factory=Roll)
