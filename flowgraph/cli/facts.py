"""Facts of kept runs as plain data, for machines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..node_run import NodeRun, OpenGate
from ..outcome import Usage
from ..record import Run
from ..render.marks import restored
from ..stores import Head
from . import places
from .jsonl import plain


def row_of(head: Head) -> dict[str, Any]:
    """What a store knows of a run. Times are seconds since the epoch."""
    return {**asdict(head), "status": places.state(head)}


def facts_of(head: Head, run: Run) -> dict[str, Any]:
    """A run with its open gates and its node runs, in order, depth first. Without inputs and outputs."""
    given = restored(run)
    return {
        **row_of(head),
        "target": run.target,
        "duration": run.duration,
        "usage": _usage(run.usage),
        "errors": {path: plain(error) for path, error in run.errors.items()},
        "gates": [_gate(gate) for gate in run.gates],
        "nodes": [_node(node, node.path in given) for node in run.root.walk() if node.path],
    }


def _gate(gate: OpenGate) -> dict[str, Any]:
    names = ("path", "question", "schema", "opened", "due", "has_default")
    return {name: getattr(gate, name) for name in names}


def _node(node: NodeRun, restored: bool) -> dict[str, Any]:
    row = {
        "path": node.path,
        "kind": node.kind,
        "title": node.title,
        "status": str(node.status),
        "reason": plain(node.reason),
        "error": plain(node.error),
        "attempts": node.attempt,
        "started": node.started,
        "duration": node.duration,
        "usage": _usage(node.usage),
        "chosen": node.chosen,
        "restored": restored,
    }
    return {name: value for name, value in row.items() if value not in (None, "", {}, False)}


def _usage(usage: Usage) -> dict[str, Any]:
    """What was used, without what was not."""
    return {name: value for name, value in {**asdict(usage), "tokens": usage.tokens}.items() if value}
