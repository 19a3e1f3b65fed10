"""Scripts of autonomous agents, for tests: plans, and how their subtasks go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import flowgraph as fg
from flowgraph_nodes import Scripted, ToolCall, call
from flowgraph_nodes.agents.autonomous import AutonomousAgent
from flowgraph_nodes.messages import Message
from flowgraph_nodes.models import Request


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


def scripted(planning: list[Any], subtasks: Mapping[str, Any], summary: Any = None, name: str = "agent") -> Scripted:
    """A model for an agent at the path `name`. subtasks: node or `plan#n/node` → script."""
    scripts: dict[str, Any] = {f"{name}/planning": planning}
    scripts[f"{name}/summary"] = [complete()] if summary is None else summary
    for key, script in subtasks.items():
        scripts[f"{name}/{key}" if key.startswith(("plan#", "assign")) else f"{name}/plan*/{key}"] = script
    return Scripted(scripts)


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


Build = Callable[[], fg.Graph]
