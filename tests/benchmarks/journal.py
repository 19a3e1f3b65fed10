"""What keeping a run costs: the journal of the workloads in SQLite, against the same runs without a store."""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import anyio

import flowgraph as fg
from tests.benchmarks.flowgraph_adapter import graph_of
from tests.benchmarks.measuring import Row, fastest, seconds
from tests.benchmarks.workloads import Dag, chain, fan, work

LEAST = 0.25
"""Milliseconds that a node may cost, or two fsyncs where these are longer; a third of it where nodes run at once."""


def journal_rows(repeat: int) -> Iterator[Row]:
    """The lines of the table. TMPDIR chooses the file system."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        disk = fsync(folder)
        limit = max(LEAST, 2 * disk)
        yield Row("fsync", disk, "ms", None, "of a page, on the same file system")
        yield cost("chain1000", chain(1_000), folder, limit, repeat)
        yield cost("fan1000", fan(1_000), folder, limit / 3, repeat)
        yield from growth(folder)


def fsync(folder: Path) -> float:
    """What the disk takes to keep a page, in milliseconds: the median of many."""
    descriptor = os.open(folder / "page", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def once() -> None:
        os.write(descriptor, bytes(4096))
        os.fsync(descriptor)

    try:
        return statistics.median(seconds(once) for _ in range(100)) * 1e3
    finally:
        os.close(descriptor)


def kept(graph: fg.Graph, file: Path | None, run_id: str | None = None) -> None:
    """Run a graph, and keep the run."""
    anyio.run(partial(fg.arun, graph, store=file, run_id=run_id))


def cost(name: str, dag: Dag, folder: Path, limit: float, repeat: int) -> Row:
    """What a node costs more when its run is kept; limit in milliseconds."""
    graph, file = graph_of(dag, work), folder / f"{name}.db"
    kept(graph, file)  # so that the file is there
    calls: list[Callable[[], object]] = [partial(kept, graph, file), partial(kept, graph, None)]
    stored, plain = fastest(calls, repeat)
    per_node = (stored - plain) / len(dag) * 1e3
    return Row(f"{name}: kept", per_node, "ms a node", limit, f"{stored * 1e3:.0f} ms, not kept {plain * 1e3:.0f} ms")


def growth(folder: Path) -> Iterator[Row]:
    """A journal of 10,000 nodes: how long it takes to load, and how large it is."""
    files = {length: folder / f"{length}.db" for length in (1_000, 10_000)}
    for length, file in files.items():
        kept(graph_of(chain(length), work), file, "run")
    load: Callable[[], object] = partial(fg.load_run, "run", store=files[10_000])
    yield Row("load 10,000", fastest([load], 3)[0], "s", 2.0, "fg.load_run")
    less, more = (file.stat().st_size for file in files.values())
    yield Row("size 10,000", more / less, "x 1,000", 11.0, f"{more / 10_000:.0f} bytes a node")
