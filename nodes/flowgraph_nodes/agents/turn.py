"""The turn, which all agents share: one model call, and then every tool call that the reply asks for.

Each function adds one concern: `take_turn` stores what was said, `_reply` goes through the fallbacks, `_asked` retries
one model, `_results` runs the tools. Each model call and each tool call is a child of the agent's node run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from flowgraph.call import Call
from flowgraph.context import Context
from flowgraph.errors import FlowgraphError
from flowgraph.policy import Retry
from flowgraph_nodes.agents.calls import AttendedRun, ModelCall, ToolRun
from flowgraph_nodes.agents.history import History
from flowgraph_nodes.agents.replies import identified, sendable
from flowgraph_nodes.errors import ModelError, TransientModelError
from flowgraph_nodes.messages import AssistantMessage, ToolCall
from flowgraph_nodes.models import ChatModel, ModelSettings, Response, ToolChoice
from flowgraph_nodes.tools import Toolbox, ToolResult
from flowgraph_nodes.tools.result import answered, cancelled, failed, raised
from flowgraph_nodes.tools.traffic import Traffic

CUT_OFF: Final = "CutOff"
MODEL_RETRY: Final = Retry(attempts=4, delay=1.0, factor=2.0, max_delay=30.0, jitter=0.2, on=TransientModelError)
"""Transient errors of a model are tried again after about 1, 2 and 4 seconds, or when the provider says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What turns are taken with.

    models: the first is asked, the others are fallbacks for each call. toolbox: what is offered is what can run.
    settings: of every call, over the models' own. retry: for each model. tool_choice: None leaves it to the provider.
    controls: tools that only steer the agent, and do not count as tool calls. max_output: characters that the model
    gets of a result, of tools that have no limit of their own; None: all.
    """

    models: tuple[ChatModel, ...]
    toolbox: Toolbox
    settings: ModelSettings
    retry: Retry = MODEL_RETRY
    tool_choice: ToolChoice | None = None
    controls: frozenset[str] = frozenset()
    max_output: int | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn that was taken. results: one for each call of the message, in call order."""

    message: AssistantMessage
    response: Response
    results: tuple[ToolResult, ...] = ()

    @property
    def text(self) -> str:
        """The text of the reply, "" when there is nothing but white space."""
        return self.message.content if self.message.content.strip() else ""


async def take_turn(ctx: Context[Any], means: Means, history: History) -> Turn:
    """Ask the model, run the tools it calls, and add the reply and all results to the history.

    An empty reply (no text, no calls) is not added: there is nothing to show the model again. When the turn is cut
    short by a cancellation, calls without a result are answered as cancelled, and the cancellation goes on.

    Raises ModelError when no model gave a reply.
    """
    history.turns += 1
    offered = means.toolbox.offered()
    response = await _reply(ctx, means, offered, history)
    message = identified(response.message, history)
    if not message.tool_calls:
        if message.content.strip():
            history.add(message)
        return Turn(message, response)
    results: dict[int, ToolResult] = {}
    try:
        await _results(ctx, means, offered, message.tool_calls, response.cut_off, results)
    finally:
        complete = tuple(results.get(n) or cancelled(call) for n, call in enumerate(message.tool_calls))
        history.answer(sendable(message), (result.message for result in complete))
    means.toolbox.took(complete)
    return Turn(message, response, complete)


async def _reply(ctx: Context[Any], means: Means, offered: Toolbox, history: History) -> Response:
    """The reply of the first model that gives one. Raises the last one's error, the others as its notes."""
    errors: list[ModelError] = []
    for model in means.models:
        call = ModelCall(model, means.settings, ctx.path, again=bool(errors))
        try:
            return await _asked(ctx, means, call, offered, history)
        except ModelError as error:
            errors.append(error)
    *others, last = errors
    for other in others:
        last.add_note(f"before it, {type(other).__name__}: {other}")
    raise last


def _asked(ctx: Context[Any], means: Means, call: ModelCall, offered: Toolbox, history: History) -> Call[Response]:
    """Ask one model, with retries: the engine's, since a child keeps its place over them."""
    inputs = {"messages": history.transcript, "tools": offered.specs(), "tool_choice": means.tool_choice}
    return ctx.call(call, inputs, retry=means.retry)


async def _results(
    ctx: Context[Any],
    means: Means,
    offered: Toolbox,
    calls: Sequence[ToolCall],
    cut_off: bool,
    results: dict[int, ToolResult],
) -> None:
    """Run calls side by side as far as they may, and put their results under their positions as they come.

    The last call of a reply that was cut off does not run, since it may be incomplete.
    """
    whole = calls[:-1] if cut_off else calls
    if cut_off:
        results[len(whole)] = failed(
            calls[-1], CUT_OFF, "the reply was cut off at the token limit, so this call was not run; write less"
        )
    traffic = Traffic(offered.parallel)
    first, last = offered.stages(whole)

    async def settle(position: int, call: Call[ToolResult]) -> None:
        results[position] = await _settled(ctx, offered, whole[position], call)

    started = [(n, _started(ctx, means, offered, whole[n], traffic)) for n in first]
    for _, call in started:
        call.announce()  # so that the record has them in call order, whichever begins first
    await ctx.gather(*(Call(call.path, partial(settle, n, call)) for n, call in started))
    for n in last:
        others = tuple(results[other] for other in sorted(results))
        await settle(n, _started(ctx, means, offered, whole[n], traffic, others))


def _started(
    ctx: Context[Any],
    means: Means,
    offered: Toolbox,
    call: ToolCall,
    traffic: Traffic,
    others: tuple[ToolResult, ...] = (),
) -> Call[ToolResult]:
    """The call as a child that has its place, and begins when it is awaited and the traffic lets it."""
    tool = offered.get(call.name)
    run = ToolRun(offered, call, call.name not in means.controls, means.max_output, others)
    if tool is not None and tool.approve:
        attended = AttendedRun(run, tool, traffic)
        return ctx.call(attended, run.inputs)
    child, ticket = ctx.call(run, run.inputs, retry=None if tool is None else tool.retry), traffic.ticket(tool)

    async def enter() -> ToolResult:
        async with ticket:
            result: ToolResult = await child
            return result

    return Call(child.path, enter, child.announce)


async def _settled(ctx: Context[Any], offered: Toolbox, call: ToolCall, run: Call[ToolResult]) -> ToolResult:
    """The result of a call, a person's answer included, where the tool asks for one."""
    try:
        result = await run
    except FlowgraphError:  # about the run, not of the tool
        raise
    except Exception as error:  # the engine had no attempt left for it
        tool = offered.get(call.name)
        if tool is None or tool.retry is None:
            raise
        return raised(call, error)
    if result.feedback is None:
        return result
    key = run.path.rpartition("/")[2] + "-ask"
    return answered(result, await ctx.ask(result.feedback.question, result.feedback.answers, key=key))
