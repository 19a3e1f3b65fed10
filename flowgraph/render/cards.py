"""What stands on a card: title, facts, reasons, and the tooltip. Never inputs, values or whole error texts.

A question to a person is shown while it is open, with what its author has put into it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

from ..node_run import NodeRun
from ..outcome import FINAL, Status, Usage
from . import text
from .items import Item, Level, statuses
from .marks import Marks, asks, waits_for
from .picture import Line

_TITLE: Final = (30, 2)  # columns, lines
_DETAIL: Final = (40, 2)
_REASON: Final = (38, 2)
_QUESTION: Final = (38, 4)
_NARROW: Final = (24, 3)  # of a reason in a grid
_FAILURES: Final = 4  # told on a card that stands for others


def lines_of(item: Item, below: Level | None, marks: Marks, *, opened: bool, narrow: bool = False) -> tuple[Line, ...]:
    """The lines of the card, or of the cluster's heading.

    below: what it runs, for a word on that. opened: that is drawn inside. narrow: one of many cards in a grid.
    """
    room = _NARROW if narrow and not opened else _REASON
    words = [_kind(item, below, opened=opened), *(item.node.notes if item.node and item.run is None else ())]
    if item.run is not None:
        words += [*facts_of(item.run), *_marked(item.run, marks)]
    if not opened and (count := _asking(item, marks)):
        words.append(f"{text.count(count, 'answer')} missing")
    lines = [Line(row, "title") for row in text.wrap(item.label, *_TITLE)]
    lines += [Line(row) for row in _rows([word for word in words if word])]
    if item.run is None and item.condition:
        lines += [Line(row, "reason") for row in text.wrap(f"when {item.condition}", *_REASON)]
    if item.run is not None:
        lines += [Line(row, "reason") for why in _why(item, item.run) for row in text.wrap(why, *room)]
        lines += [Line(row, "reason") for note in _notes(item.run, marks) for row in text.wrap(note, *room)]
        if item.run.gate is not None and asks(item.run):
            lines += [Line(row, "reason") for row in text.wrap(item.run.gate.question, *_QUESTION)]
        lines += [Line(row) for words in waits_for(item.run) for row in text.wrap(words, *_DETAIL)]
    return (*lines, *_failures(item))


def tip_of(item: Item, below: Level | None, marks: Marks) -> str:
    """The tooltip: everything that the card says, with the path and without breaks."""
    parts = [item.path, _kind(item, below, opened=False) or item.kind]
    if item.node is not None:
        parts += [item.node.title, *item.node.notes]
    if item.condition:
        parts.append(f"when {item.condition}")
    if item.run is not None:
        parts += [_status(item.run.status), *facts_of(item.run), *_marked(item.run, marks)]
        parts += [*_why(item, item.run), *_notes(item.run, marks)]
        if item.run.gate is not None:
            parts.append(item.run.gate.question)
        parts += waits_for(item.run)
    wanted = dict.fromkeys(text.one_line(part, 300) for part in parts)
    return text.cut("\n".join(part for part in wanted if part), text.TIP_LIMIT)


def facts_of(run: NodeRun) -> list[str]:
    """How long it took, in how many attempts, and what it used."""
    facts = []
    if run.duration is not None:
        facts.append(text.duration(run.duration))
    elif run.status not in FINAL and run.status is not Status.PENDING:
        facts.append(_status(run.status))
    if run.attempt > 1:
        facts.append(f"{run.attempt} attempts")
    return facts + usage_of(run.usage)


def usage_of(usage: Usage) -> list[str]:
    """Tokens and cost."""
    words, least = [], "≥ " if usage.partial else ""
    if usage.tokens:
        words.append(f"{least}{text.count(usage.tokens, 'token')}")
    if usage.cost is not None:
        words.append(f"{least}{text.money(usage.cost)}")
    return words


def _rows(words: list[str]) -> list[str]:
    """Facts on lines, broken between facts."""
    rows: list[str] = []
    for word in words:
        short = text.one_line(word, _DETAIL[0] * _DETAIL[1])
        if rows and text.columns(rows[-1]) + text.columns(short) + 3 <= _DETAIL[0]:
            rows[-1] += f" · {short}"
        else:
            rows += text.wrap(short, *_DETAIL)
    return rows


def _kind(item: Item, below: Level | None, *, opened: bool) -> str:
    """What kind of node it is, with how much is below it; "" for a plain function."""
    held = list(below.items) if below is not None else []
    calls = _calls(item, below)
    if item.kind == "more":
        return statuses(item.stands_for)
    if item.kind in ("map", "loop") and item.inner is not None and item.run is None:
        return f"{item.kind} of a graph" + ("" if opened or not held else f" of {text.count(len(held), 'node')}")
    noun = {"map": "item", "loop": "round", "graph": "node"}.get(item.kind, "call")
    size = text.count(len(held), noun) if held else ""
    if held and item.run is not None and not opened:
        size = f"{size}: {statuses(held)}"
    if opened and item.kind not in ("map", "loop"):
        size = ""
    kind = "" if item.kind == "function" else item.kind
    return " · ".join(word for word in (kind, ", ".join(word for word in (calls, size) if word)) if word)


def _calls(item: Item, below: Level | None) -> str:
    """An agent's calls in a line: "3 model calls, 2 tool calls"."""
    found = Counter(below.calls) if below is not None else Counter[str]()
    if not found and below is None and item.run is not None and item.kind not in ("model", "tool"):
        found = Counter(model=item.run.usage.model_calls, tool=item.run.usage.tool_calls)
    return ", ".join(text.count(found[kind], f"{kind} call") for kind in ("model", "tool") if found[kind])


def _why(item: Item, run: NodeRun) -> list[str]:
    """Why it ended otherwise than by success, and what it chose."""
    why = []
    if run.reason is not None and run.status is not Status.SUCCEEDED:
        # The detail of a condition holds the values that it saw, which a drawing does not show.
        hidden = run.reason.kind == "condition"
        why.append(str(replace(run.reason, detail=item.condition) if hidden else run.reason))
    return [*why, f"chose {run.chosen}"] if run.chosen else why


def _marked(run: NodeRun, marks: Marks) -> list[str]:
    """Whether its output was taken from the journal of a resumed run."""
    return ["restored"] if run.path in marks.restored else []


def _notes(run: NodeRun, marks: Marks) -> tuple[str, ...]:
    """What is odd about it: an output from an earlier call, code that called others than before."""
    return marks.notes.get(run.path, ())


def _asking(item: Item, marks: Marks) -> int:
    """How many gates are open below what a card stands for."""
    runs = [one.run for one in item.stands_for or (item,) if one.run is not None]
    return sum(marks.asking.get(run.path, 0) for run in runs if not asks(run) or item.stands_for)


def _failures(item: Item) -> list[Line]:
    """The failures among the nodes that a card stands for."""
    if item.kind != "more":
        return []
    bad = [one for one in item.stands_for if one.status is not None and one.status.bad]
    # What could not run because of another failure says less than the failure itself.
    bad.sort(key=lambda one: one.status is Status.UPSTREAM_FAILED)
    told = [": ".join([one.label, *(_why(one, one.run)[:1] if one.run else ())]) for one in bad[:_FAILURES]]
    rows = [Line(text.one_line(words, 60), "reason") for words in told]
    return rows if len(bad) <= _FAILURES else [*rows, Line(f"and {len(bad) - _FAILURES:,} more", "reason")]


def _status(status: Status) -> str:
    return str(status).replace("_", " ")
