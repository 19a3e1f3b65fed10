"""A run as it goes on: a tree of its nodes on a terminal, a line for each that ends, waits or tries again elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text
from rich.tree import Tree

from ..events import Emitted, Event, GateOpened, NodeFinished, NodeRetrying, RunResumed
from ..record import Run
from ..render.marks import restored
from ..render.text import clean
from . import words
from .tree import CALLS, RESTORED, line_of, tree_of


class Watch:
    """Shows a run while it goes on. `with Watch(run, console) as watch: watch.see(event)`."""

    def __init__(self, run: Run, console: Console) -> None:
        self._run = run
        self._console = console
        self._text = ""
        self._live: Live | None = None
        # What a resumed run did before is not told again.
        self._first = max((event.seq for event in run.events if isinstance(event, RunResumed)), default=0)
        self._over = run.status.final
        if console.is_terminal:
            self._live = Live(get_renderable=self._tree, console=console, refresh_per_second=8, transient=True)

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        elif self._over:
            self._console.print(Text("↩ the run had ended: nothing is called", style=RESTORED))
        elif given := restored(self._run):
            told = words.counted(len(given), "node run") + " restored from the journal"
            self._console.print(Text(f"↩ {told}", style=RESTORED), highlight=False, soft_wrap=True)
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
        elif self._live is None and not self._over and isinstance(event, NodeFinished | NodeRetrying | GateOpened):
            node = self._run.nodes[event.path]
            if node.kind not in CALLS and event.seq >= self._first:
                self._console.print(line_of(node, path=True), highlight=False, soft_wrap=True)

    def _tree(self) -> Tree:
        tree = tree_of(self._run)
        if self._text.strip():
            tree.add(Text(" ".join(clean(self._text).split())[-80:], style="dim italic"))
        return tree
