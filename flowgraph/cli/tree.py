"""A run as a tree for a terminal, live or finished or read from a store."""

from __future__ import annotations

import time
from collections import Counter
from typing import Final

from rich.text import Text
from rich.tree import Tree

from ..node_run import NodeRun
from ..outcome import Status
from ..record import GLYPHS, Run
from ..render.marks import asks, restored
from ..render.text import duration, one_line
from . import words

STYLES: Final = {
    Status.PENDING: "dim",
    Status.RUNNING: "bold cyan",
    Status.RETRYING: "yellow",
    Status.WAITING: "magenta",
    Status.PAUSED: "bold magenta",
    Status.SUCCEEDED: "green",
    Status.FAILED: "bold red",
    Status.TIMED_OUT: "red",
    Status.SKIPPED: "dim",
    Status.UPSTREAM_FAILED: "red",
    Status.CANCELLED: "yellow",
}
RESTORED: Final = "cyan"
"""The style of what a resumed run has taken from its journal."""

CHILDREN: Final = 8
"""How many children of one node a tree shows; the rest is counted."""

CALLS: Final = ("model", "tool")
"""Kinds of node runs that are counted in one line, not shown one by one."""


def tree_of(run: Run, *, whole: bool = False) -> Tree:
    """The run as a tree, with calls of models and tools counted and long lists cut. whole: all of it, uncut."""
    given, now = restored(run), time.time()
    most = None if whole else CHILDREN
    tree = Tree(line_of(run.root, now=now, calls=not whole), guide_style="dim")
    stack = [(run.root, tree)]
    while stack:
        node, branch = stack.pop()
        shown = [child for child in node.children if whole or child.kind not in CALLS]
        for child in shown[:most]:
            text = line_of(child, restored=child.path in given, now=now, calls=not whole)
            stack.append((child, branch.add(text)))
        if left := shown[len(shown) if most is None else most :]:
            counts = Counter(str(child.status) for child in left)
            told = ", ".join(f"{count} {status}" for status, count in counts.items())
            branch.add(Text(f"… {len(left)} more: {told}", style="dim"))
    return tree


def line_of(
    node: NodeRun, *, path: bool = False, restored: bool = False, now: float | None = None, calls: bool = True
) -> Text:
    """One node run in one line. path: with its whole path. restored: it was taken from the journal."""
    style = RESTORED if restored else STYLES[node.status]
    line = Text(f"{'↩' if restored else GLYPHS[node.status]} ", style=style)
    name = node.path if path else node.title or node.name
    line.append(one_line(name, 200), style="bold" if not node.path else style)
    line.append(f"  {', '.join(_facts(node, restored, time.time() if now is None else now, calls))}", style="dim")
    if node.gate is not None and asks(node):
        line.append(f"  {one_line(node.gate.question, 160)}", style="bold magenta")
    elif node.reason is not None and node.status is not Status.SUCCEEDED:
        line.append(f"  {one_line(str(node.reason), 160)}", style="dim")
    return line


def _facts(node: NodeRun, restored: bool, now: float, calls: bool) -> list[str]:
    facts = [] if node.status in (Status.PENDING, Status.RUNNING) else [str(node.status)]
    if restored:
        facts = ["restored"]
    due = node.gate.due if node.gate is not None else node.due
    if node.status is Status.WAITING and due is not None:
        facts.append(words.left(due, now))
    if node.status is Status.RETRYING and node.due is not None:
        facts.append(f"again in {duration(node.due - now)}")
    if node.duration is not None and node.status is not Status.SKIPPED:
        facts.append(duration(node.duration))
    if node.attempt > 1:
        facts.append(f"attempt {node.attempt}")
    if calls:
        facts += [words.counted(n, f"{kind} call") for kind in CALLS if (n := _count(node, kind))]
    if node.usage.tokens:
        facts.append(f"{node.usage.tokens} tokens")
    if node.usage.cost is not None:
        facts.append(f"${node.usage.cost:.4f}")
    return facts


def _count(node: NodeRun, kind: str) -> int:
    return sum(child.kind == kind for child in node.children)
