"""Runs cancelled with asyncio's own `task.cancel()`, which goes through shields, while a slow store is at work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import flowgraph as fg
from flowgraph.stores import SQLStore

RUN = "cancelled"
SLOW = 0.06


class SlowStore(SQLStore):
    """Takes its time for one of its methods. busy: whether it is at it."""

    def __init__(self, file: Path, slow: str) -> None:
        self.slow, self.busy = slow, False
        super().__init__(file)

    def claim(self, *given: Any) -> Any:
        return self._slowly("claim", super().claim, *given)

    def write(self, *given: Any) -> None:
        self._slowly("write", super().write, *given)

    def release(self, *given: Any) -> None:
        self._slowly("release", super().release, *given)

    def _slowly(self, name: str, method: Callable[..., Any], *given: Any) -> Any:
        if name != self.slow:
            return method(*given)
        self.busy = True
        time.sleep(SLOW)
        try:
            return method(*given)
        finally:
            self.busy = False


def graph() -> fg.Graph:
    made = fg.Graph("three")
    for number in range(3):
        made.add(f"n{number}", nap, after=f"n{number - 1}" if number else ())
    return made


async def nap() -> int:
    await asyncio.sleep(0.005)
    return 1


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("slow", ["claim", "write", "release"])
def test_a_cancelled_run_is_free_and_whole(slow: str, times: int, tmp_path: Path) -> None:
    file = tmp_path / "runs.db"

    async def main(store: SlowStore) -> None:
        task = asyncio.create_task(fg.arun(graph(), store=store, run_id=RUN))
        while not store.busy:
            await asyncio.sleep(0.001)
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0.001)
        with pytest.raises((asyncio.CancelledError, fg.RunCancelled)):
            await task
        assert not store.busy, "it came back while the store was still at work"

    with closing(SlowStore(file, slow)) as store:
        asyncio.run(asyncio.wait_for(main(store), 30))
        with closing(SQLStore(file)) as other:  # nobody owns the run, though the store is still open
            other.release(other.claim(RUN))
            rows = other.read(RUN).rows
    if rows:
        assert [event.seq for event in fg.load_run(RUN, store=file).events] == list(range(len(rows)))
    assert fg.run(graph(), store=file, run_id=RUN).status == "succeeded"


def test_a_run_that_cannot_be_watched_is_free(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(ValueError, match="max_concurrency"):
            async with fg.start(graph(), store=tmp_path / "runs.db", run_id=RUN, max_concurrency=0):
                pass
        assert (await fg.arun(graph(), store=tmp_path / "runs.db", run_id=RUN)).status == "succeeded"

    asyncio.run(main())
