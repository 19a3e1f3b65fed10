"""Agents in drawn graphs, and the server that they ask: replies depend on nothing but the request."""

from __future__ import annotations

import itertools
import json
from typing import Any, Final

import flowgraph as fg
from flowgraph_nodes import Model, ModelSettings
from flowgraph_nodes.agents import ReactAgent
from flowgraph_nodes.tools import ToolContext
from tests.crash.parts import PRIME, items_of, mixed
from tests.nodes.chat_server import Answer, ChatServer, Seen, calls, text

TURNS: Final = 3
"""Two with tool calls, and one with the answer."""


class Asked:
    """A server and what it was asked: the task of the agent, and which turn it was (from 0)."""

    def __init__(self) -> None:
        self.server = ChatServer(itertools.repeat(_reply))

    @property
    def requests(self) -> list[tuple[str, int]]:
        return [_place(seen) for seen in list(self.server.requests)]


def _place(seen: Seen) -> tuple[str, int]:
    messages = seen.body["messages"]
    task = next(message["content"] for message in messages if message["role"] == "user")
    return task, sum(message["role"] == "assistant" for message in messages)


def _reply(seen: Seen) -> Answer:
    task, turn = _place(seen)
    found = [int(message["content"]) for message in seen.body["messages"] if message["role"] == "tool"]
    number = int(task.split()[1]) + turn
    if turn < TURNS - 1:
        made = [(f"c{turn}{n}", "look_up", json.dumps({"number": number + n})) for n in range(2)]
        answer = calls(*made)
    else:
        answer = text(str(sum(found) % PRIME))
    return Answer(answer.body, delay=(number % 5) / 1000)


def look_up(number: int, context: ToolContext) -> int:
    """What a number stands for."""
    assert context.ctx is not None
    context.deps.calls.note(context.ctx)
    return mixed(number, 5)


def answered(value: int) -> int:
    """What the agent finds out of a value."""
    return sum(mixed(value + turn + n, 5) for turn in range(TURNS - 1) for n in range(2)) % PRIME


def add_agents(graph: fg.Graph, name: str, source: str, k: int, url: str) -> None:
    """An agent, then a map of agents over numbers that come of what it says, then their sum."""
    model = Model("openai/unknown-model", ModelSettings(api_base=url, api_key="none"))
    agent = ReactAgent(model=model, tools=[look_up], prompt=f"Case {{value}} of {name}")

    async def spread(said: str, ctx: fg.Context) -> list[int]:
        ctx.deps.calls.note(ctx)
        return items_of(int(said), k % 2)

    async def summed(said: list[str], ctx: fg.Context) -> int:
        ctx.deps.calls.note(ctx)
        return sum(map(int, said)) % PRIME

    graph.add(f"{name}_one", agent, bind={"value": source})
    graph.add(f"{name}_items", spread, bind={"said": f"{name}_one"})
    graph.map(f"{name}_each", agent, each={"value": f"{name}_items"})
    graph.add(name, summed, bind={"said": f"{name}_each"})


def tasks(name: str, value: int, k: int) -> dict[str, str]:
    """Path of each agent → what it is asked."""
    numbers = items_of(answered(value), k % 2)
    each = {f"{name}_each[{n}]": f"Case {number} of {name}" for n, number in enumerate(numbers)}
    return {f"{name}_one": f"Case {value} of {name}", **each}


def agents_give(value: int, k: int) -> int:
    """What comes out of `add_agents`."""
    return sum(answered(number) for number in items_of(answered(value), k % 2)) % PRIME


def sealed(nodes: dict[str, Any], task_of: dict[str, str]) -> set[tuple[str, int]]:
    """The model calls that are recorded, as the server knows them."""
    found = set()
    for path, task in task_of.items():
        for turn in range(TURNS):
            node = nodes.get(f"{path}/model" if turn == 0 else f"{path}/model~{turn + 1}")
            if node is not None and node.status is fg.Status.SUCCEEDED:
                found.add((task, turn))
    return found
