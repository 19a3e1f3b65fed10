"""The tools of an agent: one registry and one dispatcher, so that what is offered is what can run."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, Final

import anyio

from flowgraph.context import Context
from flowgraph_nodes.errors import DuplicateToolError, ToolError
from flowgraph_nodes.messages import ToolCall, ToolSpec
from flowgraph_nodes.tools.approval import approval
from flowgraph_nodes.tools.context import ToolContext
from flowgraph_nodes.tools.invoke import Again, invoke
from flowgraph_nodes.tools.result import UNKNOWN_TOOL, ToolResult, capped, failed
from flowgraph_nodes.tools.tool import Approve, Tool, as_tool
from flowgraph_nodes.tools.traffic import Ticket, Traffic

_SHOWN: Final = 50
"""Names in a message; a model reads it."""


class Toolbox:
    """Tools by name, in the order they were added.

    tools: tools, or anything that `tool` makes one of.
    parallel: how many calls of one reply run at once, at least 1.

    Raises:
        DuplicateToolError: two tools have one name. ToolDefinitionError: one cannot be made a tool.
    """

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = (), *, parallel: int = 4) -> None:
        if parallel < 1:
            raise ValueError(f"parallel={parallel!r} must be at least 1")
        self.parallel = parallel
        self._tools: dict[str, Tool] = {}
        for item in tools:
            self.add(item)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._tools)})"

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(tuple(self._tools.values()))

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def get(self, name: str) -> Tool | None:
        """The tool of that name, or None."""
        return self._tools.get(name)

    def add(self, thing: Tool | Callable[..., Any]) -> Tool:
        """Add a tool; it is offered from the next request on.

        Raises:
            DuplicateToolError: there is one of that name.
        """
        added = as_tool(thing)
        if added.name in self._tools:
            raise DuplicateToolError(f"there is a tool '{added.name}' already; give one of the two another name")
        self._tools[added.name] = added
        return added

    def pin(self, thing: Tool | Callable[..., Any]) -> Tool:
        """`add` for a tool that steers the agent: offered even where others have to be found first."""
        return self.add(thing)

    def remove(self, name: str) -> Tool:
        """Take a tool out; calls that run go on.

        Raises:
            ToolError: there is none of that name.
        """
        if name not in self._tools:
            raise ToolError(self._unknown(name))
        return self._tools.pop(name)

    def copy(self) -> Toolbox:
        """A toolbox with the same tools that changes on its own: one for each run."""
        return self._of(self._tools.values())

    # -- wrappers: another toolbox each, this one stays as it is

    def filtered(self, allow: Names = "*", *, deny: Names = ()) -> Toolbox:
        """The tools that `allow` names and `deny` does not: patterns such as "read_*", or a function of the tool."""
        return self._of(tool for tool in self if _names(allow, tool) and not _names(deny, tool))

    def prefixed(self, prefix: str) -> Toolbox:
        """The tools with a prefix to all their names. Raises ToolDefinitionError when one gets too long."""
        return self._of(replace(tool, name=prefix + tool.name) for tool in self)

    def renamed(self, names: Mapping[str, str]) -> Toolbox:
        """The tools with other names, by their old ones.

        Raises:
            ToolError: there is no tool of an old name. DuplicateToolError: two would have one name.
        """
        for name in names:
            if name not in self._tools:
                raise ToolError(self._unknown(name))
        return self._of(replace(tool, name=names.get(tool.name, tool.name)) for tool in self)

    def with_approval(self, approve: Approve = True, *, of: Names = "*") -> Toolbox:
        """The tools, of which those that `of` names need approval, see `Tool.approve`."""
        return self._of(replace(tool, approve=approve) if _names(of, tool) else tool for tool in self)

    def with_timeout(self, timeout: float, *, of: Names = "*") -> Toolbox:
        """The tools, of which those that `of` names have this time limit (seconds), or their own if that is shorter."""
        return self._of(
            replace(tool, timeout=min(timeout, tool.timeout or timeout)) if _names(of, tool) else tool for tool in self
        )

    def _of(self, tools: Iterable[Tool]) -> Toolbox:
        return Toolbox(tools, parallel=self.parallel)

    # -- for the turns of an agent

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as they are offered to a model."""
        return tuple(item.spec for item in self)

    def offered(self) -> Toolbox:
        """What is offered now, and can run in this turn, whatever changes meanwhile."""
        return self.copy()

    def took(self, results: Sequence[ToolResult]) -> None:
        """A turn is over, with these results."""

    # -- calls

    async def run_call(
        self,
        call: ToolCall,
        ctx: Context[Any] | None = None,
        *,
        deps: Any = None,
        others: tuple[ToolResult, ...] = (),
    ) -> ToolResult:
        """Run one call, with approval where the tool wants that. Whatever goes wrong is an error result.

        ctx: for the tool, and to ask a person. deps, others: for the tool, see `ToolContext`. Only cancellation is
        raised.
        """
        found = self.get(call.name)
        if found is None or not found.approve:
            return await self.run_approved(call, ctx, deps=deps, others=others)
        approved = await approval(found, call, ctx, f"{found.name}-approve")
        if isinstance(approved, ToolResult):
            return approved
        return approved.told(await self.run_approved(approved.call, ctx, deps=deps, others=others))

    async def run_approved(
        self,
        call: ToolCall,
        ctx: Context[Any] | None = None,
        *,
        deps: Any = None,
        others: tuple[ToolResult, ...] = (),
        again: Again | None = None,
    ) -> ToolResult:
        """`run_call` for a call that nobody has to approve any more.

        again: says of what the tool raises that the call will be tried again; such an error is raised.
        """
        found = self.get(call.name)
        if found is None:
            return failed(call, UNKNOWN_TOOL, self._unknown(call.name))
        return capped(await invoke(found, call, ToolContext(call, ctx, deps, others), again), found.max_output)

    async def execute(
        self, calls: Sequence[ToolCall], ctx: Context[Any] | None = None, *, deps: Any = None
    ) -> list[ToolResult]:
        """Run calls side by side as far as they may (see `Traffic`); exactly one result per call, in call order."""
        results: dict[int, ToolResult] = {}
        traffic = Traffic(self.parallel)

        async def work(position: int, ticket: Ticket) -> None:
            async with ticket:
                results[position] = await self.run_call(calls[position], ctx, deps=deps)

        first, last = self.stages(calls)
        async with anyio.create_task_group() as group:
            for position in first:
                group.start_soon(work, position, traffic.ticket(self.get(calls[position].name)))
        for position in last:
            others = tuple(results[other] for other in sorted(results))
            results[position] = await self.run_call(calls[position], ctx, deps=deps, others=others)
        return [results[position] for position in range(len(calls))]

    def stages(self, calls: Sequence[ToolCall]) -> tuple[list[int], list[int]]:
        """The positions of the calls that run side by side, and of those that come after, one by one."""
        stages: tuple[list[int], list[int]] = [], []
        for position, call in enumerate(calls):
            tool = self.get(call.name)
            stages[tool is not None and tool.last].append(position)
        return stages

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name, self._tools, 1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        return f"no tool '{name}'; {hint}there are: {_listed(list(self._tools))}"


Names = str | Collection[str] | Callable[[Tool], bool]
"""Some tools: a pattern of names such as "read_*", several of them, or a function of the tool."""


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more or "none"


def _names(which: Names, tool: Tool) -> bool:
    if callable(which):
        return which(tool)
    return any(fnmatchcase(tool.name, pattern) for pattern in ([which] if isinstance(which, str) else which))
