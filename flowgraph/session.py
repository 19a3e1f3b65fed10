"""Sessions: a run taken up, anew or from its journal, before anything of it is at work."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import events as ev
from .changes import changes
from .codec import Withheld, decode, encode
from .errors import GraphChanged, InputError, NotStorable, RunExists, RunNotFound, StoreError
from .inputs import validated_inputs
from .journal import Journal
from .keeping import Where, checked_answers, record_of, wants_secret
from .outcome import MISSING, Status
from .past import Past
from .plan import Plan
from .record import Run
from .runtime import RunOptions, new_run_id
from .spec import document
from .stores import Claim, Head, Store, open_store
from .stores import Journal as Stored
from .threads import to_its_end


@dataclass(slots=True)
class Session:
    """A run about to be at work. first: the events that it begins with. over: it has ended before, with success.

    store: to be closed with the run; None where the run is not kept. answers: of a resumed run, those
    that are in no event: with secrets, or for gates that have yet to open.
    """

    run_id: str
    record: Run
    inputs: dict[str, Any]
    first: list[tuple[ev.Lasting, str | None]]
    journal: Journal | None = None
    past: Past | None = None
    store: Store | None = None
    over: bool = False
    answers: dict[str, Any] = field(default_factory=dict)

    async def close(self) -> None:
        """Let others have the run."""
        journal, store = self.journal, self.store
        try:
            if journal is not None:
                await journal.close()
        finally:
            if store is not None:
                await to_its_end(store.close)


async def begin(
    plan: Plan,
    inputs: Mapping[str, Any] | None,
    options: RunOptions,
    *,
    resume: bool = False,
    force: bool = False,
) -> Session:
    """A new run or, where the store has the run id, that one. resume: it must be there. force: see `fg.resume`.

    Raises InputError, RunNotFound, RunBusy, GraphChanged, AnswerRefused, StoreError; then nothing was changed.
    """
    where, run_id = options.get("store"), options.get("run_id")
    if where is None:
        given = validated_inputs(plan.graph, inputs or {})
        run_id = run_id or new_run_id()
        return Session(run_id, Run(plan, plan.outputs), given, [(_started(plan, run_id, given), None)])
    begun: list[Session] = []

    def work() -> None:
        begun.append(_taken_up(plan, inputs, options, where, run_id or new_run_id(), resume, force))

    try:
        await to_its_end(work)
    except BaseException:
        for session in begun:  # or its claim would be left behind
            await session.close()
        raise
    return begun[0]


def _taken_up(
    plan: Plan,
    inputs: Mapping[str, Any] | None,
    options: RunOptions,
    where: Where,
    run_id: str,
    resume: bool,
    force: bool,
) -> Session:
    """`begin` with a store; blocks, and so runs on a thread."""
    store = open_store(where)
    try:
        if (claim := _claimed(store, run_id, resume)) is None:
            return _new(plan, inputs, options, store, run_id)
        try:
            stored = store.read(run_id)
            if not stored.rows and not resume:  # whoever made it was killed before it began
                return _new(plan, inputs, options, store, run_id, claim)
            return _resumed(plan, inputs, options, store, claim, stored, force)
        except BaseException:
            store.release(claim)
            raise
    except BaseException:
        store.close()
        raise


def _claimed(store: Store, run_id: str, resume: bool) -> Claim | None:
    """The claim of a run that is there; None when it is not."""
    try:
        return store.claim(run_id)
    except RunNotFound:
        if resume:
            raise
        return None


def _new(
    plan: Plan,
    inputs: Mapping[str, Any] | None,
    options: RunOptions,
    store: Store,
    run_id: str,
    claim: Claim | None = None,
) -> Session:
    """claim: of the run, when it is there and has no events."""
    given = validated_inputs(plan.graph, inputs or {})
    text, withheld = _encoded_inputs(plan, given)
    event = _started(plan, run_id, given, document(Run(plan).spec, plan.outputs), withheld, options.get("target", ""))
    now = time.time()
    head = Head(run_id, plan.name, str(Status.RUNNING), now, now)
    try:
        claim = claim or store.claim(run_id, head)
    except RunExists as error:
        raise StoreError(
            f"run {run_id} has just been started by somebody else: resume it, or choose another id"
        ) from error
    return Session(run_id, Run(plan, plan.outputs), given, [(event, text)], Journal(store, claim, head), None, store)


def _started(
    plan: Plan,
    run_id: str,
    inputs: dict[str, Any],
    spec: dict[str, Any] | None = None,
    withheld: tuple[str, ...] = (),
    target: str = "",
) -> ev.RunStarted:
    return ev.RunStarted(time.time(), "", 0, run_id, plan.name, inputs, plan.outline, spec, "", withheld, target)


def _encoded_inputs(plan: Plan, inputs: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The inputs as JSON, and the names of those that hold secrets. Raises InputError for what cannot be stored."""
    texts, withheld = [], []
    for name, value in inputs.items():
        try:
            texts.append(f"{json.dumps(name)}:{encode(value, plan.graph.inputs[name].type, name)}")
        except Withheld:
            withheld.append(name)
        except NotStorable as error:
            raise InputError(f"graph '{plan.name}': input '{name}' cannot be stored: {error}") from None
    return "{" + ",".join(texts) + "}", tuple(withheld)


