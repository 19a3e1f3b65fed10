"""Drawn graphs: parts that read from one another, and what comes out by plain arithmetic."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple

import flowgraph as fg
from tests.crash import models
from tests.crash.calls import Calls
from tests.crash.parts import PARTS, PRIME, total

AGENTS = "agents"


class Step(NamedTuple):
    """One part. source: which part it reads from; -1 is the graph's input."""

    kind: str
    source: int
    k: int

    def gives(self, name: str, value: int) -> int:
        return models.agents_give(value, self.k) if self.kind == AGENTS else PARTS[self.kind].gives(name, value, self.k)


@dataclass(frozen=True)
class Deps:
    """What the nodes are given."""

    calls: Calls
    hurried: bool


@dataclass(frozen=True)
class Plan:
    """A drawn graph. value: its input. url: of the model, where there are agents."""

    steps: tuple[Step, ...]
    value: int
    url: str = ""

    def build(self) -> fg.Graph:
        """The graph, anew."""
        graph = fg.Graph("drawn")
        graph.input("value", int)
        for number, step in enumerate(self.steps):
            name, source = f"p{number}", "value" if step.source < 0 else f"p{step.source}"
            if step.kind == AGENTS:
                models.add_agents(graph, name, source, step.k, self.url)
            else:
                PARTS[step.kind].add(graph, name, source, step.k)
        graph.add("total", total, bind={"values": [f"p{number}" for number in range(len(self.steps))]})
        graph.output("total")
        return graph

    def values(self) -> list[int]:
        """What each part gives."""
        found: list[int] = []
        for number, step in enumerate(self.steps):
            found.append(step.gives(f"p{number}", self.value if step.source < 0 else found[step.source]))
        return found

    def expected(self) -> int:
        """What the graph gives."""
        return sum(self.values()) % PRIME

    def tasks(self) -> dict[str, str]:
        """Path of each agent → what it is asked."""
        values, found = self.values(), {}
        for number, step in enumerate(self.steps):
            if step.kind == AGENTS:
                found |= models.tasks(f"p{number}", self.value if step.source < 0 else values[step.source], step.k)
        return found


def drawn(seed: str, url: str = "", size: int = 5) -> Plan:
    """A plan from a seed. url: of a model; then one of the parts is made of agents."""
    draw = random.Random(seed)
    kinds = draw.sample(sorted(PARTS), size)
    if url:
        kinds[draw.randrange(size)] = AGENTS
    steps = [Step(kind, draw.randrange(-1, number), draw.randrange(8)) for number, kind in enumerate(kinds)]
    return Plan(tuple(steps), draw.randrange(1000), url)
