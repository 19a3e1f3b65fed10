"""Teams: tasks assigned to named agents, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from flowgraph.call import Call
from flowgraph.context import Context
from flowgraph.errors import InputError
from flowgraph.node import NAME, Kind, Node, Parameter, as_node
from flowgraph.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Assignment:
    """A task for one agent of a team. task: the value of its only parameter, or all its inputs by name."""

    agent: str
    task: Any


AssignmentLike: TypeAlias = Assignment | Mapping[str, Any] | Sequence[Any]
"""An Assignment, a mapping with its fields, or a pair."""


class Team:
    """A node that gives tasks to named agents, as parallel branches; its output is a list of outcomes, in order.

        team = Team([researcher, critic])
        graph.add("team", team, bind={"assignments": "plan"})  # [{"agent": "critic", "task": "…"}, …]

    agents: agents, or any nodes, by name or under their own names. An agent may get any number of tasks; each is a run
    of its own. max_concurrency: branches at a time; None: all. name, title: of the node.

    The branches are children `<path>/assign-1/<agent>`, repeated ones `<agent>~2`. One that fails is an outcome that is
    not ok (`outcome.ok`, `outcome.error`), and hinders no other. An assignment that cannot be, such as for an agent
    that is not there, is an InputError before anything runs.

    Raises ValueError for no agents, two of one name, or a bad name.
    """

    kind = "team"
    output_type: ClassVar[Any] = list[Outcome[Any]]
    parameters: ClassVar[Mapping[str, Parameter]] = {"assignments": Parameter("assignments")}

    def __init__(
        self,
        agents: Mapping[str, Any] | Iterable[Any],
        *,
        max_concurrency: int | None = None,
        name: str = "team",
        title: str = "",
    ) -> None:
        if not NAME.fullmatch(name):
            raise ValueError(f"a team cannot be named {name!r}: use letters, digits, _ and - (not first)")
        if max_concurrency is not None and (isinstance(max_concurrency, bool) or max_concurrency < 1):
            raise ValueError(f"max_concurrency must be a whole number of at least 1, not {max_concurrency!r}")
        self.name = name
        self.title = title
        self.max_concurrency = max_concurrency
        self.agents: dict[str, Node] = {}
        for own, agent in _named(agents):
            if own in self.agents:
                raise ValueError(f"two agents are named '{own}': give them names, or a mapping from name to agent")
            self.agents[own] = agent
        if not self.agents:
            raise ValueError("a team needs at least one agent")

    def problems(self) -> list[str]:
        """Those of its agents."""
        found = []
        for name, agent in self.agents.items():
            check = getattr(agent, "problems", None)
            found += [f"{name}: {problem}" for problem in check()] if check else []
        return found

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> list[Outcome[Any]]:
        """Run all assignments. Raises InputError."""
        return await self.assign(ctx, inputs["assignments"])

    def assign(
        self, ctx: Context[Any], assignments: Iterable[AssignmentLike], number: int = 1
    ) -> Call[list[Outcome[Any]]]:
        """The assignments as the child `assign-<number>` of any node run, for nodes that have a team.

        Raises InputError.
        """
        if isinstance(assignments, str | Mapping) or not isinstance(assignments, Iterable):
            raise InputError(f"team '{self.name}' takes a list of assignments, not a {type(assignments).__name__}")
        rows = [self._checked(position, row) for position, row in enumerate(assignments)]
        batch = _Batch(self, tuple(rows))
        return ctx.call(batch, {"assignments": [[row.agent, row.task] for row in rows]}, name=f"assign-{number}")

    def _checked(self, position: int, row: AssignmentLike) -> Assignment:
        where = f"assignment {position + 1} of team '{self.name}'"
        try:
            found = row if isinstance(row, Assignment) else _read(row)
        except (TypeError, ValueError):
            raise InputError(f'{where} is {row!r:.80}: give {{"agent": name, "task": task}} or a pair') from None
        agent = self.agents.get(found.agent)
        if agent is None:
            raise InputError(f"{where} is for '{found.agent}', who is not there: {', '.join(self.agents)}")
        if not isinstance(found.task, Mapping) and len(wanted := _wanted(agent)) != 1:
            raise InputError(f"{where}: '{found.agent}' takes {', '.join(wanted) or 'no inputs'}: give them by name")
        return found

    def __repr__(self) -> str:
        return f"Team({', '.join(self.agents)})"


@dataclass(frozen=True, slots=True, repr=False)
class _Batch:
    """Assignments that run side by side, below one node run."""

    team: Team
    rows: tuple[Assignment, ...]

    kind: ClassVar[str] = "team"
    name: ClassVar[str] = "assign"
    output_type: ClassVar[Any] = list[Outcome[Any]]
    parameters: ClassVar[Mapping[str, Parameter]] = Team.parameters

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> list[Outcome[Any]]:
        """Each assignment as a branch."""
        calls = [self._branch(ctx, row) for row in self.rows]
        return await ctx.gather(*calls, max_concurrency=self.team.max_concurrency)

    def _branch(self, ctx: Context[Any], row: Assignment) -> Call[Outcome[Any]]:
        agent = self.team.agents[row.agent]
        wanted = _wanted(agent)
        by_name = isinstance(row.task, Mapping) and (len(wanted) != 1 or set(row.task) <= set(agent.parameters))
        inputs = dict(row.task) if by_name else {wanted[0]: row.task}
        return ctx.call(agent, inputs, name=row.agent, outcome=True)


def _named(agents: Mapping[str, Any] | Iterable[Any]) -> Iterator[tuple[str, Node]]:
    if isinstance(agents, Mapping):
        yield from ((name, as_node(agent)) for name, agent in agents.items())
    else:
        yield from ((node.name, node) for node in map(as_node, agents))


def _read(row: Mapping[str, Any] | Sequence[Any]) -> Assignment:
    if isinstance(row, Mapping):
        return Assignment(**row)
    agent, task = row
    return Assignment(agent, task)


def _wanted(node: Node) -> list[str]:
    """The parameters that a task can stand for."""
    bound = {name: p for name, p in node.parameters.items() if p.kind is not Kind.CONTEXT}
    return [name for name, p in bound.items() if p.kind is not Kind.DEFAULT] or list(bound)
