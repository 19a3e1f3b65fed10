"""The worker threads of tools and model calls: one pool for each event loop."""

from __future__ import annotations

from typing import Final

from anyio.lowlevel import RunVar

from flowgraph.threads import Pool

_pool: Final[RunVar[Pool]] = RunVar("flowgraph_nodes.threads.pool")


def threads() -> Pool:
    """The pool of the event loop we are in."""
    try:
        return _pool.get()
    except LookupError:
        _pool.set(pool := Pool())
        return pool
