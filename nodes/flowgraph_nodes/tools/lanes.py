"""Which of a reply's tool calls may run side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from flowgraph_nodes.messages import ToolCall
from flowgraph_nodes.tools.tool import Tool

Lane: TypeAlias = tuple[int, ...]
"""Positions of calls that run one after the other."""

Phase: TypeAlias = tuple[Lane, ...]
"""Lanes that run side by side."""


def phases(calls: Sequence[ToolCall], tool_of: Callable[[str], Tool | None]) -> tuple[Phase, ...]:
    """Phases to run one after the other, each of lanes to run side by side.

    A call of an `exclusive` tool is a phase of its own, between those of the calls before and after it. Calls of
    one `serial` tool share a lane. Every other call, unknown tools included, has a lane for itself.
    """
    done: list[Phase] = []
    lanes: list[list[int]] = []
    shared: dict[str, list[int]] = {}
    for position, call in enumerate(calls):
        tool = tool_of(call.name)
        if tool is not None and tool.exclusive:
            done.append(_phase(lanes))
            done.append(((position,),))
            lanes, shared = [], {}
        elif tool is not None and tool.serial and call.name in shared:
            shared[call.name].append(position)
        else:
            lanes.append([position])
            shared[call.name] = lanes[-1]
    done.append(_phase(lanes))
    return tuple(phase for phase in done if phase)


def _phase(lanes: list[list[int]]) -> Phase:
    return tuple(map(tuple, lanes))
