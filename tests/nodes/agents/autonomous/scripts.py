"""Scripts of autonomous agents, for tests: plans, and how their subtasks go."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import flowgraph as fg
from flowgraph_nodes import Reply, Scripted, ScriptedModel, ToolCall, call
from flowgraph_nodes.agents.autonomous import AutonomousAgent
from flowgraph_nodes.messages import AssistantMessage, Message
from flowgraph_nodes.models import OnDelta, Request, Response


def step(step_id: str, *dependencies: str, **more: Any) -> dict[str, Any]:
    """A step, as a model writes it."""
    more.setdefault("description", f"do {step_id}")
    return {"step_id": step_id, "dependencies": list(dependencies), **more}


def plan(*steps: dict[str, Any], task: str = "the task") -> ToolCall:
    """A call of create_plan."""
    return call("create_plan", task_description=task, steps=list(steps))


def done(step_id: str, summary: str = "", success: bool = True) -> ToolCall:
    """A call of subtask_done."""
    return call("subtask_done", task_id=step_id, summary=summary or f"{step_id} is done", success=success)


def complete(summary: str = "all is done", success: bool = True, **more: Any) -> ToolCall:
    """A call of complete_task."""
    return call("complete_task", task_id="main_task", summary=summary, success=success, **more)


class Telling(Scripted):
    """A scripted model that tells of each request, with the path."""

    note: Callable[[str], object] | None = None

    async def complete(self, request: Request, on_delta: OnDelta | None = None) -> Response:
        if self.note is not None:
            self.note(request.path)
        return await super().complete(request, on_delta)


def scripted(planning: Any, subtasks: Mapping[str, Any], summary: Any = None, name: str = "agent") -> Telling:
    """A model for an agent at the path `name`. subtasks: node or `plan#n/node` → script."""
    scripts: dict[str, Any] = {f"{name}/planning": planning}
    scripts[f"{name}/summary"] = [complete()] if summary is None else summary
    for key, script in subtasks.items():
        scripts[f"{name}/{key}" if key.startswith(("plan#", "assign")) else f"{name}/plan*/{key}"] = script
    return Telling(scripts)


def graph_of(agent: AutonomousAgent, name: str = "agent") -> fg.Graph:
    """A graph with the agent as its one node."""
    graph = fg.Graph("g")
    graph.add(name, agent, values={"task": "Write the report."})
    return graph


def statuses(run: fg.Run, below: str = "agent/plan#0") -> dict[str, str]:
    """Node → status, of a plan's run."""
    return {child.name: str(child.status) for child in run.nodes[below].children}


def of(scripts: Scripted, key: str) -> list[Request]:
    """The requests of one script."""
    return scripts.models[key].requests


def texts(request: Request) -> list[str]:
    """What stands in the messages of a request."""
    return [message.content for message in request.messages]


def last(request: Request) -> Message:
    """The last message of a request."""
    return request.messages[-1]


def by_turn(*answers: Any) -> Callable[[Request], Any]:
    """A script that depends on the conversation alone, and so is the same in a resumed run."""

    def answer(request: Request) -> Any:
        number = sum(isinstance(message, AssistantMessage) for message in request.messages)
        return numbered(answers[number], number)

    return answer


def numbered(answer: Any, number: int) -> Any:
    """The answer, its calls with ids of the turn: a model that is made anew would count from the start."""
    if isinstance(answer, ToolCall):
        return replace(answer, id=f"turn-{number}")
    if isinstance(answer, Reply):
        return replace(answer, calls=numbered(list(answer.calls), number))
    if isinstance(answer, list):
        return [replace(one, id=f"turn-{number}-{position}") for position, one in enumerate(answer)]
    return answer


def agent_ids(request: Request) -> list[str]:
    """The ids that create_sub_agent gave in a conversation, in order."""
    found = [re.findall(r"sub-agent-[0-9a-f]{8}", text) for text in texts(request)]
    return list(dict.fromkeys(one for ids in found for one in ids))


def with_crew(model: Telling, scripts: Mapping[str, Any]) -> Telling:
    """The model, with scripts of sub-agents by their names, wherever they work."""
    for name, script in scripts.items():
        one = ScriptedModel(script, name=name)
        model.models |= dict.fromkeys((f"*/{name}", f"*/*/*/*/{name}"), one)
    return model


def run_of(model: Any, **options: Any) -> fg.Run:
    """A run of an agent with that model."""
    return fg.run(graph_of(AutonomousAgent(model=model, **options)), raise_on_failure=False)


def offered(request: Request) -> set[str]:
    """The names of the tools in a request."""
    return {tool.name for tool in request.tools}
