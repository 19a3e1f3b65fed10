"""Many tools, few of them offered: the model finds the others with `tool_search`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final

from pydantic import Field

from flowgraph_nodes.messages import ToolSpec
from flowgraph_nodes.tools.result import ToolResult
from flowgraph_nodes.tools.search import ToolIndex
from flowgraph_nodes.tools.tool import Tool, tool
from flowgraph_nodes.tools.toolbox import Toolbox

SEARCH_TOOL: Final = "tool_search"
_SELECT: Final = "select:"


class DynamicToolbox(Toolbox):
    """A toolbox that offers `tool_search`, the tools that were found with it, and those that are pinned.

    tools: what there is to be found. pinned: always offered. index: of the tools, if there is one already.

    What a search finds is offered from the next turn on: it is loaded when the turn is over (`took`), by what its
    result says, so that a resumed run, which does not search again, loads the same.
    """

    def __init__(
        self,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        *,
        pinned: Iterable[Tool] = (),
        parallel: int = 4,
        index: ToolIndex | None = None,
    ) -> None:
        super().__init__(tools, parallel=parallel)
        self._index = index
        self._pinned = Toolbox((*pinned, tool(self._search, name=SEARCH_TOOL)))
        for one in self._pinned:
            self.add(one)
        self._loaded: dict[str, None] = {}

    def copy(self) -> DynamicToolbox:
        """One with the same tools, pinned, loaded and to be found, that changes on its own."""
        pinned = [one for one in self._pinned if one.name != SEARCH_TOOL]
        other = DynamicToolbox(self._findable(), pinned=pinned, parallel=self.parallel, index=self._index)
        other._loaded = dict(self._loaded)
        return other

    def pin(self, thing: Tool | Callable[..., Any]) -> Tool:
        """Add a tool that is always offered."""
        return self._pinned.add(self.add(thing))

    def load(self, names: Iterable[str]) -> None:
        """Offer these tools from the next turn on; names that there are none of are passed over."""
        self._loaded |= dict.fromkeys(name for name in names if name in self and name not in self._pinned)

    def preload(self, text: str, limit: int = 8) -> None:
        """Offer the tools that fit a text best, such as a plan."""
        self.load(found.tool.name for found in self._searched().find(text, limit))

    def offered(self) -> Toolbox:
        """The pinned and the loaded tools; what is not among them is answered with a hint how to get it."""
        tools = [*self._pinned, *(one for name in self._loaded if (one := self.get(name)) is not None)]
        return _Offered(tools, self)

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools that are offered now."""
        return self.offered().specs()

    def took(self, results: Sequence[ToolResult]) -> None:
        """Load what searches of this turn have found."""
        for result in results:
            if result.call.name == SEARCH_TOOL and result.ok:
                with suppress(ValueError, LookupError, TypeError):  # somebody may have rewritten the result
                    self.load([one["name"] for one in json.loads(result.full or result.text)["tools"]])

    def _searched(self) -> ToolIndex:
        """The index of the tools as they are now."""
        tools = self._findable()
        if self._index is None or not self._index.covers(tools):
            self._index = ToolIndex(tools)
        return self._index

    def _findable(self) -> list[Tool]:
        return [one for one in self if one.name not in self._pinned]

    def _search(
        self,
        query: str,
        max_results: Annotated[int, Field(ge=1)] = 5,
        min_score_ratio: Annotated[float, Field(ge=0, le=1)] = 0.0,
    ) -> dict[str, Any]:
        """Find tools that you do not see yet. Those that are found can be called from your next reply on.

        Args:
            query: what the tool should do, in a few words; or select:name1,name2 for exact names
            max_results: how many at most
            min_score_ratio: leave out what scores less than this share of the best
        """
        if query.strip().startswith(_SELECT):
            return self._select(query.strip().removeprefix(_SELECT), max_results)
        found = self._searched().find(query, max_results, min_score_ratio)
        tools = [{**_about(one.tool), "score": round(one.score, 3)} for one in found]
        if not tools:
            return {
                "tools": [],
                "note": f"nothing fits; there are {len(self) - len(self._pinned)} tools, try other words",
            }
        return {"tools": tools}

    def _select(self, names: str, limit: int) -> dict[str, Any]:
        wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
        known = [one for name in wanted if (one := self.get(name)) is not None]
        answer: dict[str, Any] = {"tools": [_about(one) for one in known[:limit]]}
        if unknown := [name for name in wanted if name not in self]:
            answer["unknown"] = unknown
        if left := [one.name for one in known[limit:]]:
            answer["left_out"] = left
        return answer


class _Offered(Toolbox):
    """What a dynamic toolbox offers in one turn."""

    def __init__(self, tools: Iterable[Tool], whole: DynamicToolbox) -> None:
        super().__init__(tools, parallel=whole.parallel)
        self._whole = whole

    def _unknown(self, name: str) -> str:
        if name in self._whole:
            return f"the tool '{name}' is not loaded: call {SEARCH_TOOL} with 'select:{name}', and it in the next reply"
        return f"{super()._unknown(name)}; look for others with {SEARCH_TOOL}"


def _about(one: Tool) -> dict[str, str]:
    return {"name": one.name, "description": one.description}
