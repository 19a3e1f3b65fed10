"""What is offered: a graph under a tool's name, with the schema of its inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import flowgraph as fg
from flowgraph.errors import Permanent
from flowgraph_nodes.agents import Agent
from flowgraph_nodes.agents.alone import Alone
from flowgraph_nodes.errors import AgentError, ToolDefinitionError
from flowgraph_nodes.tools.schema import JsonSchema, model_of
from flowgraph_nodes.tools.signature import Parameter, Signature

_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")


class ServeError(AgentError, Permanent):
    """Something cannot be offered as a tool; the message says what and why."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A graph as a tool. schema: of its inputs, as JSON schema."""

    name: str
    description: str
    graph: fg.Graph
    schema: JsonSchema = field(repr=False)


def offers_of(things: Mapping[str, Any]) -> dict[str, Offer]:
    """The graphs and agents among `things`, by the names of their tools, in order.

    Raises:
        ServeError: there are none, two have one name, or one has errors or an input that JSON cannot hold.
    """
    found: dict[str, Offer] = {}
    homes: dict[str, str] = {}
    kept: list[Any] = []
    for home, thing in things.items():
        if not isinstance(thing, fg.Graph | Agent) or any(thing is other for other in kept):
            continue
        kept.append(thing)
        offer = _offer(thing)
        if offer.name in found:
            raise ServeError(f"'{homes[offer.name]}' and '{home}' would both be the tool '{offer.name}': rename one")
        found[offer.name], homes[offer.name] = offer, home
    if not found:
        raise ServeError(f"there is no graph and no agent to offer among {', '.join(things) or 'nothing'}")
    return found


def _offer(thing: fg.Graph | Agent) -> Offer:
    if isinstance(thing, Agent):
        graph, description = Alone(thing, ()).graph, thing.description or f"Ask the agent {thing.name}."
    else:
        graph, description = thing, thing.title or f"Run the workflow {thing.name}."
    problems = [problem for problem in fg.check(graph) if problem.severity == "error"]
    if problems:
        raise ServeError(f"'{thing.name}' has errors: {'; '.join(map(str, problems))}")
    return Offer(_OTHER.sub("_", thing.name)[:64], description, graph, _schema(graph))


def _schema(graph: fg.Graph) -> JsonSchema:
    inputs = tuple(Parameter(item.name, item.type, item.default, item.title) for item in graph.inputs.values())
    try:
        return model_of(Signature(inputs, None, open=False), graph.name)[1]
    except ToolDefinitionError as error:
        raise ServeError(f"graph '{graph.name}' cannot be offered: {error}") from None