def _resumed(
    plan: Plan,
    inputs: Mapping[str, Any] | None,
    options: RunOptions,
    store: Store,
    claim: Claim,
    stored: Stored,
    force: bool,
) -> Session:
    record = record_of(stored)
    found = list(changes(record.spec, Run(plan).spec))
    unexpected = [change.text for change in found if not _is_at(change.path, options.get("replace") or ())]
    if unexpected and not force:
        raise GraphChanged(record.id, plan.name, unexpected)
    given = _same_inputs(plan, record, inputs)
    answers = options.get("answers")
    checked, later = ({}, {}) if answers is None else checked_answers(record, answers)
    later |= {path: checked.pop(path) for path in [*checked] if wants_secret(record, path)}
    past = Past(record, {change.path for change in found}, options.get("strict_replay", False))
    record.inputs = given
    over = record.status is Status.SUCCEEDED
    now, seq = time.time(), len(record.events)
    first: list[tuple[ev.Lasting, str | None]] = []
    if not over:
        changed = (plan.outline, document(Run(plan).spec, plan.outputs)) if found else ((), None)
        first.append((ev.RunResumed(now, "", seq, *changed), None))
        first += [
            (ev.GateAnswered(now, path, seq + number, value), encode(value))
            for number, (path, value) in enumerate(checked.items(), 1)
        ]
    journal = Journal(store, claim, stored.head)
    return Session(record.id, record, given, first, journal, past, store, over, later)


def _is_at(path: str, places: Iterable[str]) -> bool:
    """Whether a path is one of these, or below one of them."""
    return any(path == place or path.startswith(f"{place}/") for place in places)


def _same_inputs(plan: Plan, record: Run, inputs: Mapping[str, Any] | None) -> dict[str, Any]:
    """The recorded inputs, as the graph declares them; those that were withheld are taken from `inputs`."""
    first = record.events[0]
    withheld = first.withheld if isinstance(first, ev.RunStarted) else ()
    given: dict[str, Any] = {}
    for name, value in record.inputs.items():
        if name in plan.graph.inputs:
            given[name] = decode(json.dumps(value), plan.graph.inputs[name].type)
    if missing := [name for name in withheld if name not in (inputs or {})]:
        names = ", ".join(f"'{name}'" for name in missing)
        raise InputError(
            f"run {record.id}: {names} held a secret and so was not stored: give it again, with inputs= or --input"
        )
    checked = validated_inputs(plan.graph, {**given, **(inputs or {})})
    different = [name for name, value in given.items() if inputs and name in inputs and checked[name] != value]
    if different:
        names = ", ".join(f"'{name}'" for name in different)
        raise InputError(
            f"run {record.id} was begun with another value for {names}: use another run_id, or leave it out"
        )
    return {name: given.get(name, MISSING) if name in given else checked[name] for name in checked}
