"""What all agents have in common: their configuration, and how one of them is a node and runs alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from flowgraph.context import Context
from flowgraph.errors import InputError
from flowgraph.fits import describe
from flowgraph.node import Parameter
from flowgraph.policy import Limits, Retry
from flowgraph.prompts import Prompt
from flowgraph_nodes.agents.alone import run_alone, run_alone_async
from flowgraph_nodes.agents.conclusion import concluded
from flowgraph_nodes.agents.errors import AgentConfigError
from flowgraph_nodes.agents.handoffs import HANDOFF_TOOL, Handoffs
from flowgraph_nodes.agents.history import History
from flowgraph_nodes.agents.output import FINAL_TOOL, Output
from flowgraph_nodes.agents.progress import Patience
from flowgraph_nodes.agents.reasons import Ending
from flowgraph_nodes.agents.result import AgentResult
from flowgraph_nodes.agents.stream import AgentRun
from flowgraph_nodes.agents.task import PromptLike, Task, rendered, task_of
from flowgraph_nodes.agents.tool_modes import ToolMode, in_mode
from flowgraph_nodes.agents.toolboxes import MAX_OUTPUT, run_toolbox
from flowgraph_nodes.agents.turn import MODEL_RETRY, Means
from flowgraph_nodes.errors import AgentError
from flowgraph_nodes.messages import Message
from flowgraph_nodes.models import ChatModel, Fallbacks, ModelLike, ModelSettings, resolve
from flowgraph_nodes.tools import Tool, Toolbox
from flowgraph_nodes.tools.dynamic import SEARCH_TOOL
from flowgraph_nodes.tools.mcp import McpConfigError, McpServer, ServerLike
from flowgraph_nodes.tools.mcp.joining import joined
from flowgraph_nodes.tools.mcp.server import check_installed, servers_of
from flowgraph_nodes.tools.search import ToolIndex

UNNAMED: Final = "unnamed_agent"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Agent(ABC):
    """The configuration that agents share. Frozen; one object serves many runs at once.

    model: a litellm name, a `Model`, any `ChatModel`, or a list of these (later ones are fallbacks, for each call).
    settings: over the models' own; None in a field means unset, 0 is 0.
    instructions: the system prompt, a text or a Path; its placeholders are filled from prompt_vars.
    prompt: what is asked, a template, a Path or a function; its placeholders or parameters are the agent's. Without
    it the agent has one parameter, `task`.
    tools: tools, or anything that `tool` makes one of. tool_mode: how calls travel: "native", "schema" or "text".
    dynamic_tools: offer `tool_search` in their place, which finds those that are needed: for hundreds of tools.
    handoffs: agents that it can give tasks to, or a dict of them by name; adds the tool `handoff_task`.
    mcp: servers of tools, see `McpServer`: also URLs, command lines, files of servers. Each run has its own sessions.
    output_type: of the answer; anything pydantic knows, default text.
    name, description: who it is, for records and other agents.
    limits: what a run of the agent may take, with everything that it calls; see `flowgraph.Limits`.
    tool_retry: failures in a row of the same call before it counts as stuck. output_retries: answers that do not fit
    the output type and are sent back. max_nudges: replies in a row without answer or call that are followed by a
    reminder. model_retry: for transient errors of each model.

    Raises:
        AgentConfigError: with everything that is wrong. ToolDefinitionError, DuplicateToolError: about the tools.
    """

    model: ModelLike
    settings: ModelSettings = field(default_factory=ModelSettings)
    instructions: str | Path = ""
    prompt_vars: Mapping[str, Any] = field(default_factory=dict)
    prompt: PromptLike | None = None
    tools: Iterable[Tool | Callable[..., Any]] = ()
    mcp: ServerLike | Iterable[ServerLike] = field(default=(), repr=False)
    dynamic_tools: bool = False
    handoffs: Iterable[Any] | Mapping[str, Any] = ()
    tool_mode: ToolMode = "native"
    output_type: Any = str
    name: str = UNNAMED
    description: str = ""
    limits: Limits | None = None
    tool_retry: int = 3
    output_retries: int = 2
    max_nudges: int = 2
    model_retry: Retry = MODEL_RETRY

    parameters: Mapping[str, Parameter] = field(init=False)
    _models: tuple[ChatModel, ...] = field(init=False)
    _toolbox: Toolbox = field(init=False)
    _index: ToolIndex | None = field(init=False, default=None)
    _handoffs: Handoffs | None = field(init=False, default=None)
    _servers: tuple[McpServer, ...] = field(init=False, default=())
    _task: Task = field(init=False)
    _output: Output | None = field(init=False, default=None)
    _system: str = field(init=False, default="")

    def __post_init__(self) -> None:
        toolbox = self.tools.copy() if isinstance(self.tools, Toolbox) else Toolbox(self.tools)
        self._set(_toolbox=toolbox, tools=toolbox, prompt_vars=dict(self.prompt_vars))
        if problems := list(self._wrong()):
            raise AgentConfigError(type(self).__name__, str(self.name), problems)

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

    def _in_mode(self, model: ModelLike) -> tuple[ChatModel, ...]:
        """The models that are meant, as they are called. Raises ModelConfigError, ValueError for a bad tool mode."""
        return tuple(in_mode(one, self.tool_mode) for one in _flat(resolve(model)))

    def _patience(self) -> Patience:
        return Patience(nudges=self.max_nudges, tool_retry=self.tool_retry, output_retries=self.output_retries)

    # -- building

    def _wrong(self) -> Iterator[str]:
        """Everything that is wrong with the configuration; sets what is derived from it on the way."""
        yield from self._wrong_values()
        try:
            self._set(_servers=(servers := servers_of(self.mcp)), mcp=servers)  # what was given may hold keys
        except McpConfigError as error:
            yield f"mcp: {error}"
        try:
            self._set(_models=self._in_mode(self.model))
        except (AgentError, ValueError) as error:
            yield str(error)
        try:
            self._set(_task=(task := task_of(self.prompt)), parameters=dict(task.parameters))
        except (OSError, TypeError) as error:
            yield f"prompt: {error}"
        else:
            if "history" in task.parameters:
                yield "prompt: 'history' is taken, agent.run(history=...) is the conversation so far: rename it"
        yield from self._wrong_instructions()
        yield from self._wrong_tools()
        if self.output_type is not str:
            yield from self._wrong_output()

    def _wrong_values(self) -> Iterator[str]:
        kinds = {"name": str, "settings": ModelSettings, "model_retry": Retry, "limits": Limits | None}
        for name, wanted in kinds.items():
            if not isinstance(value := getattr(self, name), wanted):
                yield f"{name}= is of type {type(value).__name__}, not {describe(wanted)}"  # its repr may hold a key
        if not str(self.name).strip():
            yield "name is empty"
        if isinstance(self.prompt, str) and not self.prompt.strip():
            yield "prompt is empty: leave it out, and the agent takes a `task`"
        for name, least in self._least().items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                yield f"{name}={value!r} must be a whole number of at least {least}"

    def _least(self) -> dict[str, int]:
        """The numbers among the settings, each with the least value that it may have."""
        return {"tool_retry": 0, "output_retries": 0, "max_nudges": 0}

    def _wrong_instructions(self) -> Iterator[str]:
        try:
            template = Prompt(self.instructions)
        except (OSError, TypeError) as error:
            yield f"instructions: {error}"
            return
        used = [item.name for item in template.placeholders]
        for name in self.prompt_vars:
            if name not in used:
                yield f"prompt_vars: the instructions have no {{{name}}}"
        missing = [item.name for item in template.placeholders if not item.maybe and item.name not in self.prompt_vars]
        if missing:
            yield f"prompt_vars: no value for {', '.join(missing)} (write {{{{{missing[0]}}}}} for the literal text)"
            return
        absent = dict.fromkeys(used)
        try:
            self._set(_system=rendered(template, {**absent, **self.prompt_vars}))
        except (LookupError, InputError) as error:
            yield f"prompt_vars: {error}"

    def _wrong_tools(self) -> Iterator[str]:
        try:
            handoffs = Handoffs(self.handoffs)
        except (TypeError, ValueError) as error:
            yield f"handoffs: {error}"
            return
        self._set(handoffs={name: one.node for name, one in handoffs.targets.items()})
        if handoffs.targets:
            self._set(_handoffs=handoffs, _system=f"{self._system}\n\n{handoffs.roster}".strip())
        if self.dynamic_tools:
            self._set(_index=ToolIndex(self._toolbox))
        for name, used in {HANDOFF_TOOL: handoffs.targets, SEARCH_TOOL: self.dynamic_tools}.items():
            if used and name in self._toolbox:
                yield f"tools: '{name}' is a tool of the agent's own: rename yours"

    def _wrong_output(self) -> Iterator[str]:
        if FINAL_TOOL in self._toolbox:
            yield f"tools: '{FINAL_TOOL}' is the tool that takes the {describe(self.output_type)}: rename yours"
        try:
            self._set(_output=Output(self.output_type))
        except Exception as error:
            yield f"output_type={self.output_type!r} will not do: {error}"

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

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {', '.join(model.name for model in self._models)}>"


def _flat(model: ChatModel) -> Iterator[ChatModel]:
    if isinstance(model, Fallbacks):
        for inner in model.models:
            yield from _flat(inner)
    else:
        yield model
