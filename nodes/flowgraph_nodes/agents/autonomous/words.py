"""What an autonomous agent's model is asked in each phase, and how plans and states are written for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from flowgraph.prompts import Prompt
from flowgraph_nodes.agents.autonomous.findings import Completion
from flowgraph_nodes.agents.autonomous.plan import Plan, State, States, Step

PLANNING: Final = Prompt(
    "The task:\n\n{task}\n\n"
    "Make a plan for it now; the work comes later. Break the task down into steps that can each be done and checked on "
    "their own, few rather than many, and say which steps need the results of which others. Call the tool create_plan."
)
NO_PLAN: Final = "There is no plan yet. Call the tool create_plan with at least one step."
WORKING: Final = Prompt(
    "You carry out a larger task step by step.\n\nThe task:\n\n{task}\n\nThe plan:\n{plan}\n\n"
    "Work on this subtask now, and on nothing else:\n\n{step}\n\n"
    "When it is finished, or cannot be, call subtask_done with task_id '{id}'."
)
NO_END: Final = "Text alone does not end the subtask: go on with it, or call subtask_done."
SUMMARY: Final = Prompt(
    "The task:\n\n{task}\n\nThe work on it has ended. How each step of the plan ended:\n{plan}\n\n{note}"
    "Call complete_task with the answer to the task. Say plainly what was not achieved."
)
TYPED: Final = Prompt("The task:\n\n{task}\n\nWhat came of the work on it:\n\n{report}\n\nGive the final answer.")

_MARKS: Mapping[str, str] = {"pending": " ", "completed": "x", "failed": "!", "skipped": "-"}


def plan_text(plan: Plan, states: States, *, summaries: Collection[str] | None = None) -> str:
    """The steps with their states, a line each. summaries: ids of those with what came of them; None for all."""
    return "\n".join(_line(step, states.get(step.id, State()), summaries) for step in plan.steps)


def _line(step: Step, state: State, summaries: Collection[str] | None) -> str:
    needs = f" (needs {', '.join(step.dependencies)})" if step.dependencies else ""
    line = f"[{_MARKS[state.status]}] {step.id}, {state.status}: {step.description}{needs}"
    if not state.text or (summaries is not None and step.id not in summaries):
        return line
    return f"{line}\n    {state.text.replace(chr(10), chr(10) + '    ')}"


def step_text(step: Step) -> str:
    """The step that is worked on."""
    return f"{step.id} ({step.priority} priority): {step.description}"


def completion_text(plan: Plan, states: States, completion: Completion, note: str) -> str:
    """The answer when the model has ended the task itself."""
    parts = [
        "Task Completion Summary",
        completion.summary.strip(),
        f"Success: {'yes' if completion.success else 'no'}",
        f"Results: {completion.results}" if completion.results else "",
        f"Lessons learned: {completion.lessons_learned}" if completion.lessons_learned else "",
        note,
        breakdown(plan, states),
    ]
    return "\n\n".join(part for part in parts if part)


def execution_text(plan: Plan, states: States, reply: str, note: str) -> str:
    """The answer when the model has not ended the task: how the steps ended, and what it said."""
    parts = ["Task Execution Summary", reply.strip(), note, breakdown(plan, states)]
    return "\n\n".join(part for part in parts if part)


def breakdown(plan: Plan, states: States) -> str:
    """How the steps ended: numbers, and a line each."""
    found = [states.get(step.id, State()).status for step in plan.steps]
    counts = [f"{found.count(word)} {word}" for word in ("completed", "failed", "skipped", "pending") if word in found]
    return f"Subtasks: {len(found)} ({', '.join(counts)})\n{plan_text(plan, states)}"
