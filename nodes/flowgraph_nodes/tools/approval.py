"""Approval: a person looks at a call, exactly as it will run, before it does."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from flowgraph.context import Context
from flowgraph_nodes.errors import ArgumentsError
from flowgraph_nodes.messages import ToolCall
from flowgraph_nodes.tools.arguments import parsed
from flowgraph_nodes.tools.result import BAD_ARGUMENTS, REFUSED, ToolResult, failed, raised
from flowgraph_nodes.tools.tool import Tool
from flowgraph_nodes.wire import sound


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's answer to a call that needs one. `True` and `False` will do where there is nothing more to say.

    arguments: what the call shall run with instead; the model is told. reason: for the model, mostly of a refusal.
    """

    approved: bool
    arguments: dict[str, Any] | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Approved:
    """A call that may run. edited: a person has changed its arguments."""

    call: ToolCall
    edited: bool = False

    def told(self, result: ToolResult) -> ToolResult:
        """The result of the call, in which the model is told that it ran with other arguments."""
        if not self.edited:
            return result
        note = f"[A person changed the arguments of this call to {self.call.arguments}]\n"
        full = None if result.full is None else note + result.full
        return replace(result, text=note + result.text, full=full)


async def approval(tool: Tool, call: ToolCall, ctx: Context[Any] | None, key: str = "approve") -> Approved | ToolResult:
    """The call as it may run, or the error result of one that may not. Asks a person where the tool wants that.

    Nobody is asked about arguments that do not fit the tool. key: the name of the gate, a child of the node run.
    """
    try:
        given = parsed(call.arguments)
        tool.read(given)
        wanted = await _is_wanted(tool, given)
    except ArgumentsError as error:
        return failed(call, BAD_ARGUMENTS, str(error))
    except Exception as error:  # of the tool's own validators, or the predicate: whoever cannot say must not let it run
        return raised(call, error)
    if not wanted:
        return Approved(call)
    if ctx is None:
        return failed(call, REFUSED, f"'{tool.name}' needs the approval of a person, and there is no run to ask one in")
    answer = await ctx.ask(f"May the tool '{tool.name}' run with {_shown(given)}?", bool | Approval, key=key)
    if answer is False or (isinstance(answer, Approval) and not answer.approved):
        reason = answer.reason if isinstance(answer, Approval) else ""
        return failed(call, REFUSED, reason or "a person has refused this call")
    if isinstance(answer, Approval) and answer.arguments is not None and answer.arguments != given:
        return Approved(replace(call, arguments=_shown(answer.arguments)), edited=True)
    return Approved(replace(call, arguments=_shown(given)))


async def _is_wanted(tool: Tool, given: dict[str, Any]) -> bool:
    if not callable(tool.approve):
        return bool(tool.approve)
    wanted = tool.approve(tool.name, given)
    return bool(await wanted if inspect.isawaitable(wanted) else wanted)


def _shown(arguments: Mapping[str, Any]) -> str:
    return sound(json.dumps(arguments, ensure_ascii=False))
