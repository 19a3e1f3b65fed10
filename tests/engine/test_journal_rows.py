"""Rows: every lasting event as text, and back; and what is damaged or too new, which is refused by its number."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flowgraph as fg
from flowgraph import events as ev
from flowgraph.errors import Break
from flowgraph.missing import MISSING
from flowgraph.outcome import Reason, Status, Usage
from flowgraph.rows import INLINE, VERSION, event_of, row_of
from flowgraph.stores import Batch, MemoryStore
from tests.engine.stopping import RUN, cut, loaded
from tests.engine.strategies import examples

TEXTS = st.text(max_size=8) | st.just("x" * (INLINE + 1)) | st.just('\U0001f600 \u0000 " \\ <b>')
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ROW = st.dictionaries(TEXTS, JSON, max_size=3)
USAGE = st.builds(Usage, st.integers(0, 9), st.integers(0, 9), cost=st.none() | st.floats(0, 9), partial=st.booleans())
NAMES = st.lists(TEXTS, max_size=3).map(tuple)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "at": st.floats(0, 2e9),
    "seq": st.integers(0, 9),
    "attempt": st.integers(1, 9),
    "delay": st.floats(0, 9),
    "spent": st.floats(0, 9),
    "edges": st.lists(st.tuples(TEXTS, TEXTS), max_size=3).map(tuple),
    "due": st.none() | st.floats(0, 2e9),
    "reason": st.none() | st.builds(Reason, st.sampled_from(["error", "timeout", "skip"]), TEXTS, TEXTS),
    "usage": st.none() | USAGE,
    "status": st.sampled_from([Status.SUCCEEDED, Status.FAILED, Status.SKIPPED]),
    "nodes": st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=3).map(tuple),
    "inputs": st.none() | TEXTS,
    "spec": st.none() | ROW,
    "schema": ROW,
    "error": st.none() | st.builds(OSError, st.integers(1, 9), TEXTS) | st.builds(ValueError, TEXTS),
    "value": JSON,
    "continued": st.booleans(),
    "has_default": st.booleans(),
}
KINDS = [kind for kind in vars(ev).values() if isinstance(kind, type) and issubclass(kind, ev.Lasting)]
ALL = [kind for kind in KINDS if kind is not ev.Lasting]


@st.composite
def events(draw: st.DrawFn) -> tuple[ev.Lasting, str | None]:
    """An event of any kind, and the text of its value where it has one."""
    kind = draw(st.sampled_from(ALL))
    given: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        strategy = FIELDS.get(field.name, TEXTS)
        if field.name in ("taken", "unhandled", "causes") or (field.name == "withheld" and kind is ev.RunStarted):
            strategy = NAMES
        elif field.name == "withheld":
            strategy = st.booleans()
        elif field.name == "detail" and kind is ev.NodeFinished:
            strategy = st.none() | ROW
        elif field.name == "reason" and kind in (ev.NodeRetrying, ev.NodeFallingBack):
            strategy = strategy.filter(bool)
        elif field.name == "inputs" and kind is ev.RunStarted:
            strategy = ROW
        elif field.name == "due" and kind is ev.NodeWaiting:
            strategy = FIELDS["at"]
        given[field.name] = draw(strategy)
    if kind is ev.NodeFinished and given["status"] is not Status.SUCCEEDED:
        given["value"] = MISSING
    text = given.get("inputs") if kind is ev.RunStarted else given.get("value", MISSING)
    return kind(**given), None if text is MISSING else json.dumps(text)


@examples(300)
@given(events())
def test_every_event_comes_back_from_its_row(drawn: tuple[ev.Lasting, str | None]) -> None:
    event, text = drawn
    row = row_of(event, text)
    assert "\n" not in row.text and all(len(value) > INLINE for value in row.values.values())
    back = event_of(row.text, event.seq, row.values)
    assert back == event
    error, other = getattr(event, "error", None), getattr(back, "error", None)
    assert (type(other), str(other)) == (type(error), str(error))


@pytest.mark.parametrize("signal", [Break(), Break(None), Break({"a": 1})])
def test_what_ends_a_loop_comes_back(signal: Break) -> None:
    value = None if signal.value is MISSING else signal.value
    event = ev.NodeFinished(1.0, "a", 3, Status.SUCCEEDED, value, error=signal)
    row = row_of(event, json.dumps(value))
    back = event_of(row.text, 3, row.values)
    assert isinstance(back, ev.NodeFinished) and isinstance(back.error, Break)
    assert back.error.value is signal.value or back.error.value == signal.value


# -- what cannot be read


def small() -> fg.Graph:
    graph = fg.Graph("g")
    graph.add("a", lambda: "x" * (INLINE + 1))
    graph.add("b", lambda a: 1)
    return graph


def stored() -> MemoryStore:
    store = MemoryStore()
    fg.run(small(), store=store, run_id=RUN)
    return store


def with_row(store: MemoryStore, number: int, text: str) -> MemoryStore:
    """The store, with another text in place of an event."""
    journal, copy = store.read(RUN), MemoryStore()
    rows = [text if at == number else row for at, row in enumerate(journal.rows)]
    claim = copy.claim(RUN, journal.head)
    copy.write([Batch(claim, journal.head, 0, rows, journal.values)])
    copy.release(claim)
    return copy


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "{}",
        '{"v":1}',
        '{"v":1,"e":"node_started"}',
        '{"v":1,"e":"node_started","at":1,"path":"a","attempt":1,"more":2}',
        '{"v":1,"e":"node_finished","at":1,"path":"a","status":"odd"}',
        '{"v":1,"e":"node_finished","at":1,"path":"a","status":"succeeded","value_ref":"none"}',
        '{"v":1,"e":"node_finished","at":1,"path":"a","status":"failed","reason":7}',
        '{"v":"x","e":"node_started","at":1,"path":"a","attempt":1}',
        '{"v":1,"e":["a"],"at":1,"path":"a"}',
    ],
)
def test_a_damaged_row_is_refused_by_its_number(text: str) -> None:
    store = with_row(stored(), 2, text)
    before = store.read(RUN)
    with pytest.raises(fg.StoreError, match=rf"{RUN}.*event 2"):
        loaded(store)
    with pytest.raises(fg.StoreError, match=rf"{RUN}.*event 2"):
        fg.resume(small(), RUN, store=store)
    assert store.read(RUN) == before, "it is untouched, and nobody owns it"


@pytest.mark.parametrize("change", [{"v": VERSION + 1}, {"e": "node_dreamt"}])
def test_a_row_of_a_newer_version_is_refused(change: dict[str, Any]) -> None:
    store = stored()
    newer = with_row(store, 1, json.dumps({**json.loads(store.read(RUN).rows[1]), **change}))
    with pytest.raises(fg.StoreError, match="event 1 was written by a newer flowgraph"):
        loaded(newer)


def test_a_row_out_of_place_is_refused() -> None:
    store = stored()
    for row in ({"path": "nowhere"}, {"path": "a/b[3]"}):
        odd = with_row(store, 1, json.dumps({**json.loads(store.read(RUN).rows[1]), **row}))
        with pytest.raises(fg.StoreError, match=f"run {RUN} is damaged"):
            loaded(odd)
    with pytest.raises(fg.StoreError):
        loaded(cut(store, RUN, 0))
