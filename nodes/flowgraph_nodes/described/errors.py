"""How descriptions fail."""

from __future__ import annotations

from collections.abc import Iterable

from flowgraph.errors import Permanent
from flowgraph_nodes.errors import AgentError


class DescriptionError(AgentError, Permanent, ValueError):
    """A description of agents is wrong; `problems` lists everything, each with its line where it has one."""

    def __init__(self, name: str, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        lines = "".join(f"\n  - {problem}" for problem in self.problems)
        super().__init__(f"{name} describes no agents that can be built:{lines}")
