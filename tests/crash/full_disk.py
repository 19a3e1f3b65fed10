"""A program that runs a graph whose outputs take room: `python -m tests.crash.full_disk STORE [BYTES]`.

BYTES: files may not be larger, as on a full disk. It names each node that it calls, and the output or the error.
"""

from __future__ import annotations

import resource
import signal
import sys
import traceback
from typing import Any

import flowgraph as fg

RUN, LENGTH, TEXT = "full", 100, 50_000


def chain() -> fg.Graph:
    """Nodes one after the other, each of which gives a text of its own."""
    graph = fg.Graph("chain")

    async def write(before: Any, ctx: fg.Context) -> list[Any]:
        print("called", ctx.path)
        number = 1 + (before[0] if before else 0)
        return [number, f"{number} " * (TEXT // 4)]

    graph.add("n0", write, values={"before": None})
    for number in range(1, LENGTH):
        graph.add(f"n{number}", write, bind={"before": f"n{number - 1}"})
    graph.output("n99")
    return graph


def main() -> int:
    if len(sys.argv) > 2:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    try:
        run = fg.run(chain(), store=sys.argv[1], run_id=RUN)
    except fg.RunFailed as error:
        traceback.print_exc()
        print(type(error.errors[""]).__name__, error.run.status)
        return 1
    print("output", run.output[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
