"""Running an agent alone: a graph with one node, so that nothing works otherwise than in a workflow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import flowgraph as fg
from flowgraph.context import Context
from flowgraph.node import NAME, Kind, Parameter, checked_inputs
from flowgraph.outcome import MISSING
from flowgraph.policy import Limits
from flowgraph_nodes.agents.result import AgentResult, result_of
from flowgraph_nodes.messages import Message


class Conversing(fg.Node, Protocol):
    """A node that can continue a conversation, as agents can."""

    @property
    def limits(self) -> Limits | None: ...
    def problems(self) -> list[str]: ...
    async def answer(self, ctx: Context[Any], inputs: dict[str, Any], before: Iterable[Message] = ()) -> Any: ...


def run_alone(agent: Conversing, inputs: Mapping[str, Any], history: Iterable[Message] | None) -> AgentResult:
    """Run an agent to its end. Raises what stopped it."""
    alone = Alone(agent, tuple(history or ()))
    return alone.result(fg.run(alone.graph, alone.checked(inputs), raise_on_failure=False))


async def run_alone_async(
    agent: Conversing, inputs: Mapping[str, Any], history: Iterable[Message] | None
) -> AgentResult:
    """`run_alone` for async code."""
    alone = Alone(agent, tuple(history or ()))
    return alone.result(await fg.arun(alone.graph, alone.checked(inputs), raise_on_failure=False))


class Alone:
    """The graph around one agent. name: that of its node."""

    def __init__(self, agent: Conversing, history: tuple[Message, ...]) -> None:
        self.node = Continued(agent, history)
        name = agent.name if NAME.fullmatch(agent.name) else "agent"
        while name in agent.parameters:
            name += "_agent"
        self.name = name
        self.graph = fg.Graph(name, title=agent.name)
        bound = [item for item in agent.parameters.values() if item.kind is not Kind.CONTEXT]
        for item in bound:
            default = None if item.kind is Kind.MAYBE else item.default
            type_ = item.type if default is not None or item.kind is not Kind.MAYBE else Any
            self.graph.input(item.name, type_, default=default)
        self.graph.add(name, self.node, bind={item.name: item.name for item in bound}, title=agent.name)

    def checked(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs. Raises InputError when one is missing or unknown."""
        return checked_inputs(self.node, inputs)

    def result(self, run: fg.Run) -> AgentResult:
        """The agent's result in a run that has ended. Raises what stopped the agent."""
        node = run.nodes[self.name]
        if node.value is MISSING and node.error is not None:
            raise node.error
        if node.value is MISSING and run.gates:
            raise fg.RunPaused(run)
        if node.value is MISSING:
            raise fg.NoOutput(f"agent '{self.node.name}' has no answer: it is {node.status}, {node.reason}")
        return result_of(node)


@dataclass(frozen=True, slots=True)
class Continued:
    """An agent as a node that continues a conversation."""

    agent: Conversing
    history: tuple[Message, ...]

    @property
    def name(self) -> str:
        """The agent's."""
        return self.agent.name

    @property
    def kind(self) -> str:
        """The agent's."""
        return self.agent.kind

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The agent's."""
        return self.agent.parameters

    @property
    def output_type(self) -> Any:
        """The agent's."""
        return self.agent.output_type

    @property
    def limits(self) -> Limits | None:
        """The agent's."""
        return self.agent.limits

    def problems(self) -> list[str]:
        """The agent's."""
        return self.agent.problems()

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Any:
        """Run the agent with the conversation so far."""
        return await self.agent.answer(ctx, inputs, self.history)
