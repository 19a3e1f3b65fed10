"""Waiting, for a person or a time: what a node run does then. It survives the process, where the run is stored."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from typing import Any, Protocol

import anyio

from . import events as ev
from .codec import Withheld, decode, encode
from .errors import AnswerRefused, NodeTimeout, StoreError
from .missing import MISSING
from .node_run import NodeRun, OpenGate
from .past import Recorded
from .policy import seconds
from .question import Question
from .runtime import Runtime


class Waiter(Protocol):
    """A node run that waits."""

    runtime: Runtime
    run: NodeRun
    continues: bool
    waiting: bool
    recorded: Recorded | None

    def held(self) -> AbstractContextManager[None]: ...


async def wait_for_answer(host: Waiter, question: Question) -> Any:
    """Open a gate, or find it open, and wait for the answer. Raises NodeTimeout when nobody gave one in time."""
    runtime, run = host.runtime, host.run
    timed_out = host.recorded is not None and host.recorded.failed
    known = run.gate if host.continues and not timed_out else None
    if known is not None and (answer := _recorded_answer(known, question)) is not MISSING:
        return answer
    if known is None or known.answer is not MISSING:  # an answer that does not fit is none
        opens = None if question.timeout is None else runtime.now() + seconds(question.timeout)
        due = opens if known is None else known.due
        opened = ev.GateOpened(
            runtime.now(), run.path, runtime.seq, question.text, question.schema, due, question.default is not MISSING
        )
        runtime.tell(opened)
        if runtime.journal is not None:
            await runtime.stored()
    assert run.gate is not None, "a gate that was opened is recorded"
    due = run.gate.due
    waiting = runtime.desk.wait(run.path, question)
    if run.path in runtime.desk.answers:
        _give_early_answer(runtime, run.path)
    host.waiting = True
    try:
        with host.held(), anyio.move_on_after(None if due is None else max(due - runtime.now(), 0)):
            await waiting.done.wait()
            return waiting.answer
    finally:
        host.waiting = False
        del runtime.desk.open[run.path]
    if question.default is not MISSING:
        return question.default
    raise NodeTimeout(f"nobody answered {question.text!r} at '{run.path}' in time")


def _recorded_answer(gate: OpenGate, question: Question) -> Any:
    """What somebody answered before; MISSING when nobody did, or it is no answer to this question."""
    if gate.answer is MISSING:
        return MISSING
    try:
        return decode(json.dumps(gate.answer), question.type)
    except StoreError:  # it came from outside, as plain JSON, and is of a type that the codec writes otherwise
        pass
    try:
        return question.checked(gate.answer)
    except AnswerRefused:
        return MISSING


def _give_early_answer(runtime: Runtime, path: str) -> None:
    """The answer that was given along with the run. One that does not fit leaves the gate open, and is told."""
    try:
        give_answer(runtime, path, runtime.desk.answers.pop(path))
    except AnswerRefused as error:
        runtime.show(ev.Logged(runtime.now(), path, str(error), {}))


def give_answer(runtime: Runtime, path: str, answer: Any) -> None:
    """Answer an open gate. Raises AnswerRefused, and changes nothing, when it is not open or does not fit."""
    checked = runtime.desk.checked(path, answer)
    question = runtime.desk.open[path].question
    try:
        text = None if runtime.journal is None else encode(checked, question.type, path)
    except Withheld:
        text = None  # a secret: whoever resumes the run before it is used is asked again
    runtime.tell(ev.GateAnswered(runtime.now(), path, runtime.seq, checked), text)
    runtime.desk.give(path, checked)


async def wait_until(host: Waiter, duration: float) -> None:
    """Sleep for so many seconds, or what is left of them when it began in another process."""
    runtime, run = host.runtime, host.run
    if host.continues and run.due is not None:
        due = run.due
    else:
        due = runtime.now() + duration
        runtime.tell(ev.NodeWaiting(runtime.now(), run.path, runtime.seq, due))
        if runtime.journal is not None:
            await runtime.stored()
    with host.held():
        await runtime.backend.sleep(max(due - runtime.now(), 0))
