"""What the engine costs: `python -m tests.benchmarks` prints ratios to a bare anyio task group on the same graphs.

Ratios of one sitting, never seconds: each pair runs in turn, and the fastest of several repetitions counts.
"""

from __future__ import annotations

import argparse
import gc
import platform
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial

import anyio

import flowgraph as fg
from tests.benchmarks.flowgraph_adapter import build, graph_of
from tests.benchmarks.journal import journal_rows
from tests.benchmarks.measuring import Row, fastest
from tests.benchmarks.tools import tool_rows
from tests.benchmarks.workloads import Dag, bare, chain, critical_path, depth, fan, grid, uneven, work


def processor_seconds(call: Callable[[], object]) -> float:
    """How long the processor is at it, whatever else the machine does."""
    begun = time.process_time()
    call()
    return time.process_time() - begun


def beside_the_floor(name: str, dag: Dag, limit: float, repeat: int) -> Row:
    """A graph of nodes that do nothing, against a bare task group."""
    ours, floor = build(dag, work), bare(dag)
    assert ours() == floor() == depth(dag)
    took, least = fastest([ours, floor], repeat)
    per_node = took / len(dag) * 1e6
    return Row(name, took / least, "x bare", limit, f"{per_node:.1f} µs a node, bare {least / len(dag) * 1e6:.1f} µs")


def beside_the_critical_path(dag: Dag, limit: float, repeat: int) -> Row:
    """Nodes that sleep, against the longest path."""
    took, path = fastest([build(dag, work)], repeat)[0], critical_path(dag)
    return Row("uneven60", took / path, "x critical path", limit, f"{took:.3f} s, critical path {path:.3f} s")


def ten_times_the_nodes(name: str, shape: Callable[[int], Dag], limit: float, repeat: int) -> Iterator[Row]:
    """10,000 nodes against 1,000: running them, and checking them."""
    small, large = shape(1_000), shape(10_000)
    less, more = fastest([build(small, work), build(large, work)], repeat)
    yield Row(f"{name}: run 10,000", more / less, "x 1,000", limit, f"{more * 1e3:.0f} ms")
    checked = min(processor_seconds(partial(fg.check, graph_of(large, work))) for _ in range(3))
    yield Row(f"{name}: check 10,000", checked, "s", 1.0, "a graph that was never looked at")


def memory(dag: Dag) -> Row:
    """What a finished run keeps: its record and its events, without the graph and the values."""
    graph = graph_of(dag, work)
    anyio.run(fg.arun, graph)  # what is made once per graph is there now
    gc.collect()
    tracemalloc.start()
    run = anyio.run(fg.arun, graph)
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(run.nodes) == len(dag)
    return Row("memory", kept / len(dag), "bytes a node", None, "kept by a finished run, events included")


def rows(repeat: int) -> Iterator[Row]:
    """The whole table."""
    yield beside_the_floor("chain1000", chain(1000), 2.5, repeat)
    yield beside_the_floor("fan1000", fan(1000), 2.0, repeat)
    yield beside_the_floor("grid20x50", grid(20, 50, 3), 2.0, repeat)
    yield beside_the_critical_path(uneven(60), 1.03, min(repeat, 5))
    yield from ten_times_the_nodes("chain", chain, 12.0, min(repeat, 5))
    yield from ten_times_the_nodes("fan", fan, 12.0, min(repeat, 5))
    yield memory(chain(10_000))
    yield from journal_rows(repeat)
    yield from tool_rows(repeat)


def main() -> int:
    """Print the table. The exit code is 1 when a limit is missed, under --strict."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--repeat", type=int, default=15, metavar="N", help="repetitions (default: 15)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a limit is missed")
    options = parser.parse_args()
    print(f"{platform.python_implementation()} {platform.python_version()}, fastest of {options.repeat}\n")
    missed = 0
    for row in rows(options.repeat):
        limit = "" if row.limit is None else f"limit {row.limit:.3g}{' MISSED' if row.missed else ''}"
        print(f"{row.what:<18}{row.figure:>9.2f} {row.unit:<16}{limit:<19}{row.remark}", flush=True)
        missed += row.missed
    return int(options.strict and missed > 0)


if __name__ == "__main__":
    sys.exit(main())
