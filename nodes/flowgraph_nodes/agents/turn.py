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
from flowgraph.policy import Retry
from flowgraph_nodes.agents.calls import ModelCall, ToolRun
from flowgraph_nodes.agents.history import History
from flowgraph_nodes.errors import ModelError, TransientModelError
from flowgraph_nodes.messages import AssistantMessage, ToolCall
from flowgraph_nodes.models import ChatModel, ModelSettings, Response, ToolChoice
from flowgraph_nodes.tools import Toolbox, ToolResult
from flowgraph_nodes.tools.lanes import Lane, phases
from flowgraph_nodes.tools.result import cancelled, failed

CUT_OFF: Final = "CutOff"
MODEL_RETRY: Final = Retry(attempts=4, delay=1.0, factor=2.0, max_delay=30.0, jitter=0.2, on=TransientModelError)
"""Transient errors of a model are tried again after about 1, 2 and 4 seconds, or when the provider says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What turns are taken with.

    models: the first is asked, the others are fallbacks for each call. toolbox: what is offered is what can run.
    settings: of every call, over the models' own. retry: for each model. tool_choice: None leaves it to the provider.
    controls: tools that only steer the agent, and do not count as tool calls.
    """

    models: tuple[ChatModel, ...]
    toolbox: Toolbox
    settings: ModelSettings
    retry: Retry = MODEL_RETRY
    tool_choice: ToolChoice | None = None
    controls: frozenset[str] = frozenset()


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
    response = await _reply(ctx, means, history)
    message = response.message.with_unique_ids(f"call-{len(history)}")
    if not message.tool_calls:
        if message.content.strip():
            history.add(message)
        return Turn(message, response)
    results: dict[int, ToolResult] = {}
    try:
        await _results(ctx, means, message.tool_calls, response.cut_off, results)
    finally:
        complete = tuple(results.get(n) or cancelled(call) for n, call in enumerate(message.tool_calls))
        history.answer(message, (result.message for result in complete))
    return Turn(message, response, complete)


async def _reply(ctx: Context[Any], means: Means, history: History) -> Response:
    """The reply of the first model that gives one. Raises the last one's error, the others as its notes."""
    errors: list[ModelError] = []
    for model in means.models:
        try:
            return await _asked(ctx, means, model, history, again=bool(errors))
        except ModelError as error:
            errors.append(error)
    *others, last = errors
    for other in others:
        last.add_note(f"before it, {type(other).__name__}: {other}")
    raise last


def _asked(ctx: Context[Any], means: Means, model: ChatModel, history: History, *, again: bool) -> Call[Response]:
    """Ask one model, with retries: the engine's, since a child keeps its place over them."""
    call = ModelCall(model, means.settings, ctx.path, again)
    inputs = {"messages": history.transcript, "tools": means.toolbox.specs(), "tool_choice": means.tool_choice}
    return ctx.call(call, inputs, retry=means.retry)


async def _results(
    ctx: Context[Any], means: Means, calls: Sequence[ToolCall], cut_off: bool, results: dict[int, ToolResult]
) -> None:
    """Run calls side by side as far as they may, and put their results under their positions as they come.

    The last call of a reply that was cut off does not run, since it may be incomplete.
    """
    whole = calls[:-1] if cut_off else calls
    if cut_off:
        results[len(whole)] = failed(
            calls[-1], CUT_OFF, "the reply was cut off at the token limit, so this call was not run; write less"
        )
    runs = [ToolRun(means.toolbox, call, call.name not in means.controls) for call in whole]
    started = [ctx.call(run, run.inputs) for run in runs]
    for call in started:
        call.announce()  # so that the record has them in call order, whichever begins first

    async def work(lane: Lane) -> None:
        for position in lane:
            results[position] = await started[position]

    for phase in phases(whole, means.toolbox.get):
        lanes = (Call(started[lane[0]].path, partial(work, lane)) for lane in phase)
        await ctx.gather(*lanes, max_concurrency=means.toolbox.parallel)
