"""Drawn graphs, drawn scripts and drawn orders of arrival; and a player that feeds a schedule without any loop.

`stories()` draws a graph with a script. `orders()` draws which of the running things ends next. `Player` plays a
story in an order and watches, on the way, that the schedule keeps its promises.
"""

from __future__ import annotations

import inspect
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from flowgraph.commands import (
    Answered,
    Ask,
    Command,
    Decide,
    Ended,
    Event,
    FallBack,
    Question,
    Settle,
    Sleep,
    Start,
    Woke,
    Work,
)
from flowgraph.entry import END, Targets
from flowgraph.graph import Graph
from flowgraph.node import Kind, Parameter
from flowgraph.outcome import MISSING, Maybe, Outcome, Reason, Status
from flowgraph.plan import Plan, plan_of
from flowgraph.policy import Join, Retry
from flowgraph.schedule import Schedule
from tests.engine.reference import REASONS, End, Script

SOAK = 20 if os.environ.get("FLOWGRAPH_SOAK") == "1" else 1
LABELS = ("left", "right", "on")
UNKNOWN = "unknown"


def examples(count: int) -> settings:
    """Settings for so many examples, or twenty times as many when FLOWGRAPH_SOAK=1."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=count * SOAK, deadline=None, print_blob=True, suppress_health_check=slow)


# -- graphs


@dataclass(frozen=True)
class Stub:
    """A node that is never called: the schedule knows only its parameters."""

    name: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    kind: str = "function"
    output_type: Any = Any

    async def call(self, ctx: object, inputs: dict[str, Any]) -> Any:
        raise AssertionError("no schedule calls a node")


ANNOTATIONS: dict[Kind, Any] = {
    Kind.REQUIRED: Any,
    Kind.MAYBE: Maybe[Any],  # type: ignore[misc]  # an alias may be used so at run time
    Kind.OUTCOME: Outcome[Any],
    Kind.DEFAULT: Any,
}


def condition(kinds: Mapping[str, Kind]) -> Callable[..., bool]:
    """A `when` with these parameters. It is never called, either."""

    def holds(**values: Any) -> bool:
        raise AssertionError("no schedule calls a condition")

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=1 if kind is Kind.DEFAULT else inspect._empty)
        for name, kind in kinds.items()
    ]
    holds.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # inspect reads it
    holds.__annotations__ = {name: ANNOTATIONS[kind] for name, kind in kinds.items()}
    return holds


def add(graph: Graph, name: str, **options: Any) -> None:
    """Add a stub. Beside the options of `Graph.add`: `reads` maps each parameter to its kind."""
    reads: Mapping[str, Kind] = options.pop("reads", {})
    default = {Kind.DEFAULT: 1}
    parameters = {key: Parameter(key, Any, kind, default.get(kind, MISSING)) for key, kind in reads.items()}
    graph.add(name, Stub(name, parameters), **options)


class Use(NamedTuple):
    """One use that a node makes of another: as a parameter of its own ("data"), of its condition, or as order."""

    parent: int
    part: str
    kind: Kind = Kind.REQUIRED


KINDS = st.sampled_from([Kind.MAYBE, Kind.REQUIRED, Kind.MAYBE, Kind.OUTCOME, Kind.DEFAULT])
PARTS = st.sampled_from(["data", "data", "data", "data", "list", "after", "when"])


@st.composite
def uses(draw: st.DrawFn, node: int) -> list[Use]:
    """What a node uses of those before it, so that no cycle can come about."""
    if node == 0:
        return []
    parents = st.integers(max(0, node - 6), node - 1)
    drawn = draw(st.lists(st.tuples(parents, PARTS, KINDS), max_size=4))
    return [Use(parent, part, Kind.REQUIRED if part == "after" else kind) for parent, part, kind in drawn]


@st.composite
def choices(draw: st.DrawFn, size: int) -> tuple[int, dict[str, Targets], Targets | None]:
    """A chooser, its cases, and a default or None: targets are later nodes, and overlap as they like."""
    chooser = draw(st.integers(0, size - 2))
    later = st.lists(st.integers(chooser + 1, min(size - 1, chooser + 6)), min_size=1, max_size=3, unique=True)
    named = later.map(lambda targets: [f"n{target}" for target in targets])
    case: st.SearchStrategy[Any] = named | st.sampled_from([[], END]) | named
    cases = draw(st.dictionaries(st.sampled_from(LABELS), case, min_size=1, max_size=3))
    default = draw(st.none() | case)
    return chooser, cases, default


@st.composite
def graphs(draw: st.DrawFn, joins: Sequence[Join] = (Join.ALL, Join.ALL, Join.ALL, Join.DONE)) -> Graph:
    """A graph of 2 to 12 nodes, added in any order, with up to four choices."""
    size = draw(st.integers(2, 12))
    used = [draw(uses(node)) for node in range(size)]
    chosen = draw(st.lists(choices(size), max_size=4))
    graph = Graph("drawn")
    graph.input("topic", str)
    options = [_options(draw, node, used[node], chosen, joins) for node in range(size)]
    for node in draw(st.permutations(range(size))):
        add(graph, f"n{node}", **options[node])
    for chooser, cases, default in chosen:
        graph.choose(f"n{chooser}", cases, **({} if default is None else {"default": default}))
    return graph


def _options(draw: st.DrawFn, node: int, used: list[Use], chosen: list[Any], joins: Sequence[Join]) -> dict[str, Any]:
    reads: dict[str, Kind] = {"topic": Kind.REQUIRED} if draw(st.booleans()) else {}
    asks: dict[str, Kind] = {}
    bind: dict[str, Any] = {}
    for number, use in enumerate(used):
        name = parent = f"n{use.parent}"
        mine = {"data": reads, "when": asks}.get(use.part)
        if mine is None:
            continue
        if name in reads or name in asks or use.kind is Kind.DEFAULT or draw(st.booleans()):
            name = f"p{number}"
            bind[name] = parent
        mine[name] = use.kind
    if listed := list(dict.fromkeys(f"n{use.parent}" for use in used if use.part == "list")):
        reads["parts"], bind["parts"] = draw(KINDS), listed
    parents = sorted({use.parent for use in used} | {c for c, *cases in chosen if _targets(node, *cases)})
    narrow = st.lists(st.sampled_from(parents), unique=True, max_size=3) if parents else st.just([])
    needs = draw(st.none() | st.none() | narrow)
    return {
        "reads": reads,
        "bind": bind,
        "after": list(dict.fromkeys(f"n{use.parent}" for use in used if use.part == "after")),
        "when": condition(asks) if asks else draw(st.sampled_from([None, None, None, "len(topic) > 1"])),
        "needs": None if needs is None else [f"n{parent}" for parent in needs],
        "join": draw(st.sampled_from(joins)),
        "retry": draw(st.none() | st.builds(Retry, attempts=st.integers(1, 3))),
        "fallback": draw(st.sampled_from([MISSING, MISSING, MISSING, 0])),
    }


def _targets(node: int, cases: dict[str, Targets], default: Targets | None) -> bool:
    taken = [*cases.values(), default]
    return any(isinstance(targets, list) and f"n{node}" in targets for targets in taken)


# -- graphs by hand

MARKS = {"?": Kind.MAYBE, "!": Kind.OUTCOME, "=": Kind.DEFAULT}


def sketch(nodes: Mapping[str, str], choose: Sequence[tuple[Any, ...]] = (), **options: Any) -> Graph:
    """A graph in few words: `sketch({"a": "", "b": "a", "c": "a? b! (d)"}, [("a", {"go": "b", "stop": END})])`.

    A node reads the names behind it: `b` required, `b?` Maybe, `b!` Outcome, `b=` with a default, `(b)` only order.
    choose: the arguments of `Graph.choose`, a third one being the default. options: option → node → its value.
    """
    graph = Graph("sketch")
    graph.input("topic", str)
    for name, text in nodes.items():
        own = {option: values[name] for option, values in options.items() if name in values}
        words = text.split()
        reads = {word.rstrip("?!="): MARKS.get(word[-1], Kind.REQUIRED) for word in words if word[0] != "("}
        bind = {key: key for key, kind in reads.items() if kind is Kind.DEFAULT}
        add(graph, name, reads=reads, bind=bind, after=[word[1:-1] for word in words if word[0] == "("], **own)
    for chooser, cases, *default in choose:
        graph.choose(chooser, cases, **({"default": default[0]} if default else {}))
    return graph


def scripted(graph: Graph, **scripts: Script | str | Status) -> Story:
    """A story: every node succeeds, but for these; a text is the label that a node gives to all its choices."""
    script = {name: Script() for name in graph.entries}
    for name, end in scripts.items():
        if isinstance(end, Script):
            script[name] = end
        elif isinstance(end, Status):
            script[name] = Script(end)
        else:
            script[name] = Script(labels=dict.fromkeys(range(len(graph.choices)), end))
    return Story(graph, script)


# -- stories and orders


class Story(NamedTuple):
    """A graph, and how each of its nodes would end if it ran."""

    graph: Graph
    script: dict[str, Script]


STATUSES = st.sampled_from(
    [
        *[Status.SUCCEEDED] * 6,
        *[Status.SKIPPED] * 2,
        Status.FAILED,
        Status.TIMED_OUT,
        Status.CANCELLED,
    ]
)


@st.composite
def stories(draw: st.DrawFn, joins: Sequence[Join] = (Join.ALL, Join.ALL, Join.ALL, Join.DONE)) -> Story:
    """A drawn graph with a drawn script."""
    graph = draw(graphs(joins))
    labels = st.sampled_from([*LABELS, *LABELS, UNKNOWN])
    script = {
        name: Script(
            end=draw(STATUSES),
            failures=draw(st.sampled_from([0, 0, 0, 0, 1, 2])),
            labels={number: draw(labels) for number, choice in enumerate(graph.choices) if choice.on.name == name},
            when=draw(st.sampled_from([True, True, True, False, None])),
            fallback=draw(st.booleans()),
        )
        for name in graph.entries
    }
    return Story(graph, script)


def orders() -> st.SearchStrategy[list[int]]:
    """Which of what runs ends next, each time; the oldest when the list is used up."""
    return st.lists(st.integers(-6, 6), max_size=40)


# -- playing


class Player:
    """Plays a story: answers what the schedule asks for, in a given order, and checks each command."""

    def __init__(self, story: Story) -> None:
        self.graph, self.script = story
        self.plan: Plan = plan_of(self.graph)
        errors = [problem for problem in self.plan.problems if problem.severity == "error"]
        assert not errors, errors
        assert not self.plan.cyclic
        self.schedule = Schedule(self.plan.nodes, self.plan.choices)
        self.pending: list[Work] = []
        self.ends: dict[str, End] = {}
        self.started: list[str] = []  # in order, once an attempt
        self.attempts: Counter[str] = Counter()
        self.asked: list[Ask] = []
        self.decided: list[Decide] = []
        self.commands: list[list[Command]] = []
        self.events: list[Event] = []
        self._take(self.schedule.start())

    def play(self, order: Sequence[int] = ()) -> Player:
        """To the end, in the given order."""
        picks = iter(order)
        while self.pending:
            self.step(next(picks, 0))
        return self

    def step(self, pick: int = 0) -> None:
        """Let one of the pending things end."""
        self.finish(self.pending[pick % len(self.pending)])

    def finish(self, work: Work) -> None:
        """Let this one end, as the script has it."""
        self.pending.remove(work)
        self.feed(self.answer(work))

    def end(self, *names: str) -> None:
        """Let these nodes end, one after the other, with all that is asked about them on the way."""
        for name in names:
            while works := [work for work in self.pending if self.name(work.node) == name]:
                self.finish(works[0])

    def feed(self, event: Event) -> list[Command]:
        self.events.append(event)
        commands = self.schedule.feed(event)
        self._take(commands)
        return commands

    def name(self, node: int) -> str:
        return self.plan.names[node]

    def status(self, name: str) -> Status:
        return self.schedule.statuses[self.plan.names.index(name)]

    @property
    def running(self) -> list[str]:
        """What a pending start or question is about, in order."""
        return [self.name(work.node) for work in self.pending]

    @property
    def unhandled(self) -> list[str]:
        return [self.name(node) for node in self.schedule.verdict().unhandled]

    # -- answers

    def answer(self, work: Work) -> Event:
        """What comes back for a piece of work, by the script."""
        script = self.script[self.name(work.node)]
        if isinstance(work, Start):
            status = Status.FAILED if work.attempt <= script.failures else script.end
            return Ended(work.node, status, REASONS.get(status))
        if isinstance(work, FallBack):
            status = Status.SUCCEEDED if script.fallback else Status.FAILED
            return Ended(work.node, status, REASONS.get(status))
        if isinstance(work, Sleep):
            return Woke(work.node)
        if work.question is Question.RETRY:
            return Answered(work, float(work.subject % 2))
        return self._condition(work, script.when) if work.question is Question.WHEN else self._label(work, script)

    def _condition(self, ask: Ask, verdict: bool | None) -> Answered:
        if verdict is None:
            return Answered(ask, None, error=Reason("condition_error", detail="it raised"))
        return Answered(ask, verdict, "it is true" if verdict else "it is false")

    def _label(self, ask: Ask, script: Script) -> Answered:
        choice, label = self.plan.choices[ask.subject], script.labels[ask.subject]
        if label in choice.labels:
            return Answered(ask, choice.labels.index(label), label)
        if choice.has_default:
            return Answered(ask, len(choice.labels), label)
        return Answered(ask, None, label, Reason("choice_error", self.name(choice.chooser), label))

    # -- promises

    def _take(self, commands: list[Command]) -> None:
        self.commands.append(commands)
        for command in commands:
            name = self.name(command.node)
            if isinstance(command, Settle):
                assert name not in self.ends, f"{name} ends twice"
                assert command.status.final
                self.ends[name] = End(command.status, command.reason)
            elif isinstance(command, Decide):
                self.decided.append(command)
            else:
                self._check(command, name)
                self.pending.append(command)

    def _check(self, work: Work, name: str) -> None:
        if isinstance(work, Ask) and work.question is Question.CHOICE:
            assert self.ends[name].status is Status.SUCCEEDED
            assert work not in self.asked, "a choice is asked once"
            self.asked.append(work)
            return
        assert name not in self.ends, f"{name} is final and is asked for more"
        if isinstance(work, Start):
            self.attempts[name] += 1
            assert work.attempt == self.attempts[name], f"{name}: attempt {work.attempt} again"
            self.started.append(name)
        if isinstance(work, Start) or (isinstance(work, Ask) and work.question is Question.WHEN):
            self._check_parents(work.node)

    def _check_parents(self, node: int) -> None:
        unit, statuses = self.plan.nodes[node], self.schedule.statuses
        data = [edge.parent for edge in unit.parents if edge.data]
        quorum = unit.join.quorum
        waits_for = [e.parent for e in unit.parents if quorum is None or not e.data]
        assert all(statuses[parent].final for parent in waits_for), "it starts before its parents are final"
        if quorum is not None:
            assert sum(statuses[parent] is Status.SUCCEEDED for parent in data) >= quorum or not unit.parents
