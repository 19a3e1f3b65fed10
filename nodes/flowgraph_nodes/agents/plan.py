"""The plan of a PlanExecuteAgent: its steps and what came of them, the tools that make it, and how models read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from pydantic import Field

from flowgraph_nodes.agents.output import Output
from flowgraph_nodes.tools import Fail, Stop, Tool, tool

PLAN: Final = "plan"
ANSWER: Final = "answer"

PLANNER: Final = (
    "Make a plan for the task: a few steps in order, each of them a piece of work with a result of its own. Each is "
    "done by somebody who sees the task, the plan and the results of the steps before it. Do not do the work yourself: "
    f"call the tool {PLAN}."
)
REPLANNER: Final = (
    "You follow the work on a task. Look at the results so far. If they are enough for the answer to the task, give "
    "it with the tool {answer}. Otherwise call the tool {plan} with the steps that remain, changed as the results ask "
    "for; they replace those that are left of the plan. A step that failed may be tried in another way."
)


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was done. result: in words, or why it failed."""

    text: str
    result: str
    ok: bool


@dataclass(slots=True)
class Plan:
    """The steps that were done, and those that are left."""

    task: str
    done: list[Step] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def order(self) -> str:
        """What who does the next step is told."""
        now = len(self.done) + 1
        order = f"Do step {now} now, and nothing else. Reply with its result."
        return f"{self._told(f'now: step {now}')}\n\n{order}"

    def report(self, cycles: int) -> str:
        """What who plans anew is told. cycles: how many steps can still be done."""
        can = f"{cycles} more steps can be done." if cycles else "No more steps can be done: answer now."
        return f"{self._told('')}\n\n{can}"

    @property
    def details(self) -> list[dict[str, Any]]:
        """For the record."""
        done = [{"step": step.text, "status": "done" if step.ok else "failed"} for step in self.done]
        return [*done, *({"step": text, "status": "left"} for text in self.left)]

    @property
    def last(self) -> str | None:
        """The last result that there is."""
        return next((step.result for step in reversed(self.done) if step.ok), None)

    def _told(self, mark: str) -> str:
        lines = [f"The task:\n\n{self.task}\n\nThe plan:"]
        for number, step in enumerate(self.done, 1):
            lines.append(f"{number}. {'[done]' if step.ok else '[failed]'} {step.text}\n{step.result}")
        for number, text in enumerate(self.left, len(self.done) + 1):
            lines.append(f"{number}. {'[now]' if mark and number == len(self.done) + 1 else '[left]'} {text}")
        return "\n\n".join(lines)


def plan_tool(description: str) -> Tool:
    """The tool that takes a plan."""

    async def plan(steps: Annotated[list[str], Field(description="what to do, in order, one text a step")]) -> Any:
        found = [step.strip() for step in steps if step.strip()]
        return Stop(found) if found else Fail("a plan needs at least one step")

    return tool(plan, name=PLAN, description=description)


def answer_tool(output: Output | None) -> Tool:
    """The tool that takes the answer, of the output type if there is one."""
    if output is not None:
        return output.tool

    async def answer(answer: Annotated[str, Field(description="the whole answer to the task")]) -> Any:
        return Stop(answer) if answer.strip() else Fail("the answer is empty")

    return tool(answer, name=ANSWER, description="Give the answer to the task, when the results are enough for it.")
