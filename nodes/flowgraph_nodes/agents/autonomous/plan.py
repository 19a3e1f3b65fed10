"""Plans: steps that need each other, as a model wrote them. Pure data, and what may be done with it.

A plan is checked when it is made: ids that are empty or twice and circles are refused with the reason, dependencies on
what is no step are left out and reported. A revision is merged by step id: what has ended stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal, TypeAlias

from flowgraph_nodes.errors import AgentError

Priority: TypeAlias = Literal["low", "medium", "high", "critical"]
StepStatus: TypeAlias = Literal["pending", "completed", "failed", "skipped"]

_FIRST: Final[Sequence[Priority]] = ("critical", "high", "medium", "low")
_LONGEST: Final = 40
"""Characters of a step's name in the run."""


class PlanRefused(AgentError):
    """A plan that cannot be carried out; the message says why, for the model to read."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A step as it is asked for. reopen: try it again although it has failed."""

    id: str
    description: str
    priority: Priority = "medium"
    dependencies: tuple[str, ...] = ()
    reopen: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A step. node: its name in the run, since an id may hold anything."""

    id: str
    node: str
    description: str
    priority: Priority = "medium"
    dependencies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """Where a step stands. text: what came of it, or why it has not been done."""

    status: StepStatus = "pending"
    text: str = ""

    @property
    def ended(self) -> bool:
        """Whether it was carried out, well or not. (A skipped step may yet run, when what it needs is tried again.)"""
        return self.status in ("completed", "failed")


States: TypeAlias = Mapping[str, State]
"""Step id → where it stands; steps that are not in it are pending."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in the order in which they were written.

    number: how many revisions lie behind it. reopened: ids of steps that have failed and are to be tried again.
    """

    task: str
    steps: tuple[Step, ...]
    number: int = 0
    reopened: tuple[str, ...] = ()

    def step(self, step_id: str) -> Step | None:
        """The step of that id."""
        return next((step for step in self.steps if step.id == step_id), None)

    def sequence(self, states: States, *, by_priority: bool = False) -> tuple[Step, ...]:
        """The steps in the order in which they are carried out one by one: of those that can be, the first written.

        by_priority: of those that can be, the first written among the most urgent.
        """
        left = list(self.steps)
        placed = {step.id for step in left if states.get(step.id, State()).ended}
        found = [step for step in left if step.id in placed]
        left = [step for step in left if step.id not in placed]
        while left:
            ready = [step for step in left if placed.issuperset(step.dependencies)]
            step = min(ready, key=lambda one: _FIRST.index(one.priority)) if by_priority else ready[0]
            left.remove(step)
            found.append(step)
            placed.add(step.id)
        return tuple(found)

    def above(self, step: Step) -> frozenset[str]:
        """Ids of all steps that a step needs, directly or through others."""
        found: set[str] = set()
        waiting = list(step.dependencies)
        while waiting:
            needed = waiting.pop()
            if needed not in found and (other := self.step(needed)) is not None:
                found.add(needed)
                waiting += other.dependencies
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class Changes:
    """What became of a plan's steps when it was made or revised, by id; notes: what was not taken as it was written."""

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        rows = {"added": self.added, "updated": self.updated, "dropped": self.dropped, "kept": self.kept}
        lines = [f"{name}: {', '.join(ids)}" for name, ids in rows.items() if ids]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def made(task: str, wanted: Sequence[Wanted]) -> tuple[Plan, Changes]:
    """The first plan, and what became of the steps asked for. Raises PlanRefused."""
    return _merged(Plan(task, (), -1), task, wanted, {}, {})


def revised(plan: Plan, task: str, wanted: Sequence[Wanted], states: States) -> tuple[Plan, Changes]:
    """The plan with other steps. Raises PlanRefused.

    Steps that have ended stay as they are, whether they are named or not, but for failed ones with `reopen`. Of the
    others those that are named take what is said now, and those that are not are dropped.
    """
    return _merged(plan, task, wanted, states, {step.id: step for step in plan.steps})


