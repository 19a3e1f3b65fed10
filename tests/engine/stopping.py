"""Runs that were broken off: a journal cut after some event, and taken up again as another process would.

`stop_everywhere` is the promise that everything else rests on: wherever a run is broken off, going on gives what the
uninterrupted run gave, and nothing that is recorded as finished is called again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

import anyio

import flowgraph as fg
from flowgraph import events as ev
from flowgraph.node_run import NodeRun
from flowgraph.stores import Batch, MemoryStore
from flowgraph.testing import jumping_clock
from tests.engine.cutting import Loop, Stepper

RUN = "kept"
"""The id of every run here."""


def kept(graph: fg.Graph, inputs: dict[str, Any] | None = None, **options: Any) -> tuple[fg.Run, MemoryStore]:
    """A run, and the store that holds it."""
    store = MemoryStore()
    return fg.run(graph, inputs, store=store, raise_on_failure=False, **options), store


def cut(store: MemoryStore, run_id: str, length: int) -> MemoryStore:
    """A store as it would be, had the process been killed when so many events of the run were stored."""
    journal, copy = store.read(run_id), MemoryStore()
    claim = copy.claim(run_id, journal.head)
    copy.write([Batch(claim, journal.head, 0, journal.rows[:length], journal.values)])
    copy.release(claim)
    return copy


def ends(run: fg.Run) -> dict[str, tuple[Any, ...]]:
    """How every node run of the graph itself ended, and what with."""
    found = {}
    for name, outcome in run.outcomes.items():
        kind = type(outcome.error).__name__ if outcome.error else ""
        found[name] = (str(outcome.status), outcome.value, outcome.reason, kind)
    return found


def on_a_jumping_clock(backend: str, main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run something where no waiting takes time, on asyncio or trio."""
    name, options = jumping_clock() if backend == "trio" else ("asyncio", {"loop_factory": lambda: Loop(Stepper(0))})
    anyio.run(main, backend=name, backend_options=options)


def cut_after(store: MemoryStore, kind: type[ev.Lasting], path: str = "", nth: int = 1) -> MemoryStore:
    """The store, broken off right after the nth event of a kind at a path."""
    found = [event.seq for event in loaded(store).events if type(event) is kind and event.path == path]
    return cut(store, RUN, found[nth - 1] + 1)


def loaded(store: MemoryStore) -> fg.Run:
    """The run in the store."""
    return fg.load_run(RUN, store=store)


def started(run: fg.Run, since: int = 0) -> list[str]:
    """Paths of what was called, in order, from an event on."""
    return [event.path for event in run.events[since:] if isinstance(event, ev.NodeStarted)]


def called(run: fg.Run) -> list[str]:
    """Paths of what was called since the run was taken up last."""
    return started(run, max((e.seq for e in run.events if isinstance(e, ev.RunResumed)), default=len(run.events)))


# -- the promise


