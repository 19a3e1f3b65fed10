"""The workloads: lists of (name, names of its parents, seconds of sleep). Parents come before their children."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import anyio

Dag = list[tuple[str, list[str], float]]


def chain(length: int) -> Dag:
    """One after the other."""
    return [(f"n{i}", [f"n{i - 1}"] if i else [], 0.0) for i in range(length)]


def fan(width: int) -> Dag:
    """One node, many branches, one join."""
    branches = [f"b{i}" for i in range(width)]
    return [("source", [], 0.0), *((name, ["source"], 0.0) for name in branches), ("join", branches, 0.0)]


def grid(layers: int, width: int, parents: int, seed: int = 7) -> Dag:
    """Layers of equal width; each node reads some of the layer above."""
    draw = random.Random(seed)
    dag: Dag = []
    for layer in range(layers):
        for column in range(width):
            above = [f"l{layer - 1}_{i}" for i in draw.sample(range(width), parents)] if layer else []
            dag.append((f"l{layer}_{column}", above, 0.0))
    return [*dag, ("sink", [f"l{layers - 1}_{i}" for i in range(width)], 0.0)]


def uneven(size: int, seed: int = 11) -> Dag:
    """Nodes that sleep 5 to 80 ms: an engine that runs layer by layer waits for the slowest of each."""
    draw = random.Random(seed)
    dag: Dag = []
    for i in range(size):
        above = sorted({f"n{draw.randrange(max(0, i - 12), i)}" for _ in range(2)}) if i else []
        dag.append((f"n{i}", above, draw.choice([0.005, 0.01, 0.02, 0.08])))
    read = {name for _, above, _ in dag for name in above}
    return [*dag, ("sink", [name for name, _, _ in dag if name not in read], 0.0)]


def critical_path(dag: Dag) -> float:
    """Seconds that the longest path sleeps: no engine can be faster."""
    done: dict[str, float] = {}
    for name, above, seconds in dag:
        done[name] = max((done[parent] for parent in above), default=0.0) + seconds
    return max(done.values())


def depth(dag: Dag) -> int:
    """Nodes on the longest path: the value that every engine must find."""
    found: dict[str, int] = {}
    for name, above, _ in dag:
        found[name] = 1 + max((found[parent] for parent in above), default=0)
    return max(found.values())


async def work(values: Sequence[int], seconds: float) -> int:
    """What every node does: sleep, then one more than the greatest value of its parents."""
    if seconds:
        await anyio.sleep(seconds)
    return 1 + max(values, default=0)


def bare(dag: Dag) -> Callable[[], int]:
    """The floor: a counter of what is missing and a task a node on a bare anyio task group, with no features at all."""
    parents = {name: above for name, above, _ in dag}
    seconds = {name: sleep for name, _, sleep in dag}
    children: dict[str, list[str]] = {name: [] for name in parents}
    for name, above in parents.items():
        for parent in above:
            children[parent].append(name)

    async def main() -> int:
        missing = {name: len(above) for name, above in parents.items()}
        values: dict[str, int] = {}
        async with anyio.create_task_group() as group:

            async def node(name: str) -> None:
                values[name] = await work([values[parent] for parent in parents[name]], seconds[name])
                for child in children[name]:
                    missing[child] -= 1
                    if not missing[child]:
                        group.start_soon(node, child)

            for name, count in list(missing.items()):
                if not count:
                    group.start_soon(node, name)
        return max(values.values())

    return lambda: anyio.run(main)
