"""Handoffs: an agent gives tasks to other agents, which work side by side, and gets their answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from flowgraph.errors import brief
from flowgraph.node import Kind, Node, as_node
from flowgraph.outcome import Outcome
from flowgraph_nodes.errors import ArgumentsError
from flowgraph_nodes.tools import Fail, Tool, ToolContext, ToolResult
from flowgraph_nodes.tools.arguments import Arguments
from flowgraph_nodes.tools.text import to_text

HANDOFF_TOOL: Final = "handoff_task"
_FIELDS: Final = ("agent_name", "task", "reasoning")


@dataclass(frozen=True, slots=True)
class Target:
    """An agent that tasks can be given to. parameter: its parameter that gets the task."""

    node: Node
    parameter: str
    description: str


class Handoffs:
    """The agents that an agent can give tasks to, by name.

    agents: agents with names of their own, or a mapping from names; anything that can be a node will do.

    Raises ValueError or TypeError when names repeat, or one cannot take a task.
    """

    def __init__(self, agents: Iterable[Any] | Mapping[str, Any]) -> None:
        pairs = agents.items() if isinstance(agents, Mapping) else [(None, agent) for agent in agents]
        self.targets: dict[str, Target] = {}
        for given, agent in pairs:
            node = as_node(agent)
            name = node.name if given is None else given
            if name in self.targets:
                raise ValueError(f"two agents are called '{name}': name them, or give a dict of names")
            self.targets[name] = Target(node, _parameter(name, node), str(getattr(agent, "description", "")))

    @property
    def roster(self) -> str:
        """Who there is, for the instructions."""
        lines = [
            f"- {name}: {one.description}" if one.description else f"- {name}" for name, one in self.targets.items()
        ]
        return f"You can give tasks to these agents with {HANDOFF_TOOL}:\n" + "\n".join(lines)

    @property
    def tool(self) -> Tool:
        """The tool that hands tasks over. It runs after the other calls of its reply, whose results it passes on."""
        text = {"type": "string"}
        order = {
            "type": "object",
            "properties": {
                "agent_name": {"type": "string", "enum": list(self.targets)},
                "task": {**text, "description": "Everything that the agent needs to know: it sees nothing else."},
                "reasoning": {**text, "description": "Why this agent."},
            },
            "required": list(_FIELDS),
        }
        return Tool(
            name=HANDOFF_TOOL,
            description="Give tasks to other agents. They work side by side; you get their answers in the same order.",
            parameters={
                "type": "object",
                "properties": {"handoffs": {"type": "array", "items": order, "minItems": 1}},
                "required": ["handoffs"],
            },
            target=self._hand_over,
            read=self._read,
            context="ctx",
            last=True,
        )

    def _read(self, given: dict[str, Any]) -> Arguments:
        """The orders. Raises ArgumentsError with everything that is wrong, and the names that there are."""
        orders = given.get("handoffs")
        if isinstance(orders, str):
            orders = _from_text(orders)
        if isinstance(orders, Mapping):  # a single one, without the list around it
            orders = [orders]
        if not isinstance(orders, list) or not orders:
            raise ArgumentsError(f"handoffs: must be a list of at least one {{{', '.join(_FIELDS)}}}. {self._names()}")
        problems = [problem for number, order in enumerate(orders) for problem in self._wrong(number, order)]
        if problems:
            raise ArgumentsError(f"{'; '.join(problems)}. {self._names()}")
        return Arguments((orders,))

    def _wrong(self, number: int, order: Any) -> list[str]:
        if not isinstance(order, Mapping):
            return [f"handoffs.{number}: must be an object with {', '.join(_FIELDS)}"]
        problems = [
            f"handoffs.{number}.{field}: is missing"
            for field in _FIELDS
            if not isinstance(order.get(field), str) or not order[field].strip()
        ]
        name = order.get("agent_name")
        if isinstance(name, str) and name.strip() and name not in self.targets:
            problems.append(f"handoffs.{number}.agent_name: there is no agent '{name}'")
        return problems

    def _names(self) -> str:
        return f"The agents are: {', '.join(self.targets)}"

    async def _hand_over(self, orders: list[dict[str, str]], ctx: ToolContext) -> Any:
        if ctx.ctx is None:
            return Fail("tasks can be handed over in a run only")
        if any(other.call.name == HANDOFF_TOOL and other.ok for other in ctx.others):
            return Fail("tasks were handed over in this reply already: put all of them into one call, next time")
        calls = []
        for order in orders:
            name = order["agent_name"]
            target = self.targets[name]
            ctx.ctx.emit("handoff", {"agent_name": name, "task": order["task"]})
            inputs = {target.parameter: _told(order, ctx.others)}
            calls.append(ctx.ctx.call(target.node, inputs, name=name, outcome=True))
        outcomes = await ctx.ctx.gather(*calls)
        answers = [_answer(order["agent_name"], outcome) for order, outcome in zip(orders, outcomes, strict=True)]
        return answers if any(outcome.ok for outcome in outcomes) else Fail(to_text(answers))


def _parameter(name: str, node: Node) -> str:
    """The parameter that gets the task: `task`, or the only one that must be given."""
    needed = [one.name for one in node.parameters.values() if one.kind in (Kind.REQUIRED, Kind.OUTCOME)]
    if "task" in node.parameters and needed in ([], ["task"]):
        return "task"
    if len(needed) == 1:
        return needed[0]
    raise ValueError(f"'{name}' cannot be handed a task: it takes {', '.join(needed) or 'nothing'}, and not one `task`")


def _told(order: Mapping[str, str], others: tuple[ToolResult, ...]) -> str:
    """The task as the agent gets it: with what else was found out in the same reply."""
    text = f"{order['task']}\n\n(You were chosen because: {order['reasoning']})"
    known = [f"- {other.call.name} {other.call.arguments}: {other.text}" for other in others if other.ok]
    return text + "\n\nWhat was found out just now:\n" + "\n".join(known) if known else text


def _answer(name: str, outcome: Outcome[Any]) -> dict[str, Any]:
    if outcome.ok:
        return {"agent_name": name, "answer": outcome.value}
    return {"agent_name": name, "error": str(outcome.reason) if outcome.error is None else brief(outcome.error)}


def _from_text(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
