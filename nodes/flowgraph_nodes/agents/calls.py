"""The kinds of child that a turn has: model calls and tool calls. Each is a node run, recorded and drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from flowgraph.context import Context
from flowgraph.node import Parameter
from flowgraph.outcome import Usage
from flowgraph_nodes.messages import ToolCall
from flowgraph_nodes.models import (
    ChatModel,
    Delta,
    ModelSettings,
    OnDelta,
    ReasoningDelta,
    Request,
    Response,
    TextDelta,
    is_priced,
)
from flowgraph_nodes.tools import Tool, Toolbox, ToolResult
from flowgraph_nodes.tools.approval import approval
from flowgraph_nodes.tools.result import capped
from flowgraph_nodes.tools.traffic import Traffic
from flowgraph_nodes.wire import sound_reply

_TOOL_CALL: Final = Usage(tool_calls=1)


@dataclass(frozen=True, slots=True, repr=False)
class ModelCall:
    """One call of one model.

    settings: the agent's; they lie over the model's own. path: the agent's node run. again: another model was asked
    for the same reply before, so listeners must forget what it wrote.

    Settings are no input: inputs are recorded, and settings may hold a key.
    """

    model: ChatModel
    settings: ModelSettings
    path: str
    again: bool = False

    name: ClassVar[str] = "model"
    kind: ClassVar[str] = "model"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        name: Parameter(name) for name in ("messages", "tools", "tool_choice")
    }
    output_type: ClassVar[Any] = Response

    spends: ClassVar[Usage] = Usage(model_calls=1)

    @property
    def title(self) -> str:
        """The model's name, for drawings."""
        return self.model.name

    async def priced(self) -> bool:
        """Whether a cost limit can hold it."""
        return await is_priced(self.model)

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Response:
        """Ask the model once; streamed when somebody listens. Raises the model's error."""
        if self.again or ctx.attempt > 1:
            ctx.emit("restart")
        request = Request(**inputs, settings=self.settings, path=self.path)
        response = await self.model.complete(request, _emitter(ctx) if ctx.listened else None)
        response = replace(response, message=sound_reply(response.message))
        ctx.charge(response.usage)
        ctx.keep(model=response.model, finish_reason=response.finish_reason)
        if waited := round(response.waited, 3):
            ctx.keep(waited=waited)
        return response


@dataclass(frozen=True, slots=True, repr=False)
class ToolRun:
    """One call of one tool, which nobody has to approve any more.

    charged: whether it counts as a tool call (those that only steer the agent do not). max_output: characters of the
    result that the model gets, unless the tool has a limit of its own. others: see `ToolContext`.
    """

    toolbox: Toolbox
    tool_call: ToolCall
    charged: bool = True
    max_output: int | None = None
    others: tuple[ToolResult, ...] = ()

    kind: ClassVar[str] = "tool"
    parameters: ClassVar[Mapping[str, Parameter]] = {name: Parameter(name, str) for name in ("id", "arguments")}
    output_type: ClassVar[Any] = ToolResult

    @property
    def name(self) -> str:
        """The tool's name, as the model wrote it."""
        return self.tool_call.name or "tool"

    @property
    def spends(self) -> Usage | None:
        """What limits count before it runs."""
        return _TOOL_CALL if self.charged and self.tool_call.name in self.toolbox else None

    @property
    def inputs(self) -> dict[str, str]:
        """What the node is called with."""
        return {"id": self.tool_call.id, "arguments": self.tool_call.arguments}

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> ToolResult:
        """Run the tool. Whatever goes wrong in it is an error result, so that the model can decide what to do.

        What the tool's `retry` wants to try again is raised, while an attempt is left. The raw value stays behind: the
        model reads the text, and a record must be able to hold the result.
        """
        call, tool = self.tool_call, self.toolbox.get(self.tool_call.name)
        if self.spends is not None and ctx.attempt == 1:
            ctx.charge(self.spends)
        ctx.emit("tool_started", call)
        retry = None if tool is None else tool.retry
        again = retry.wants if retry is not None and ctx.attempt < retry.attempts else None
        result = await self.toolbox.run_approved(call, ctx, deps=ctx.deps, others=self.others, again=again)
        result = replace(result, value=None)
        if tool is None or tool.max_output is None:
            result = capped(result, self.max_output)
        ctx.emit("tool_finished", result)
        if result.failure is not None:
            ctx.keep(failure=result.failure.kind)
        return result


@dataclass(frozen=True, slots=True, repr=False)
class AttendedRun:
    """One call of a tool that wants approval: the gate `<path>/approve`, and then the run itself, `<path>/run`.

    The run is a child of its own, with the arguments that were approved: what was done under an approval is recorded
    with it, and done once. It enters the traffic when it is approved, so that nobody waits for the person.
    """

    run: ToolRun
    tool: Tool
    traffic: Traffic

    kind: ClassVar[str] = "tool"
    parameters: ClassVar[Mapping[str, Parameter]] = ToolRun.parameters
    output_type: ClassVar[Any] = ToolResult

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> ToolResult:
        """Ask a person, and run the call as it was approved. A refusal is an error result."""
        approved = await approval(self.tool, self.run.tool_call, ctx)
        if isinstance(approved, ToolResult):
            return self._refused(ctx, approved)
        run = replace(self.run, tool_call=approved.call)
        async with self.traffic.ticket(self.tool):
            result = approved.told(await ctx.call(run, run.inputs, name="run", retry=self.tool.retry))
        return replace(result, call=self.run.tool_call)

    def _refused(self, ctx: Context[Any], result: ToolResult) -> ToolResult:
        result = replace(result, value=None)
        ctx.emit("tool_finished", result)
        if result.failure is not None:
            ctx.keep(failure=result.failure.kind)
        return result


def _emitter(ctx: Context[Any]) -> OnDelta:
    async def emit(delta: Delta) -> None:
        match delta:
            case TextDelta(text):
                ctx.emit("text", text)
            case ReasoningDelta(text):
                ctx.emit("reasoning", text)
            case _:
                ctx.emit("tool_call", delta)

    return emit
