"""What all agents do: how one of them is a node and runs alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from flowgraph.context import Context
from flowgraph_nodes.agents.alone import run_alone, run_alone_async
from flowgraph_nodes.agents.conclusion import concluded
from flowgraph_nodes.agents.config import AgentConfig
from flowgraph_nodes.agents.history import History
from flowgraph_nodes.agents.progress import Patience
from flowgraph_nodes.agents.reasons import Ending
from flowgraph_nodes.agents.result import AgentResult
from flowgraph_nodes.agents.stream import AgentRun
from flowgraph_nodes.agents.toolboxes import MAX_OUTPUT, run_toolbox
from flowgraph_nodes.agents.turn import Means
from flowgraph_nodes.errors import AgentError
from flowgraph_nodes.messages import Message
from flowgraph_nodes.tools import Tool
from flowgraph_nodes.tools.dynamic import SEARCH_TOOL
from flowgraph_nodes.tools.mcp.joining import joined
from flowgraph_nodes.tools.mcp.server import check_installed


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Agent(AgentConfig, ABC):
    """An agent: what it is built from is `AgentConfig`, what it does is up to its kind."""

    # -- as a node

    @property
    def kind(self) -> str:
        """The word for drawings."""
        return "agent"

    def problems(self) -> list[str]:
        """What stands in the way of a run as things are, such as a missing key. Makes no call."""
        found: list[str] = []
        for check in (*(model.check for model in self._models), *([check_installed] if self._servers else [])):
            try:
                check()
            except AgentError as error:
                found.append(str(error))
        return found

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Any:
        """Run as a node: the output is the answer, the messages and the stop reason are details of the node run.

        Raises AgentFailed when it stopped without success, and the provider's error when that stopped it.
        """
        return await self.answer(ctx, inputs)

    async def answer(self, ctx: Context[Any], inputs: dict[str, Any], before: Iterable[Message] = ()) -> Any:
        """`call`, continuing the conversation `before`."""
        history = History(self._system, before, await self._task.text(ctx, inputs))
        means = self._means()

        async def work() -> Ending:
            async with joined(self._servers, means.toolbox, ctx):
                return await self._work(ctx, history, means)

        return (await concluded(ctx, self.name, history, work)).output

    @abstractmethod
    async def _work(self, ctx: Context[Any], history: History, means: Means) -> Ending:
        """Do what this kind of agent does, from the task to an ending. means: of this run alone."""

    # -- alone

    def run(self, task: Any = None, /, *, history: Iterable[Message] | None = None, **inputs: Any) -> AgentResult:
        """Run the agent alone and give its result. Inside async code use `await agent.arun(...)`.

        task: the value of the only parameter (or of `task`). history: the messages of a conversation to continue,
        such as `previous.messages`. inputs: values of parameters by name.

        Raises InputError, GraphError (what `problems` finds), AgentFailed, ModelError.
        """
        return run_alone(self, self._bound(task, inputs), history)

    async def arun(
        self, task: Any = None, /, *, history: Iterable[Message] | None = None, **inputs: Any
    ) -> AgentResult:
        """`run` for async code."""
        return await run_alone_async(self, self._bound(task, inputs), history)

    def stream(self, task: Any = None, /, *, history: Iterable[Message] | None = None, **inputs: Any) -> AgentRun:
        """A run to be watched: `async with agent.stream("…") as run: async for event in run: …`.

        Leaving the block stops whatever still runs. Arguments as in `run`.
        """
        return AgentRun(self, self._bound(task, inputs), history)

    # -- for the kinds of agent

    def _means(self) -> Means:
        """What the turns of one run are taken with."""
        controls = self._controls()
        return Means(
            models=self._models,
            toolbox=run_toolbox(self._toolbox, controls, self._index),
            settings=self.settings,
            retry=self.model_retry,
            tool_choice=None if self._output is None else "required",
            controls=frozenset({*(one.name for one in controls), *([SEARCH_TOOL] if self.dynamic_tools else ())}),
            max_output=MAX_OUTPUT,
        )

    def _controls(self) -> list[Tool]:
        """The tools that steer the agent, beside those that it was given."""
        return [one.tool for one in (self._output, self._handoffs) if one is not None]

    def _patience(self) -> Patience:
        return Patience(nudges=self.max_nudges, tool_retry=self.tool_retry, output_retries=self.output_retries)

    def _bound(self, task: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        """The inputs by name, the positional one under the name it belongs to. Raises TypeError when it has none."""
        if task is None:
            return inputs
        name = "task" if "task" in self.parameters else next(iter(self.parameters), "")
        if name != "task" and len(self.parameters) != 1:
            raise TypeError(f"agent '{self.name}' takes {', '.join(self.parameters) or 'no inputs'}: give them by name")
        if name in inputs:
            raise TypeError(f"agent '{self.name}' got '{name}' twice")
        return {name: task, **inputs}
