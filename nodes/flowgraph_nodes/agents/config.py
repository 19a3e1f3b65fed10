"""The configuration that agents share, checked as a whole when it is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from flowgraph.errors import InputError
from flowgraph.fits import describe
from flowgraph.node import Parameter
from flowgraph.policy import Limits, Retry
from flowgraph.prompts import Prompt
from flowgraph_nodes.agents.errors import AgentConfigError
from flowgraph_nodes.agents.handoffs import HANDOFF_TOOL, Handoffs
from flowgraph_nodes.agents.output import FINAL_TOOL, Output
from flowgraph_nodes.agents.task import PromptLike, Task, rendered, task_of
from flowgraph_nodes.agents.tool_modes import ToolMode, in_mode
from flowgraph_nodes.agents.turn import MODEL_RETRY
from flowgraph_nodes.errors import AgentError
from flowgraph_nodes.models import ChatModel, Fallbacks, ModelLike, ModelSettings, resolve
from flowgraph_nodes.tools import Tool, Toolbox
from flowgraph_nodes.tools.dynamic import SEARCH_TOOL
from flowgraph_nodes.tools.mcp import McpConfigError, McpServer, ServerLike
from flowgraph_nodes.tools.mcp.server import servers_of
from flowgraph_nodes.tools.search import ToolIndex

UNNAMED: Final = "unnamed_agent"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AgentConfig:
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

    def _in_mode(self, model: ModelLike) -> tuple[ChatModel, ...]:
        """The models that are meant, as they are called. Raises ModelConfigError, ValueError for a bad tool mode."""
        return tuple(in_mode(one, self.tool_mode) for one in _flat(resolve(model)))

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
