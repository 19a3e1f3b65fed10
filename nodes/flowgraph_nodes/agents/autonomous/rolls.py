"""The roll of an agent's sub-agents: who they are and what they were given to do. Plain data, for any store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

TaskStatus: TypeAlias = Literal["pending", "running", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class Profile:
    """A sub-agent. model: the name of one that the user allows, "" for the usual. tools: names; None for the usual."""

    id: str
    name: str
    description: str
    system: str = ""
    model: str = ""
    tools: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """A task for a sub-agent."""

    task_id: str
    agent_id: str
    task: str


@dataclass(frozen=True, slots=True)
class TaskReport:
    """Where an assignment stands. seconds: that it took, or takes so far. text: the result, or why there is none."""

    task_id: str
    agent_id: str
    agent_name: str
    status: TaskStatus
    attempts: int = 0
    seconds: float = 0.0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """Assignments that were given out together, to be done beside the agent's own work. name: of their node run."""

    name: str
    assignments: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class Roll:
    """Sub-agents, what they have reported, and what was given out to be done in the background."""

    profiles: tuple[Profile, ...] = ()
    reports: tuple[TaskReport, ...] = ()
    batches: tuple[Batch, ...] = ()


def joined(rolls: Iterable[Roll]) -> Roll:
    """All that stands in any of the rolls, once; of two reports of a task the later one."""
    profiles: dict[str, Profile] = {}
    reports: dict[str, TaskReport] = {}
    batches: dict[str, Batch] = {}
    for roll in rolls:
        profiles |= {one.id: one for one in roll.profiles}
        reports |= {one.task_id: one for one in roll.reports}
        batches |= {one.name: one for one in roll.batches}
    return Roll(tuple(profiles.values()), tuple(reports.values()), tuple(batches.values()))