class Kept:
    """A graph that is made anew for each run of it, as another process would, and what it is run with.

    answers: of people, by path; they are given when they are asked for.
    """

    def __init__(
        self,
        build: Callable[[], fg.Graph],
        inputs: Mapping[str, Any] | None = None,
        answers: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.build, self.inputs, self.answers, self.options = build, inputs, answers or {}, options

    async def run(self, store: MemoryStore) -> fg.Run:
        """From the start to the end."""
        return await self._answered(store, await self._one(store, inputs=self.inputs))

    async def go_on(self, store: MemoryStore) -> fg.Run:
        """From where it is to the end."""
        return await self._answered(store, await self._one(store))

    async def _answered(self, store: MemoryStore, run: fg.Run) -> fg.Run:
        while run.status is fg.Status.PAUSED:
            given = {gate.path: self.answers[gate.path] for gate in run.gates}
            run = await self._one(store, answers=given)
        return run

    async def _one(self, store: MemoryStore, inputs: Any = None, **options: Any) -> fg.Run:
        given: Any = {"store": store, "run_id": RUN, **self.options, **options}
        try:
            return await fg.arun(self.build(), inputs, raise_on_failure=False, **given)
        except fg.RunCancelled as error:
            return error.run  # type: ignore[no-any-return]  # a Run


async def stop_everywhere(case: Kept, places: Callable[[int], Iterable[int]] | None = None) -> fg.Run:
    """Break off a run after every event (or those that `places` names) and go on; give back the uninterrupted run."""
    store = MemoryStore()
    whole = await case.run(store)
    look_at_stored(store, whole)
    length = len(whole.events)
    for at in places(length) if places else range(1, length + 1):
        broken = cut(store, RUN, at)
        before = loaded(broken)
        run = await case.go_on(broken)
        compare(whole, run, f"broken off after event {at} of {length}: {before.events[-1]}")
        look_at_calls(before, run, at)
        look_at_stored(broken, run)
    return whole


async def stop_twice(case: Kept, first: int, second: int) -> None:
    """Break off a run, go on, break that off some events later, and go on again."""
    store = MemoryStore()
    whole = await case.run(store)
    at = 1 + first % len(whole.events)
    broken = cut(store, RUN, at)
    run = await case.go_on(broken)
    again = min(at + second % max(len(run.events) - at, 1), len(run.events))
    broken = cut(broken, RUN, again)
    before = loaded(broken)
    run = await case.go_on(broken)
    compare(whole, run, f"broken off after event {at}, and again after event {again}")
    look_at_calls(before, run, again)
    look_at_stored(broken, run)


def compare(whole: fg.Run, run: fg.Run, where: str) -> None:
    """Whether two runs came to the same."""
    now, before = facts(run), facts(whole)
    different = {key: (before.get(key), now.get(key)) for key in {**before, **now} if before.get(key) != now.get(key)}
    assert not different, f"{where}: {different}"
    assert attempts(run) == attempts(whole), where


def facts(run: fg.Run) -> dict[str, Any]:
    """All that a run came to, without times."""
    found: dict[str, Any] = {node.path: _facts(node) for node in run.root.walk()}
    found["unhandled"] = run.unhandled
    found["errors"] = {path: _words(error) for path, error in run.errors.items()}
    try:
        found["output"] = run.output
    except fg.NoOutput as error:
        found["output"] = str(error)
    return found


def _facts(node: NodeRun) -> tuple[Any, ...]:
    value = _plain(node.value)
    earlier = [[child.path for before in children for child in before.walk()] for children in node.earlier]
    kept = (node.status, value, node.reason, _words(node.error), node.attempt, node.usage, node.chosen, node.detail)
    return (*kept, node.kind, [child.path for child in node.children], earlier, node.causes)


def _plain(value: Any) -> Any:
    """A value as it compares: errors in it (of outcomes) by their words."""
    if isinstance(value, fg.Outcome):
        return (value.status, _plain(value.value), value.reason, _words(value.error), value.attempts, value.path)
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _words(error: BaseException | None) -> str:
    return repr((type(error).__name__, str(error))) if error is not None else ""


def attempts(run: fg.Run) -> Counter[tuple[str, int]]:
    """How often each attempt of each node run was begun, over all processes."""
    begun = (event for event in run.events if isinstance(event, ev.NodeStarted) and not event.continued)
    return Counter((event.path, event.attempt) for event in begun)


def look_at_calls(before: fg.Run, run: fg.Run, at: int) -> None:
    """Nothing that was finished is called again, and what was at work goes on with the attempt that it was at."""
    finished, at_work = set(), dict[str, int]()
    for node in _counting(before.root):
        itself = node.reason is not None and node.reason.kind == "skip"
        if node.attempt and (node.status is fg.Status.SUCCEEDED or (node.status is fg.Status.SKIPPED and itself)):
            finished.add(node.path)
        elif node.status in (fg.Status.RUNNING, fg.Status.WAITING) and node.error is None:
            at_work[node.path] = node.attempt
    for event in run.events[at:]:
        if isinstance(event, ev.NodeStarted):
            assert event.path not in finished, f"'{event.path}' had finished, and was called again: {event}"
            if event.path in at_work:
                assert event.attempt == at_work.pop(event.path), event
                assert event.continued or not event.attempt, event
            if not event.continued:
                finished = {path for path in finished if not _below(path, event.path)}
                at_work = {path: n for path, n in at_work.items() if not _below(path, event.path)}


def _counting(node: NodeRun) -> list[NodeRun]:
    """The node runs that count: those below an attempt that is over count no more."""
    found = [node]
    if node.status is not fg.Status.RETRYING:
        for child in node.children:
            found += _counting(child)
    return found


def _below(path: str, above: str) -> bool:
    return path.startswith(above) and path[len(above) :][:1] in ("/", "#", "[")


def look_at_stored(store: MemoryStore, run: fg.Run) -> None:
    """What is stored tells the same as the run itself."""
    other = loaded(store)
    assert str(other) == str(run)
    assert [event.seq for event in other.events] == list(range(len(run.events)))
    assert [(type(e), e.path, e.at) for e in other.events] == [(type(e), e.path, e.at) for e in run.events]
    for path, node in run.nodes.items():
        twin = other.nodes[path]
        assert (twin.status, twin.reason, twin.attempt, twin.usage) == (
            node.status,
            node.reason,
            node.attempt,
            node.usage,
        )
        assert other.explain(path) == run.explain(path)
        assert (twin.error is None) == (node.error is None)
    assert (other.status, other.unhandled, other.usage) == (run.status, run.unhandled, run.usage)
    head = store.read(RUN).head
    assert (head.status, head.length, head.owner) == (str(run.status), len(run.events), "")
