"""Marks: what the record of a run says of its node runs beside their status: what is restored, asked, or odd."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..events import Decided, RunResumed
from ..node_run import NodeRun
from ..outcome import MISSING, Status
from ..record import Run
from . import text

_PLAIN: Final = {"boolean": "true or false", "string": "a text", "integer": "a whole number", "number": "a number"}


@dataclass(frozen=True, slots=True)
class Marks:
    """By path. restored: taken from the journal. asking: how many gates are open at or below it. notes: in words."""

    restored: frozenset[str] = frozenset()
    asking: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def marks_of(run: Run) -> Marks:
    """The marks of a run."""
    asking = Counter[str]()
    for gate in run.gates:
        node: NodeRun | None = run.nodes[gate.path]
        while node is not None:
            asking[node.path] += 1
            node = node.parent
    return Marks(restored(run), asking, _notes(run))


def _notes(run: Run) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for event in run.events:
        if isinstance(event, Decided) and event.what in ("cached", "diverged"):
            words = f"{event.what}: {event.detail}" if event.detail else event.what
            found.setdefault(event.path, {})[words] = None
    return {path: tuple(words) for path, words in found.items()}


def restored(run: Run) -> frozenset[str]:
    """Paths of the node runs whose outputs a resumed run has taken from its journal."""
    touched = set[str]()
    for event in reversed(run.events):
        if isinstance(event, RunResumed):
            return frozenset(
                path for path, node in run.nodes.items() if node.status is Status.SUCCEEDED and path not in touched
            )
        touched.add(event.path)
    return frozenset()


def asks(run: NodeRun | None) -> bool:
    """Whether a node run waits for a person."""
    return run is not None and run.status is Status.WAITING and run.gate is not None and run.gate.answer is MISSING


def waits_for(run: NodeRun) -> list[str]:
    """What a node run that waits is waiting for, and until when."""
    if run.status is not Status.WAITING:
        return []
    if run.gate is None:
        return [] if run.due is None else [f"until {_clock(run.due)}"]
    if not asks(run):
        return ["answered"]
    words = [f"wants {wanted(run.gate.schema)}"]
    if run.gate.due is not None:
        words.append(f"by {_clock(run.gate.due)}, else {'default' if run.gate.has_default else 'it fails'}")
    return words


def wanted(schema: Mapping[str, Any]) -> str:
    """What fits as an answer, in words."""
    if "enum" in schema:
        return "one of " + ", ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if set(schema) <= {"type", "title"} and schema.get("type") in _PLAIN:
        return _PLAIN[schema["type"]]
    return text.one_line("JSON that fits " + json.dumps(schema, ensure_ascii=False), 300)


def _clock(seconds: float) -> str:
    """The same wherever it is drawn."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
