"""Graphs: nodes by name, the inputs they start from, choices between them, and what comes out.

A graph is data. Verbs live elsewhere: `fg.check(graph)`, `fg.run(graph, inputs)`, `fg.draw(graph, path)`. Running
never changes it, and one graph serves many runs at once. A graph is a node, too: its inputs are its parameters.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from .condition import Condition, When
from .entry import Choice, Entry, Input, Targets, reads_of, targets_of
from .errors import GraphError, Problem
from .handle import AsyncNodeFn, Handle, Name, NodeFn, Ref, names_of, ref_of, refs_of
from .map import MapNode, OnItemFailure
from .node import NAME, FunctionNode, Node, Parameter, as_node, refuse_unnamed
from .node import Kind as ParameterKind
from .outcome import MISSING
from .policy import Join, Limits, Policy, Retry, Seconds

if TYPE_CHECKING:
    from .context import Context

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Graph:
    """A workflow: `graph.input`, `@graph.node`, `graph.add`, `graph.map`, `graph.choose`, `graph.output`.

    name: an identifier. policy: defaults for the nodes' own settings. limits: what a run of the graph may take, alone
    or inside of another. max_concurrency: nodes of this graph at work at a time; of those that are ready the one that
    was added first begins. title: free text for drawings.
    """

    kind = "graph"

    def __init__(
        self,
        name: str,
        *,
        policy: Policy | None = None,
        limits: Limits | None = None,
        max_concurrency: int | None = None,
        title: str = "",
    ) -> None:
        if max_concurrency is not None and max_concurrency < 1:
            raise ValueError(f"max_concurrency must be at least 1, not {max_concurrency!r}")
        self.name = _checked_name(name, "a graph")
        self.limits = limits
        self.max_concurrency = max_concurrency
        self.title = title
        self.policy = policy or Policy()
        self.inputs: dict[str, Input] = {}
        self.entries: dict[str, Entry] = {}
        self.choices: list[Choice] = []
        self.outputs: dict[str, Ref] | Ref | None = None
        self.revision = 0
        self._asked = False
        self.compiled: tuple[int, Any] | None = None  # revision and plan: kept here by plan.py

    # -- building

    @overload
    def input(self, name: str, type: type[T], *, default: Any = ..., title: str = ...) -> Handle[T]: ...
    @overload
    def input(self, name: str, type: Any = ..., *, default: Any = ..., title: str = ...) -> Handle[Any]: ...
    def input(self, name: str, type: Any = Any, *, default: Any = MISSING, title: str = "") -> Handle[Any]:
        """Declare an input. Raises GraphError when the name is taken."""
        self._claim(name, "")
        self.inputs[name] = Input(name, type, default, title)
        return Handle(Ref(name))

    @overload
    def node(
        self, function: Callable[P, Coroutine[Any, Any, T]], /, *, name: str | None = ..., **options: Any
    ) -> AsyncNodeFn[P, T]: ...
    @overload
    def node(self, function: Callable[P, T], /, *, name: str | None = ..., **options: Any) -> NodeFn[P, T]: ...
    @overload
    def node(self, /, *, name: str | None = None, inline: bool = False, **options: Any) -> _Decorator: ...
    def node(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        inline: bool = False,
        **options: Any,
    ) -> Any:
        """Make a function a node: `@graph.node` or `@graph.node(retry=…, timeout=…)`, with the options of `add`.

        The node's name is the function's unless `name` is given. `inline=True` keeps a cheap sync function on the
        event loop instead of a worker thread.
        """
        if function is None:
            return _Decorator(self, name, inline, options)
        node = FunctionNode(function, inline=inline)
        handle = self.add(name or node.name, node, **options)
        return (AsyncNodeFn if node.is_async else NodeFn)(handle.ref, function, node)

    def add(
        self,
        name: str,
        node: Any,
        /,
        *,
        bind: Mapping[str, Name | Sequence[Name]] | None = None,
        values: Mapping[str, Any] | None = None,
        after: Name | Iterable[Name] = (),
        when: When | None = None,
        needs: Iterable[Name] | None = None,
        join: Join = Join.ALL,
        title: str = "",
        retry: Retry | None = None,
        timeout: Seconds | None = None,
        fallback: Any = MISSING,
        policy: Policy | None = None,
        version: str = "",
    ) -> Handle[Any]:
        """Add a node under a name.

        node: a function, an agent, a flow or a graph. bind: parameter → node or input (a list binds a list).
        values: parameter → constant. after: nodes that must end first. when: a condition, as a callable whose
        parameters are names or as a text. needs: at least one of these must have succeeded (default: any parent;
        `()`: none). join: when it starts. title: free text for drawings. retry, timeout (seconds), policy: how it is
        tried. fallback: a value, or a node, for when it failed. version: change it when the node's meaning changes.

        Raises GraphError when the name is taken, except by the same function, which is then replaced; TypeError for
        what cannot run, and for `*args`, `**kwargs` and positional-only parameters that bind= and values= do not name.
        """
        node = as_node(node)
        refuse_unnamed(node, f"node '{name}'", {*(bind or ()), *(values or ())})
        origin = _origin(node)
        self._claim(name, origin)
        own = Policy(retry=retry, timeout=timeout).over(policy or Policy())
        self.entries[name] = Entry(
            name=name,
            node=node,
            bind={key: refs_of(value) for key, value in (bind or {}).items()},
            values=dict(values or {}),
            after=names_of(after),
            when=None if when is None else Condition(when),
            needs=None if needs is None else names_of(needs),
            join=join,
            title=title or getattr(node, "title", "") or "",
            policy=own,
            fallback=fallback,
            version=version,
            origin=origin,
        )
        return Handle(Ref(name))

    def map(
        self,
        name: str,
        node: Any,
        /,
        *,
        each: Mapping[str, Name] | str,
        bind: Mapping[str, Name | Sequence[Name]] | None = None,
        max_concurrency: int | None = None,
        on_item_failure: OnItemFailure = "fail",
        retry: Retry | None = None,
        timeout: Seconds | None = None,
        **options: Any,
    ) -> Handle[list[Any]]:
        """Run a node once per item of a list; the output is the list of outputs, in the order of the items.

        each: parameter → the node or input that gives the list (several go in step and must be equally long); a
        single name stands for both. max_concurrency: items at a time. on_item_failure: "fail" (after the others are
        done), "keep" (a list of outcomes) or "drop". retry, timeout: per item. The rest as in `add`.
        """
        lists = {each: each} if isinstance(each, str) else dict(each)
        inner = as_node(node)
        item_policy = (
            Policy(retry=retry, timeout=timeout).over(options.pop("policy", None) or Policy()).over(self.policy)
        )
        mapped = MapNode(inner, tuple(lists), item_policy, max_concurrency, on_item_failure)
        return self.add(name, mapped, bind={**(bind or {}), **lists}, **options)

    def choose(self, on: Name, cases: Mapping[Any, Targets], /, *, default: Targets | Any = MISSING) -> None:
        """By the value of `on` (a node, or a part of its output), run some targets and skip the others.

        cases: label → a node, several, `[]` (straight on) or `fg.END` (the branch ends). Labels match by type and
        value. default: for every other label; without it such a label fails the run.
        """
        ref = ref_of(on)
        taken = tuple((label, targets_of(targets)) for label, targets in cases.items())
        self.choices.append(Choice(ref, taken, default if default is MISSING else targets_of(default)))
        self.revision += 1

    def output(self, *names: Name, **named: Name) -> None:
        """Say what the graph's output is: `output("answer")`, `output("a", "b")` or `output(text="draft")` (a dict)."""
        refs = [ref_of(name) for name in names]
        keys = [ref.name for ref in refs] + list(named)
        if not keys or len(set(keys)) < len(keys):
            raise ValueError("output() wants one node, or several under names of their own: output(x='a.x', y='a.y')")
        if len(refs) == 1 and not named:
            self.outputs = refs[0]
        else:
            self.outputs = dict(zip(keys, [*refs, *map(ref_of, named.values())], strict=True))
        self.revision += 1

    # -- as a node

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The inputs, as parameters."""
        return {
            i.name: Parameter(i.name, i.type)
            if i.default is MISSING
            else Parameter(i.name, i.type, ParameterKind.DEFAULT, i.default)
            for i in self.inputs.values()
        }

    @property
    def output_type(self) -> Any:
        """The output's type, where it is the whole output of one node; else a dict or Any."""
        outputs = self.outputs if self.outputs is not None else self.sinks()
        if isinstance(outputs, Ref):
            entry = self.entries.get(outputs.name)
            if entry is None or outputs.keys or self._asked:
                return Any
            self._asked = True  # a graph that contains itself, which a check reports, asks itself
            try:
                return entry.node.output_type
            finally:
                self._asked = False
        return dict[str, Any]

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Any:
        """Run the graph in place: its nodes become children of the calling node run."""
        return await ctx.run_graph(self, inputs)

    def sinks(self) -> Ref | dict[str, Ref]:
        """The nodes that nobody reads: the only one, or all of them by name."""
        read = {ref.name for entry in self.entries.values() for ref in reads_of(entry)}
        read |= {name for entry in self.entries.values() for name in entry.after}
        read |= {choice.on.name for choice in self.choices if choice.targets}
        names = [name for name in self.entries if name not in read]
        return Ref(names[0]) if len(names) == 1 else {name: Ref(name) for name in names}

    def __repr__(self) -> str:
        return f"<Graph {self.name}: inputs {list(self.inputs)}, {len(self.entries)} nodes>"

    def _repr_svg_(self) -> str | None:
        """Show the graph in a notebook."""
        draw = getattr(sys.modules.get("flowgraph"), "draw", None)
        return None if draw is None else str(draw(self))

    def _claim(self, name: str, origin: str) -> None:
        """Make sure that a name is free, or is defined again by the same function (a notebook cell run twice)."""
        _checked_name(name, f"in graph '{self.name}', a node or input")
        old = self.entries.get(name)
        if name in self.inputs or (old is not None and not (origin and old.origin == origin)):
            what = "an input" if name in self.inputs else "a node"
            raise GraphError(self.name, [Problem(name, f"the name is taken by {what} already: choose another")])
        self.revision += 1