def _merged(
    plan: Plan, task: str, wanted: Sequence[Wanted], states: States, known: Mapping[str, Step]
) -> tuple[Plan, Changes]:
    _refuse_ids(wanted)
    again = [one.id for one in wanted if one.reopen and states.get(one.id, State()).status == "failed"]
    ended = {name for name in known if states.get(name, State()).ended and name not in again}
    notes = [
        f"'{one.id}' is {states.get(one.id, State()).status}, so there is nothing to reopen"
        for one in wanted
        if one.reopen and one.id in known and one.id not in again
    ]
    named = [one.id for one in wanted]
    kept = [known[name] for name in known if name in ended and name not in named]
    steps: list[Step] = list(kept)
    taken = {step.node for step in known.values()}
    for one in wanted:
        if one.id in ended:
            steps.append(known[one.id])
            continue
        node = known[one.id].node if one.id in known else _node_name(one.id, taken)
        taken.add(node)
        steps.append(Step(one.id, node, one.description.strip(), one.priority, tuple(dict.fromkeys(one.dependencies))))
    steps = [_sound(step, {other.id for other in steps}, notes) for step in steps]
    _refuse_circles(steps, ended)
    changes = Changes(
        added=tuple(name for name in named if name not in known),
        updated=tuple(name for name in named if name in known and name not in ended),
        dropped=tuple(name for name in known if name not in named and name not in ended),
        kept=tuple(step.id for step in steps if step.id in ended),
        notes=tuple(notes),
    )
    reopened = tuple(name for name in (*plan.reopened, *again) if any(step.id == name for step in steps))
    return Plan(task.strip() or plan.task, tuple(steps), plan.number + 1, reopened), changes


def _refuse_ids(wanted: Sequence[Wanted]) -> None:
    if not wanted:
        raise PlanRefused("the plan has no steps: give at least one")
    if empty := [number for number, one in enumerate(wanted, 1) if not one.id.strip()]:
        raise PlanRefused(f"step {empty[0]} has an empty step_id: give every step an id of its own")
    ids = [one.id for one in wanted]
    if twice := [name for name in dict.fromkeys(ids) if ids.count(name) > 1]:
        raise PlanRefused(f"the step_id '{twice[0]}' stands for {ids.count(twice[0])} steps: give each its own")
    if bare := [one.id for one in wanted if not one.description.strip()]:
        raise PlanRefused(f"step '{bare[0]}' has no description: say what is to be done in it")


def _sound(step: Step, ids: Collection[str], notes: list[str]) -> Step:
    """The step without the dependencies that nothing could ever fulfil."""
    fine = []
    for needed in step.dependencies:
        if needed == step.id:
            notes.append(f"'{step.id}' cannot depend on itself: the dependency was left out")
        elif needed not in ids:
            notes.append(f"'{step.id}' depended on '{needed}', which is no step: the dependency was left out")
        else:
            fine.append(needed)
    return replace(step, dependencies=tuple(fine))


def _refuse_circles(steps: Sequence[Step], ended: Collection[str]) -> None:
    left = {
        step.id: {name for name in step.dependencies if name not in ended} for step in steps if step.id not in ended
    }
    while ready := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in ready:
            del left[name]
    if not left:
        return
    way = [next(iter(left))]
    while way[-1] not in way[:-1]:
        way.append(next(name for name in left if name in left[way[-1]]))
    circle = way[way.index(way[-1]) :]
    words = ", ".join(f"'{a}' needs '{b}'" for a, b in pairwise(circle))
    raise PlanRefused(f"the steps wait for each other in a circle: {words}. Take one of these dependencies out")


def _node_name(step_id: str, taken: Collection[str]) -> str:
    """A name for the run: of what a name may hold, and unlike those that are taken."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", step_id)[:_LONGEST].strip("-") or "step"
    if not re.match(r"[A-Za-z_]", name):
        name = f"step-{name}"
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    return found
