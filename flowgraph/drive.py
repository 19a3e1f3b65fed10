"""The driver: one graph, a schedule and a backend. It performs what the schedule asks and feeds back what comes."""

from __future__ import annotations

import heapq
import inspect
from typing import Any

import anyio

from . import events as ev
from .attempt import cancelled_from_outside
from .bind import Values
from .checks import checked
from .commands import Answered, Ask, Decide, Ended, Event, FallBack, Question, Settle, Start, Stopped, Work
from .errors import Break, ChoiceError, ConditionError, NoOutput, Skip, SubgraphFailed, brief
from .fits import shown
from .grace import Due
from .handle import Ref
from .host import Host
from .node_run import NodeRun
from .outcome import MISSING, Reason, Status
from .past import Past
from .plan import Plan
from .replay import Replay
from .runtime import Runtime
from .schedule import Schedule, Verdict
from .unit import PlanChoice


class _Halt(Exception):
    """Ends the tasks of a graph whose run stops on a failure."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(path)


class Drive:
    """One graph, running. `run()` drives it to its end; `output()` is what came out.

    The event that its graph begins comes first: the record has the node runs from it.
    """

    def __init__(
        self,
        runtime: Runtime,
        plan: Plan,
        inputs: dict[str, Any],
        parent: NodeRun,
        in_loop: bool = False,
        above: Host | None = None,
        past: Past | None = None,
    ) -> None:
        self.runtime = runtime
        self.plan = plan
        prefix, nodes = f"{parent.path}/" if parent.path else "", runtime.record.nodes
        self.runs = [nodes[prefix + name] for name in plan.names]
        self.replay = None if past is None else Replay(past, plan, self.runs)
        self.schedule = Schedule(plan.nodes, plan.choices, self.replay.begun if self.replay else None)
        self._above = above
        self._pending = 0  # commands that the schedule gave and that have not been answered
        self._held: list[int] = []  # nodes that may begin when fewer are at work, a heap
        self._at_work: set[int] = set()  # nodes that have begun; only kept where their number is limited
        self.values = Values(inputs, len(plan.entries), lambda index: self.runs[index].outcome)
        self._in_loop = in_loop
        self._hosts: dict[int, Host] = {}  # of what is at work: made when it begins, let go of when it is final
        self._choice_errors: dict[int, ChoiceError] = {}
        self._stopping: Due | None = None

    def _host(self, index: int) -> Host:
        """The host of a node that is at work, or is about to be."""
        if (known := self._hosts.get(index)) is not None:
            return known
        entry, plan = self.plan.entries[index], self.plan
        host = Host(
            self.runtime, self.runs[index], entry.node, plan.policies[index], run_graph, self._in_loop, self._above
        )
        self._hosts[index] = host
        if self.replay is not None:
            host.recorded = self.replay.recorded[index]
        host.weight = self.plan.weights[index]
        host.fallback = entry.fallback
        host.version = entry.version
        host.input_checks = self.plan.input_checks[index]
        host.output_check = self.plan.output_checks[index]
        return host

    async def run(self) -> Verdict:
        """Drive the graph until every node is final.

        Cancellation, KeyboardInterrupt and `Break` pass through, after everything has ended and is recorded.
        """
        try:
            works = self._let_in(self._works(self.schedule.start()))
            self._pending += len(works)
            await self.runtime.backend.drain(works, self.perform, self.feed)
        except _Halt as halt:
            self._works(self.schedule.feed(Stopped(f"'{halt.path}' failed, and the run stops on a failure")))
        except BaseException as error:
            why = "the loop around it ended" if isinstance(error, Break) else self.runtime.why_cancelled
            self._works(self.schedule.feed(Stopped(why)))
            raise
        finally:
            if self._stopping is not None:
                self._stopping.over = True
        return self.schedule.verdict()

    def leave(self) -> None:
        """End every node of a graph that was cancelled before its first step."""
        self._works(self.schedule.feed(Stopped(self.runtime.why_cancelled)))

    def output(self) -> Any:
        """The graph's output. Raises Skip with the reason when all of it was skipped, NoOutput when that failed."""
        refs = self.plan.outputs
        if isinstance(refs, Ref):
            value = self._read(refs)
            if value is MISSING:
                self._refuse_failed(refs)
                raise Skip(f"its output '{refs.name}' was skipped")
            return value
        found = {name: value for name, ref in refs.items() if (value := self._read(ref)) is not MISSING}
        if refs and not found:
            for ref in refs.values():
                self._refuse_failed(ref)
            raise Skip("all of its outputs were skipped")
        return found

    def _refuse_failed(self, ref: Ref) -> None:
        """An output that failed is no skipped one, even where some node of the graph tolerates it."""
        run = self.runs[self.plan.names.index(ref.name)]
        if run.status.bad:
            raise NoOutput(f"its output '{ref.name}' is {run.status}: {run.reason}") from run.error

    def errors(self, verdict: Verdict) -> dict[str, BaseException]:
        """path → exception of what nothing handled."""
        found: dict[str, BaseException] = {}
        for index in verdict.unhandled:
            run = self.runs[index]
            error = self._choice_errors.get(index) or run.error
            if error is not None:
                found[run.path] = error
        return found

    # -- the two functions that a backend is given

    async def perform(self, work: Work) -> Event:
        """Do what the schedule asks for."""
        if type(work) is Ask and work.question is Question.CHOICE:
            return self._case(work, self.plan.choices[work.subject])
        host = self._host(work.node)
        if type(work) is Ask:
            return host.judge(work) if work.question is Question.RETRY else await self._condition(work, host)
        if type(work) is not Start and type(work) is not FallBack:
            return await host.perform(work, {})
        event: Event | None = None
        if self.replay is not None:
            work, event = self._replayed(work, host)
        if event is None:
            event = await self._attempted(work, host)
        if isinstance(host.error, Break) and type(event) is Ended and event.status is Status.SUCCEEDED:
            self.feed(event)
            raise host.error
        return event

    def _replayed(self, work: Start | FallBack, host: Host) -> tuple[Start | FallBack, Event | None]:
        """What the journal says of it, in place of doing it."""
        assert self.replay is not None
        if type(work) is FallBack:
            return work, self.replay.fallen(host, work)
        if host.attempt:  # an attempt after the one that the resume began with
            return work, None
        if self.replay.touched(work.node):
            self.schedule.renew(work.node)
            host.recorded = None
            return Start(work.node, 1), None
        return work, self.replay.given_back(host, work.node)

    async def _attempted(self, work: Start | FallBack, host: Host) -> Event:
        try:
            inputs = self.values.bound(self.plan.bindings[work.node])
        except Exception as error:
            if type(work) is FallBack:  # a value needs none
                return await host.perform(work, {})
            host.error = error
            return Ended(work.node, Status.FAILED, Reason("error", detail=brief(error)))
        return await host.perform(work, inputs)

    def blocked(self) -> bool:
        """Whether nothing is at work: all that was begun waits for people."""
        hosts = self._hosts.values()
        return 0 < self._pending == sum(host.blocked() for host in hosts)

    def feed(self, event: Event) -> list[Work]:
        """Feed the schedule; record the facts that it gives and pass on the work."""
        works = self._let_in(self._works(self.schedule.feed(event)))
        self._pending += len(works) - 1
        if self.runtime.stop_on_failure and (lost := self.schedule.lost()) is not None:
            path = self.runs[lost].path
            self._stopping = self._stopping or self.runtime.grace.expect(path.rpartition("/")[0])
            raise _Halt(path)
        return works

    def _works(self, commands: list[Any]) -> list[Work]:
        works: list[Work] = []
        for command in commands:
            if type(command) is Settle:
                self._settle(command)
            elif type(command) is Decide:
                self._decide(command)
            else:
                works.append(command)
        return works

    def _let_in(self, works: list[Work]) -> list[Work]:
        """The work that begins now: at most `max_concurrency` nodes are at work, the first of those ready first."""
        most = self.plan.graph.max_concurrency
        if most is None:
            return works
        begun: list[Work] = []
        for work in works:
            if type(work) is Start and work.node not in self._at_work:
                heapq.heappush(self._held, work.node)
            else:
                begun.append(work)
        while self._held and len(self._at_work) < most:
            index = heapq.heappop(self._held)
            self._at_work.add(index)
            begun.append(Start(index, self.schedule.attempt(index)))
        return begun

    def _settle(self, settle: Settle) -> None:
        host = self._host(settle.node)
        del self._hosts[settle.node]
        self._at_work.discard(settle.node)
        if self.replay is not None:
            self.replay.settle(host, settle)
        host.settle(settle)
        self.values.outputs[settle.node] = host.value

    def _decide(self, decide: Decide) -> None:
        runtime, taken = self.runtime, tuple(self.plan.names[target] for target in decide.taken)
        path = self.runs[decide.node].path
        if self.replay is not None and self.replay.decided(decide):
            return
        runtime.tell(ev.Decided(runtime.now(), path, runtime.seq, decide.what, decide.detail, taken))

    # -- evaluating what users wrote

    async def _condition(self, ask: Ask, host: Host) -> Answered:
        entry, binding = self.plan.entries[ask.node], self.plan.conditions[ask.node]
        assert entry.when, "only a node with a condition is asked for it"
        assert binding is not None
        if self.replay is not None and (known := self.replay.answered(ask)) is not None:
            return known
        try:
            values = self.values.bound(binding)
            verdict = entry.when.holds(values)
            holds = bool(await verdict if inspect.isawaitable(verdict) else verdict)
        except (Exception, anyio.get_cancelled_exc_class()) as error:
            if not isinstance(error, Exception) and cancelled_from_outside():
                raise
            host.error = failure = ConditionError(f"the condition {entry.when.text!r}: {brief(error)}")
            failure.__cause__ = error
            return Answered(ask, None, error=Reason("condition_error", detail=f"{entry.when.text}: {brief(error)}"))
        given = ", ".join(f"{name}={shown(value, 40)}" for name, value in values.items())
        return Answered(ask, holds, f"{entry.when.text} with {given}" if given else entry.when.text)

    def _case(self, ask: Ask, choice: PlanChoice) -> Answered:
        """The case of a choice by the value: labels match by type and value."""
        try:
            label = self.values.read(choice.chooser, choice.source)
            for number, case in enumerate(choice.labels):
                if type(case) is type(label) and case == label:
                    return Answered(ask, number, shown_label(label))
        except Exception as error:
            return self._no_case(ask, brief(error))
        if choice.has_default:
            return Answered(ask, len(choice.labels), shown_label(label))
        known = ", ".join(shown(label).partition(" ")[2] for label in choice.labels)
        return self._no_case(ask, f"it gave {shown(label)}, and there are cases only for {known}")

    def _no_case(self, ask: Ask, detail: str) -> Answered:
        path, runtime = self.runs[ask.node].path, self.runtime
        self._choice_errors[ask.node] = ChoiceError(f"the choice of '{path}' failed: {detail}")
        runtime.tell(ev.Decided(runtime.now(), path, runtime.seq, "choice_error", detail))
        return Answered(ask, None, detail, error=Reason("choice_error", self.plan.names[ask.node], detail))

    def _read(self, ref: Ref) -> Any:
        return self.values.read(self.plan.names.index(ref.name) if ref.name in self.plan.names else -1, ref)


def shown_label(label: Any) -> str:
    """A label for records and drawings."""
    return label if isinstance(label, str) else shown(label).partition(" ")[2]


async def run_graph(host: Host, graph: Any, inputs: dict[str, Any]) -> Any:
    """Run a graph in place of a node: its nodes are the children of the node run."""
    plan = checked(graph)
    given = {name: i.default for name, i in graph.inputs.items() if i.default is not MISSING} | inputs
    in_loop, runtime = host.in_loop or host.node.kind == "loop", host.runtime
    if [node.name for node in host.run.children] != list(plan.names) or not host.continues:
        begun = ev.GraphStarted(runtime.now(), host.path, runtime.seq, graph.name, plan.outline, plan.pairs)
        runtime.tell(begun)
    past = runtime.past if host.continues else None
    drive = host.graph = Drive(runtime, plan, given, host.run, in_loop, host, past)
    try:
        verdict = await drive.run()
    finally:
        host.graph = None
    if verdict.unhandled:
        errors = drive.errors(verdict)
        failed = SubgraphFailed(f"graph '{graph.name}' failed", errors)
        raise failed from next(iter(errors.values()), None)
    return drive.output()