class _Decorator:
    """What `@graph.node(...)` with options gives."""

    __slots__ = ("_graph", "_inline", "_name", "_options")

    def __init__(self, graph: Graph, name: str | None, inline: bool, options: dict[str, Any]) -> None:
        self._graph, self._name, self._inline, self._options = graph, name, inline, options

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, T]], /) -> AsyncNodeFn[P, T]: ...  # type: ignore[overload-overlap]  # a coroutine is a T, too
    @overload
    def __call__(self, function: Callable[P, T], /) -> NodeFn[P, T]: ...
    def __call__(self, function: Callable[..., Any], /) -> Any:
        node = FunctionNode(function, inline=self._inline)
        handle = self._graph.add(self._name or node.name, node, **self._options)
        return (AsyncNodeFn if node.is_async else NodeFn)(handle.ref, function, node)


def _checked_name(name: str, what: str) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(
            f"{what} cannot be named {name!r}: use letters, digits, _ and - (not first); free text goes into title="
        )
    return name


def _origin(node: Node) -> str:
    """Where a function was defined, to tell a notebook cell that is run again from a clash of names.

    Nothing for lambdas. Functions that close over different things are different functions.
    """
    function = getattr(node, "function", None)
    name = getattr(function, "__qualname__", "")
    if not name or "<lambda>" in name:
        return ""
    cells = [id(cell.cell_contents) for cell in getattr(function, "__closure__", None) or () if _is_filled(cell)]
    return f"{getattr(function, '__module__', '')}:{name}:{cells}"


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # not assigned yet
        return False
