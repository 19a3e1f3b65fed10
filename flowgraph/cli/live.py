"""A run as it goes on: a tree of its nodes on a terminal, a line for each that ends elsewhere."""

from __future__ import annotations

from collections import Counter
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text
from rich.tree import Tree

from ..events import Emitted, Event, NodeFinished, NodeRetrying
from ..node_run import NodeRun
from ..outcome import Status
from ..record import GLYPHS, Run

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

CHILDREN: Final = 8
"""How many children of one node a live tree shows; the rest is counted."""

CALLS: Final = ("model", "tool")
"""Kinds of node runs that are counted in one line, not shown one by one."""


class Watch:
    """Shows a run while it goes on. `with Watch(run, console) as watch: watch.see(event)`."""

    def __init__(self, run: Run, console: Console) -> None:
        self._run = run
        self._console = console
        self._text = ""
        self._live: Live | None = None
        if console.is_terminal:
            self._live = Live(get_renderable=self._tree, console=console, refresh_per_second=8, transient=True)

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def see(self, event: Event) -> None:
        """Take note of an event."""
        if isinstance(event, Emitted) and event.kind == "text":
            self._text = (self._text + str(event.data))[-200:]
        elif self._live is None and isinstance(event, NodeFinished | NodeRetrying):
            node = self._run.nodes[event.path]
            if node.kind not in CALLS:
                self._console.print(line_of(node, path=True), highlight=False, soft_wrap=True)

    def _tree(self) -> Tree:
        tree = tree_of(self._run)
        if self._text.strip():
            tree.add(Text(self._text.replace("\n", " ")[-80:], style="dim italic"))
        return tree


def tree_of(run: Run) -> Tree:
    """The run as a tree, with calls of models and tools counted and long lists cut."""
    tree = Tree(line_of(run.root), guide_style="dim")
    stack = [(run.root, tree)]
    while stack:
        node, branch = stack.pop()
        shown = [child for child in node.children if child.kind not in CALLS]
        stack.extend((child, branch.add(line_of(child))) for child in shown[:CHILDREN])
        if len(shown) > CHILDREN:
            counts = Counter(str(child.status) for child in shown[CHILDREN:])
            told = ", ".join(f"{count} {status}" for status, count in counts.items())
            branch.add(Text(f"… {len(shown) - CHILDREN} more: {told}", style="dim"))
    return tree


def line_of(node: NodeRun, *, path: bool = False) -> Text:
    """One node run in one line."""
    style = STYLES[node.status]
    line = Text(f"{GLYPHS[node.status]} ", style=style)
    line.append(node.path if path else (node.title or node.name), style="bold" if not node.path else style)
    facts = [] if node.status in (Status.PENDING, Status.RUNNING) else [str(node.status)]
    if node.duration is not None and node.status is not Status.SKIPPED:
        facts.append(f"{node.duration:.2f} s")
    if node.attempt > 1:
        facts.append(f"attempt {node.attempt}")
    if calls := [f"{n} {kind} call{'s' if n > 1 else ''}" for kind in CALLS if (n := _count(node, kind))]:
        facts.extend(calls)
    if node.usage.tokens:
        facts.append(f"{node.usage.tokens} tokens")
    if node.usage.cost is not None:
        facts.append(f"${node.usage.cost:.4f}")
    line.append(f"  {', '.join(facts)}", style="dim")
    if node.reason is not None and node.status is not Status.SUCCEEDED:
        line.append(f"  {node.reason}"[:160], style="dim")
    return line


def _count(node: NodeRun, kind: str) -> int:
    return sum(child.kind == kind for child in node.children)
