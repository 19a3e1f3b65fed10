"""Node runs at work: what stands behind the context of a running node, and the children that it calls."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from . import events as ev
from .call import Call, Place
from .children import Children
from .codec import decode, digest
from .commands import Ask, Ended, Event, FallBack, Question, Settle, Sleep, Start, Woke, Work
from .errors import Break, Diverged, InternalError, StoreError
from .fits import check_for
from .node import Node, as_node
from .node_run import NodeRun
from .outcome import Outcome, Reason, Status
from .past import Recorded
from .performer import Performer
from .policy import Policy
from .runtime import Runtime
from .schedule import Schedule
from .wiring import call_checks

RunGraph = Callable[["Host", Any, dict[str, Any]], Awaitable[Any]]


class Inner(Protocol):
    """A graph that a node runs."""

    def blocked(self) -> bool: ...


class Host(Performer):
    """One node run at work: performs what the schedule asks of it and hosts its children. Implements `context.Host`.

    graph: the graph that it runs, while it does.
    """

    __slots__ = ("graph", "run_graph_in")

    def __init__(
        self,
        runtime: Runtime,
        run: NodeRun,
        node: Node,
        policy: Policy,
        run_graph_in: RunGraph,
        in_loop: bool,
        above: Host | None = None,
    ) -> None:
        super().__init__(runtime, run, node, policy, in_loop, above)
        self.run_graph_in = run_graph_in
        self.graph: Inner | None = None

    def spawn(self, node: Any, inputs: Mapping[str, Any] | None, place: Place, policy: Policy) -> Call[Outcome[Any]]:
        """Reserve the place of a child; it starts when the call is awaited."""
        return self._running().reserve(as_node(node), inputs or {}, place, policy)

    def _running(self) -> Children:
        assert self._children is not None, "only a node that was started has a context"
        return self._children

    async def run_graph(self, graph: Any, inputs: dict[str, Any]) -> Any:
        """Run a graph in place, with its slot lent to the nodes of the graph."""
        children = self._running()
        children.check_open()
        return await children.lent(lambda: self.run_graph_in(self, graph, inputs))

    def child(self, node: Node, inputs: dict[str, Any], path: str, title: str, policy: Policy) -> Host:
        """A node run that this one calls. In a resumed run it may be one that was recorded before."""
        runtime = self.runtime
        hashed = None if runtime.journal is None else digest(inputs)
        recorded = runtime.past.take(path) if self.continues and runtime.past is not None else None
        if recorded is not None and not self._is_same(node, path, hashed):
            self._diverged(path, node)
            recorded = None
        run = runtime.record.nodes[path] if recorded else runtime.spawn(self.run, path, node.kind, title, hashed)
        in_loop = self.in_loop or self.node.kind == "loop"
        shared = Policy(group=self.policy.group, priority=self.policy.priority)
        child = Host(runtime, run, node, policy.over(shared), self.run_graph_in, in_loop, self)
        child.weight, child.version, child.recorded = self.weight, self.version, recorded
        child.input_checks, child.output_check = call_checks(node, inputs), check_for(node.output_type)
        return child

    def _is_same(self, node: Node, path: str, hashed: str | None) -> bool:
        """Whether what is called is what was recorded there."""
        run, past = self.runtime.record.nodes[path], self.runtime.past
        return run.kind == node.kind and run.inputs == hashed is not None and not (past and past.changed(path))

    def _diverged(self, path: str, node: Node) -> None:
        runtime = self.runtime
        was, text = runtime.record.nodes[path], f"'{path}' is called with something else than before"
        if was.kind != node.kind:
            text = f"'{path}' was a {was.kind}, and a {node.kind} is called now"
        if runtime.past is not None and runtime.past.strict:
            raise Diverged(f"run {self.run_id} does not do what it did before (strict_replay): {text}")
        runtime.tell(ev.Decided(runtime.now(), self.path, runtime.seq, "diverged", text))

    def give_back(self) -> bool:
        """Take the outcome from the record, if there is one that still counts. Else go on from where it was."""
        recorded, run = self.recorded, self.run
        if recorded is None:
            return False
        if recorded.succeeded and not self._changed_within():
            try:
                self.value = run.value = decode(json.dumps(recorded.value), self._stored_type(recorded))
            except StoreError:  # the type was changed since
                return False
            self.error = recorded.error
            self.given = True
        elif recorded.skipped_itself:
            self.given = True
        else:
            self.continues, self.spent = recorded.continues, recorded.spent
        return self.given

    def _changed_within(self) -> bool:
        """Whether it holds a graph that is not what it was."""
        past = self.runtime.past
        return past is not None and past.changed_within(self.path)

    def _stored_type(self, recorded: Recorded) -> Any:
        return Any if isinstance(recorded.error, Break) else self.node.output_type

    async def live(self, schedule: Schedule, inputs: dict[str, Any]) -> Outcome[Any]:
        """Perform all that an open schedule asks for this node run, until it is settled."""
        recorded = self.recorded
        if self.give_back() or (recorded is not None and recorded.failed and not self._made_it_fail()):
            return self.run.outcome
        begun = recorded.begun(self.policy.attempts) if recorded else 0
        index, (command,) = schedule.spawn(self.run.name, self.policy.attempts, begun)
        try:
            while type(command) is not Settle:
                event = await self.perform(command, inputs)  # type: ignore[arg-type]  # no other facts here
                (command,) = schedule.feed(event)
        except BaseException:
            (command,) = schedule.feed(Ended(index, Status.CANCELLED, Reason("cancelled", detail="from outside")))
            self.settle(command)  # type: ignore[arg-type]  # a cancelled node is settled at once
            raise
        self.settle(command)
        return self.run.outcome

    def _made_it_fail(self) -> bool:
        """Whether its failure ended its parent, as it is recorded, or may be no more: then it is called again."""
        return (self.above is not None and self.path in self.above.run.causes) or self._changed_within()

    def blocked(self) -> bool:
        """Whether nothing of it is at work: it waits for a person, or all that it waits for does."""
        if self.waiting:
            return True
        if self.graph is not None:
            return self.graph.blocked()
        children = self._children
        if children is None or (self.blocks and children.count <= self.beside):  # its code goes on beside them
            return False
        return children.blocked()

    async def perform(self, work: Work, inputs: dict[str, Any]) -> Event:
        """Do one piece of work of this node run."""
        if type(work) is Start:
            ending = await self.start(work.attempt, dict(inputs))
            return Ended(work.node, ending.status, ending.reason)
        if type(work) is Sleep:
            await self.runtime.backend.sleep(work.delay)
            return Woke(work.node)
        if type(work) is FallBack:
            ending = await self.fall_back(inputs)
            self.value, self.error = ending.value, ending.error
            return Ended(work.node, ending.status, ending.reason)
        if type(work) is Ask and work.question is Question.RETRY:
            return self.judge(work)
        raise InternalError(f"'{self.path}' cannot perform {work!r}")
