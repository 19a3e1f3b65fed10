"""One call of one tool: arguments, time limit, thread, error. Each concern is a function of its own."""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import anyio

from flowgraph_nodes.errors import ArgumentsError
from flowgraph_nodes.messages import ToolCall
from flowgraph_nodes.threads import threads
from flowgraph_nodes.tools.arguments import Arguments, parsed
from flowgraph_nodes.tools.context import ToolContext
from flowgraph_nodes.tools.result import (
    BAD_ARGUMENTS,
    CANCELLED,
    TIMEOUT,
    ToolResult,
    failed,
    raised,
    returned,
)
from flowgraph_nodes.tools.tool import Tool

Again: TypeAlias = Callable[[Exception], bool]


async def invoke(tool: Tool, call: ToolCall, ctx: ToolContext, again: Again | None = None) -> ToolResult:
    """Run a call and give its one result, whatever happens. Only cancellation and KeyboardInterrupt get through.

    again: says of an error that the call will be tried again; such an error is raised.
    """
    try:
        arguments = tool.read(parsed(call.arguments))
    except ArgumentsError as error:
        return failed(call, BAD_ARGUMENTS, str(error))
    except Exception as error:  # a validator of the user's that raises anything else
        return raised(call, error)
    try:
        return returned(call, await _in_time(tool, arguments, ctx))
    except _OutOfTimeError as error:
        if again is not None and again(late := TimeoutError(str(error))):
            raise late from None
        return failed(call, TIMEOUT, str(error))
    except anyio.get_cancelled_exc_class():
        if _are_cancelled():
            raise
        return failed(call, CANCELLED, "the tool was cancelled from within")
    except Exception as error:
        if again is not None and again(error):
            raise
        return await _excused(tool, call, error)
    except SystemExit as error:  # the tool's own doing, not a wish to end this process
        return raised(call, error)


class _OutOfTimeError(Exception):
    """The tool's time limit has passed. (A TimeoutError may be one that the tool raised.)"""


async def _in_time(tool: Tool, arguments: Arguments, ctx: ToolContext) -> Any:
    if tool.timeout is None:
        return await _called(tool, arguments, ctx)
    with anyio.move_on_after(tool.timeout):
        return await _called(tool, arguments, ctx)
    raise _OutOfTimeError(f"no result within {tool.timeout:g} s")


async def _called(tool: Tool, arguments: Arguments, ctx: ToolContext) -> Any:
    kwargs = dict(arguments.kwargs)
    if tool.context is not None:
        kwargs[tool.context] = ctx
    if tool.inline or _is_async(tool.target):
        value = tool.target(*arguments.args, **kwargs)
    else:
        value = await threads().run(functools.partial(tool.target, *arguments.args, **kwargs))
    return await value if inspect.isawaitable(value) else value


async def _excused(tool: Tool, call: ToolCall, error: Exception) -> ToolResult:
    """The result that the tool's `on_error` makes of an error, or an error result."""
    if tool.on_error is None:
        return raised(call, error)
    try:
        value = tool.on_error(error)
        return returned(call, await value if inspect.isawaitable(value) else value)
    except Exception as another:
        return raised(call, another)


def _is_async(target: Any) -> bool:
    while isinstance(target, functools.partial):
        target = target.func
    return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(type(target).__call__)


def _are_cancelled() -> bool:
    """Whether a cancellation that came up is meant for us, and not one that the tool made up."""
    if anyio.current_effective_deadline() == -math.inf:
        return True
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no asyncio: elsewhere nobody can make one up
        return True
    return task is not None and task.cancelling() > 0
