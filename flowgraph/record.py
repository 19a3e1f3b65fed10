"""The record of a run: everything that happened, folded from its lasting events.

`fg.run` returns a `Run`. It reads like the graph: `run["draft"]` is a node's output, `run.outcomes["draft"]` how it
ended, `run.output` the graph's. `run.nodes` holds every node run by its path, children included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar, overload

from . import events as ev
from .errors import ChoiceError, NoOutput, RunPaused
from .handle import Handle, Ref
from .node_run import NodeRun, OpenGate
from .outcome import FINAL, MISSING, Outcome, Status, Usage
from .plan import Plan
from .prompts import part
from .spec import GraphSpec, read_document, spec_of_plan

T = TypeVar("T")


class Run:
    """A run, as far as it got. Made by `fg.run`; also on the errors RunFailed and RunCancelled as `.run`.

    id, graph (its name), inputs; status: running, succeeded, failed, cancelled, paused; root: the node run of the
    graph itself; nodes: path → node run; events: the lasting events, in order; unhandled: paths of the failures that
    nothing handled; forked_from: the id of the run that it continues, "" when there is none; target: where its graph
    was found (such as "pipeline.py:graph"), "" when nobody said.
    """

    def __init__(self, spec: GraphSpec | Plan, outputs: Ref | Mapping[str, Ref] | None = None) -> None:
        self._spec = spec
        self.id = ""
        self.graph = spec.name
        self.inputs: dict[str, Any] = {}
        self.root = NodeRun("", spec.name, "graph", spec.title)
        self.nodes: dict[str, NodeRun] = {}
        self.events: list[ev.Lasting] = []
        self.unhandled: tuple[str, ...] = ()
        self.forked_from = ""
        self.target = ""
        self._outputs = outputs
        self._choice_errors: dict[str, ChoiceError] = {}

    # -- what came out

    @property
    def spec(self) -> GraphSpec:
        """The graph as data, made when it is first asked for."""
        if isinstance(self._spec, Plan):
            self._spec = spec_of_plan(self._spec)
        return self._spec

    @property
    def status(self) -> Status:
        """Where the run stands."""
        return self.root.status

    @property
    def output(self) -> Any:
        """The graph's output. Raises RunPaused while people are waited for, NoOutput with the reason for none."""
        if self.status is Status.PAUSED:
            raise RunPaused(self)
        if isinstance(self._outputs, Ref):
            return self._value(self._outputs)
        refs = self._outputs or {}
        found = {name: self._value(ref) for name, ref in refs.items() if self._has(ref)}
        if refs and not found:
            raise NoOutput(f"the run of '{self.graph}' has no output: {self._why_not(next(iter(refs.values())).name)}")
        return found

    @overload
    def __getitem__(self, node: Handle[T]) -> T: ...
    @overload
    def __getitem__(self, node: str) -> Any: ...
    def __getitem__(self, node: str | Handle[Any]) -> Any:
        """The output of a node (by name, handle or path). Raises NoOutput with the reason, KeyError when unknown."""
        return self._value(node.ref if isinstance(node, Handle) else Ref(node))

    def __contains__(self, node: object) -> bool:
        return (node.name if isinstance(node, Handle) else node) in self.nodes

    @property
    def outcomes(self) -> Mapping[str, Outcome[Any]]:
        """How each node of the graph ended, by name, in the order in which they were added."""
        return {node.name: node.outcome for node in self.root.children}

    @property
    def errors(self) -> dict[str, BaseException]:
        """path → exception of the failures that nothing handled, in order."""
        found = {path: self._choice_errors.get(path) or self.nodes[path].error for path in self.unhandled}
        return {path: error for path, error in found.items() if error is not None}

    @property
    def gates(self) -> tuple[OpenGate, ...]:
        """What people are asked and have not answered yet, in order."""
        waiting = (node.gate for node in self.root.walk() if node.gate and node.status is Status.WAITING)
        return tuple(gate for gate in waiting if gate.answer is MISSING)

    @property
    def usage(self) -> Usage:
        """What the whole run used."""
        return self.root.usage

    @property
    def duration(self) -> float | None:
        """Seconds from start to end."""
        return self.root.duration

    def explain(self, node: str | Handle[Any]) -> str:
        """Why a node ended as it did: the chain of causes, in words, one line each."""
        found: NodeRun | None = self._node(node.name if isinstance(node, Handle) else node)
        lines, seen = [], set[str]()
        while found is not None and found.path not in seen:
            seen.add(found.path)
            why = f": {found.reason}" if found.reason else ""
            chose = f", it chose {found.chosen}" if found.chosen else ""
            lines.append(f"'{found.path}' {_VERBS.get(found.status, str(found.status))}{why}{chose}")
            prefix = found.path[: -len(found.name)] if found.path.endswith(found.name) else ""
            found = self.nodes.get(prefix + found.reason.node) if found.reason and found.reason.node else None
        if len(lines) > _EXPLAINED:
            lines[_EXPLAINED - 2 : -1] = [f"… and so on through {len(lines) - _EXPLAINED + 1} more nodes"]
        return "\n".join(f"{'  ' * depth}{line}" for depth, line in enumerate(lines))

    def __str__(self) -> str:
        """A short text tree."""
        return "\n".join(_line(node, depth) for node, depth in self.root.levels())

    def __repr__(self) -> str:
        return f"<Run {self.id} of {self.graph}: {self.status}>"

    def _repr_svg_(self) -> str | None:
        """Show the run in a notebook."""
        import sys

        draw = getattr(sys.modules.get("flowgraph"), "draw", None)
        return None if draw is None else str(draw(self))

    def _node(self, name: str) -> NodeRun:
        try:
            return self.nodes[name]
        except KeyError:
            known = ", ".join(f"'{node.name}'" for node in self.root.children[:12])
            raise KeyError(f"no node '{name}' in the run of '{self.graph}': there are {known}") from None

    def _has(self, ref: Ref) -> bool:
        node = self.nodes.get(ref.name)
        return ref.name in self.inputs if node is None else node.value is not MISSING

    def _value(self, ref: Ref) -> Any:
        if ref.name in self.inputs and ref.name not in self.nodes:
            value = self.inputs[ref.name]
        else:
            value = self._node(ref.name).value
        if value is MISSING:
            raise NoOutput(f"'{ref.name}' has no output: {self._why_not(ref.name)}")
        for key in ref.keys:
            try:
                value = part(value, key)
            except (LookupError, AttributeError, TypeError) as error:
                raise NoOutput(f"'{ref}' is not there: {error.args[0] if error.args else error}") from None
        return value

    def _why_not(self, name: str) -> str:
        node = self._node(name)
        return f"it is {node.status}" if node.reason is None else f"{node.status}, {node.reason}"

    # -- folding

    def apply(self, event: ev.Lasting) -> None:
        """Take the next lasting event in."""
        self.events.append(event)
        _FOLD[type(event)](self, event)

    def add(self, parent: NodeRun, path: str, name: str, kind: str, title: str) -> NodeRun:
        """A new node run below `parent`."""
        node = NodeRun(path, name, kind, title, parent)
        parent.children.append(node)
        self.nodes[path] = node
        return node

    def _run_started(self, event: ev.RunStarted) -> None:
        self.id, self.inputs = event.run_id, event.inputs
        self.forked_from, self.target = event.forked_from, event.target
        self.root.status, self.root.started = Status.RUNNING, event.at
        self._lay_out(self.root, event.nodes)

    def _run_resumed(self, event: ev.RunResumed) -> None:
        self.root.status, self.root.ended, self.root.reason = Status.RUNNING, None, None
        self.unhandled = ()
        self._choice_errors.clear()  # every choice is asked again
        if event.nodes:
            self._lay_out(self.root, event.nodes)
        if event.spec is not None:
            self._spec, self._outputs = read_document(event.spec)

    def _run_paused(self, event: ev.RunPaused) -> None:
        self.root.status = Status.PAUSED

    def _graph_started(self, event: ev.GraphStarted) -> None:
        self._lay_out(self.nodes[event.path], event.nodes)
        self.nodes[event.path].edges = event.edges

    def _lay_out(self, parent: NodeRun, nodes: ev.Outline) -> None:
        """A node run for each node of a graph that begins. What a resumed graph has of them already stays."""
        prefix, known = f"{parent.path}/" if parent.path else "", {node.name: node for node in parent.children}
        parent.children = []
        for name, kind, title in nodes:
            if name in known:
                parent.children.append(known[name])
            else:
                self.add(parent, prefix + name, name, kind, title)

    def _run_finished(self, event: ev.RunFinished) -> None:
        self.root.status, self.root.ended, self.root.reason = event.status, event.at, event.reason
        self.unhandled = event.unhandled

    def _node_started(self, event: ev.NodeStarted) -> None:
        node = self.nodes[event.path]
        asks = event.continued and node.gate is not None and node.gate.answer is MISSING
        node.status, node.attempt, node.ended = Status.WAITING if asks else Status.RUNNING, event.attempt, None
        if not event.continued:
            node.due, node.gate, node.causes = None, None, ()
        node.reason = node.error = None
        if node.parent is not None and node.path in node.parent.causes:  # called again: it is no cause any more
            node.parent.causes = tuple(path for path in node.parent.causes if path != node.path)
        if node.started is None:
            node.started = event.at
        if node.children and not event.continued:
            node.earlier += (node.children,)
            node.children = []

    def _node_retrying(self, event: ev.NodeRetrying) -> None:
        node = self.nodes[event.path]
        node.status, node.reason, node.error = Status.RETRYING, event.reason, event.error
        node.due, node.spent = event.at + event.delay, event.spent
        self._charge(node, event.usage)

    def _node_falling_back(self, event: ev.NodeFallingBack) -> None:
        node = self.nodes[event.path]
        node.reason, node.error, node.causes = event.reason, event.error, event.causes
        self._charge(node, event.usage)

    def _node_waiting(self, event: ev.NodeWaiting) -> None:
        node = self.nodes[event.path]
        node.status, node.due = Status.WAITING, event.due

    def _spawned(self, event: ev.Spawned) -> None:
        parent, old = self.nodes.get(event.parent, self.root), self.nodes.get(event.path)
        node = NodeRun(event.path, event.path.rpartition("/")[2], event.kind, event.title, parent, inputs=event.inputs)
        self.nodes[event.path] = node
        if old is not None and old in parent.children:  # a resumed run called something else in its place
            parent.children[parent.children.index(old)] = node
        else:
            parent.children.append(node)

    def _decided(self, event: ev.Decided) -> None:
        if event.what == "choice":
            self.nodes[event.path].chosen = event.detail
        elif event.what == "choice_error":
            self._choice_errors[event.path] = ChoiceError(f"the choice of '{event.path}' failed: {event.detail}")

    def _gate_opened(self, event: ev.GateOpened) -> None:
        node = self.nodes[event.path]
        node.status = Status.WAITING
        node.gate = OpenGate(event.path, event.question, event.schema, event.at, event.due, event.has_default)

    def _gate_answered(self, event: ev.GateAnswered) -> None:
        node = self.nodes[event.path]
        if node.gate is not None:
            node.gate = replace(node.gate, answer=event.value)

    def _node_finished(self, event: ev.NodeFinished) -> None:
        node = self.nodes[event.path]
        node.status, node.reason, node.error = event.status, event.reason, event.error
        node.ended, node.causes, node.withheld = event.at, event.causes, event.withheld
        node.value = event.value if event.status is Status.SUCCEEDED else MISSING
        if event.detail:
            node.detail = event.detail
        self._charge(node, event.usage)

    def _charge(self, node: NodeRun | None, usage: Usage | None) -> None:
        """Count usage on every level, from a node run up to the run."""
        if usage:
            while node is not None:
                node.usage += usage
                node = node.parent


