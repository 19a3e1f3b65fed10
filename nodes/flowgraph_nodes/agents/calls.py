"""The two kinds of child that a turn has: a model call and a tool call. Each is a node run, recorded and drawn."""

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
from flowgraph_nodes.tools import Toolbox, ToolResult
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
        return response


@dataclass(frozen=True, slots=True, repr=False)
class ToolRun:
    """One call of one tool. charged: whether it counts as a tool call (those that only steer the agent do not)."""

    toolbox: Toolbox
    tool_call: ToolCall
    charged: bool = True

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

        The raw value stays behind: the model reads the text, and a record must be able to hold the result.
        """
        call = self.tool_call
        if self.spends is not None:
            ctx.charge(self.spends)
        ctx.emit("tool_started", call)
        result = replace(await self.toolbox.run_call(call, ctx, deps=ctx.deps), value=None)
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
