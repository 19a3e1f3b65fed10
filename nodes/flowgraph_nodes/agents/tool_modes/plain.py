"""A conversation with tools, told in plain text: what the modes without native calls have in common."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from flowgraph_nodes.messages import AssistantMessage, Message, SystemMessage, ToolMessage, ToolSpec, UserMessage
from flowgraph_nodes.transcript import Transcript


def catalogue(specs: tuple[ToolSpec, ...]) -> str:
    """The tools with their descriptions and the schemas of their arguments, one a line."""
    return "\n".join(
        f"- {spec.name}: {' '.join(spec.description.split())} Arguments (JSON schema): "
        f"{json.dumps(dict(spec.parameters), ensure_ascii=False)}"
        for spec in specs
    )


def plain(
    messages: Transcript,
    rules: str,
    write: Callable[[AssistantMessage], str],
    report: Callable[[ToolMessage], str],
) -> Transcript:
    """The transcript without calls and tool messages, `rules` (if any) behind the system prompt.

    write: a reply with calls as text. report: a result as text; those of one reply go into one user message.
    """
    found = _plain(messages, write, report)
    if not rules:
        return Transcript(tuple(found))
    first = messages[0] if len(messages) else None
    if isinstance(first, SystemMessage):
        next(found)
        return Transcript((SystemMessage(f"{first.content}\n\n{rules}"), *found))
    return Transcript((SystemMessage(rules), *found))


def _plain(
    messages: Transcript, write: Callable[[AssistantMessage], str], report: Callable[[ToolMessage], str]
) -> Iterator[Message]:
    reports: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            reports.append(report(message))
            continue
        if reports:
            yield UserMessage("\n".join(reports))
            reports = []
        yield AssistantMessage(write(message)) if isinstance(message, AssistantMessage) else message
    if reports:
        yield UserMessage("\n".join(reports))
