"""Open gates: what they want, how they are answered from a command line, and answers that came from one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ..errors import AnswerRefused, InputError
from ..keeping import checked_answer
from ..node_run import OpenGate
from ..record import Run
from ..render.marks import wanted
from ..render.text import one_line
from . import places, words


def answer_of(run: Run, path: str, text: str) -> Any:
    """An answer as it was typed: JSON, or, where that does not fit, the text itself. Raises AnswerRefused."""
    try:
        value = json.loads(text)
    except ValueError:
        return checked_answer(run, path, text)
    try:
        return checked_answer(run, path, value)
    except AnswerRefused:
        try:
            return checked_answer(run, path, text)  # 42, for a gate that wants a text
        except AnswerRefused:
            pass
        raise


def answers_of(run: Run, pairs: Iterable[str]) -> dict[str, Any]:
    """Answers by path, from `PATH=VALUE`. Raises InputError, AnswerRefused."""
    found = {}
    for pair in pairs:
        path, equals, text = pair.partition("=")
        if not equals:
            raise InputError(f"--answer wants PATH=VALUE, not {pair!r}")
        found[path.strip()] = answer_of(run, path.strip(), text)
    return found


def lines_of(run: Run, store: str | None, now: float) -> list[str]:
    """What is waited for, each with the command line that answers it."""
    lines = []
    for gate in run.gates:
        lines += [
            f"  {gate.path}: {one_line(gate.question, 200)}",
            f"    wants {wanted(gate.schema)}{_limit(gate, now)}",
        ]
        if store:
            lines.append(f"    {places.line(store, 'answer', run.id, gate.path, example(gate.schema))}")
    return lines


def example(schema: dict[str, Any]) -> str:
    """Something to put in the place of the answer."""
    if schema.get("enum"):
        first = schema["enum"][0]
        return first if isinstance(first, str) else json.dumps(first)
    return {"boolean": "true", "string": "TEXT", "integer": "1", "number": "1.5"}.get(str(schema.get("type")), "JSON")


def _limit(gate: OpenGate, now: float) -> str:
    if gate.due is None:
        return ""
    return f"; {words.left(gate.due, now)}, then it {'takes its default' if gate.has_default else 'fails'}"
