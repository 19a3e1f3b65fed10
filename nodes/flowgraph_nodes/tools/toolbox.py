"""The tools of an agent: one registry and one dispatcher, so that what is offered is what can run."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import anyio

from flowgraph.context import Context
from flowgraph_nodes.errors import DuplicateToolError, ToolError
from flowgraph_nodes.messages import ToolCall, ToolSpec
from flowgraph_nodes.tools.context import ToolContext
from flowgraph_nodes.tools.invoke import invoke
from flowgraph_nodes.tools.lanes import Lane, phases
from flowgraph_nodes.tools.result import UNKNOWN_TOOL, ToolResult, failed
from flowgraph_nodes.tools.tool import Tool, as_tool


class Toolbox:
    """Tools by name, in the order they were added.

    tools: tools, or anything that `tool` makes one of.
    parallel: how many calls of one `execute` run at once, at least 1.

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
        return f"Toolbox({', '.join(self._tools)})"

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
        return Toolbox(self, parallel=self.parallel)

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as they are offered to a model."""
        return tuple(item.spec for item in self)

    async def run_call(self, call: ToolCall, ctx: Context[Any] | None = None, *, deps: Any = None) -> ToolResult:
        """Run one call. Whatever goes wrong is an error result; only cancellation is raised.

        ctx, deps: handed to the tool in its `ToolContext`.
        """
        found = self._tools.get(call.name)
        if found is None:
            return failed(call, UNKNOWN_TOOL, self._unknown(call.name))
        return await invoke(found, call, ToolContext(call, ctx, deps))

    async def execute(
        self, calls: Sequence[ToolCall], ctx: Context[Any] | None = None, *, deps: Any = None
    ) -> list[ToolResult]:
        """Run calls side by side as far as they may (see `phases`); exactly one result per call, in call order."""
        results: dict[int, ToolResult] = {}

        async def work(lanes: Iterator[Lane]) -> None:
            for lane in lanes:
                for position in lane:
                    results[position] = await self.run_call(calls[position], ctx, deps=deps)

        for phase in phases(calls, self.get):
            lanes = iter(phase)  # shared: whoever is free takes the next, so calls start in their order
            async with anyio.create_task_group() as group:
                for _ in range(min(self.parallel, len(phase))):
                    group.start_soon(work, lanes)
        return [results[position] for position in range(len(calls))]

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name, self._tools, 1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        return f"no tool '{name}'; {hint}there are: {', '.join(self._tools) or 'none'}"