_FOLD: dict[type[ev.Lasting], Any] = {
    ev.RunStarted: Run._run_started,
    ev.RunResumed: Run._run_resumed,
    ev.RunPaused: Run._run_paused,
    ev.RunFinished: Run._run_finished,
    ev.GraphStarted: Run._graph_started,
    ev.NodeStarted: Run._node_started,
    ev.NodeRetrying: Run._node_retrying,
    ev.NodeFallingBack: Run._node_falling_back,
    ev.NodeWaiting: Run._node_waiting,
    ev.Spawned: Run._spawned,
    ev.Decided: Run._decided,
    ev.GateOpened: Run._gate_opened,
    ev.GateAnswered: Run._gate_answered,
    ev.NodeFinished: Run._node_finished,
}

GLYPHS = {
    Status.PENDING: "·",
    Status.RUNNING: "▶",
    Status.RETRYING: "↻",
    Status.WAITING: "…",
    Status.PAUSED: "‖",
    Status.SUCCEEDED: "✓",
    Status.FAILED: "✗",
    Status.TIMED_OUT: "◷",
    Status.SKIPPED: "○",
    Status.UPSTREAM_FAILED: "⊘",
    Status.CANCELLED: "■",
}
"""One sign a status, so that no reader depends on colour."""

_EXPLAINED = 20
"""How many links of a chain of causes are told: the first ones and the last."""

_VERBS = {Status.SKIPPED: "was skipped", Status.CANCELLED: "was cancelled", Status.UPSTREAM_FAILED: "could not run"}


def _line(node: NodeRun, depth: int) -> str:
    facts = [str(node.status)]
    if node.duration is not None and node.status in FINAL:
        facts.append(f"{node.duration:.2f} s")
    if node.attempt > 1:
        facts.append(f"attempt {node.attempt}")
    if node.usage.tokens:
        facts.append(f"{node.usage.tokens} tokens")
    if node.usage.cost is not None:
        facts.append(f"${node.usage.cost:.4f}")
    why = f": {node.reason}" if node.reason and node.status is not Status.SUCCEEDED else ""
    return f"{'  ' * depth}{GLYPHS[node.status]} {node.name}  {', '.join(facts)}{why}"
