"""Agents that are broken off after every event and go on, as another process would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import flowgraph as fg
from flowgraph import events as ev
from flowgraph.stores import MemoryStore
from tests.engine.stopping import RUN, Kept, cut, loaded, look_at_calls

Build = Callable[[Callable[[str], object]], fg.Graph]
"""Makes the graph anew; its models tell the given function, with the path, of each request."""


async def break_off_everywhere(build: Build) -> fg.Run:
    """Go on after every event; no model is asked again for what is recorded. Gives back the uninterrupted run."""
    asked: list[str] = []
    case, store = Kept(lambda: build(asked.append)), MemoryStore()
    whole = await case.run(store)
    wanted = Counter(asked)
    for at in range(1, len(whole.events) + 1):
        broken = cut(store, RUN, at)
        before = loaded(broken)
        asked.clear()
        run = await case.go_on(broken)
        assert shape(run) == shape(whole), before.events[-1]
        assert Counter(asked) + paid(before) == wanted, before.events[-1]
        look_at_calls(before, run, at)
    return whole


def paid(run: fg.Run) -> Counter[str]:
    """How many replies of models are recorded, by the node run that asked for them."""
    done = (event.path for event in run.events if isinstance(event, ev.NodeFinished))
    return Counter(path.rpartition("/")[0] for path in done if run.nodes[path].kind == "model")


def shape(run: fg.Run) -> dict[str, Any]:
    """What a run came to; of what is below the nodes, all but the values (those of ended parents stay as stored)."""
    found: dict[str, Any] = {
        node.path: (node.status, node.kind, node.usage, node.detail, node.attempt, str(node.error))
        for node in run.root.walk()
    }
    return {**found, "outputs": {name: outcome.value for name, outcome in run.outcomes.items()}}
