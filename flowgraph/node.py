"""Nodes: everything that runs. One call shape, so that functions, agents, flows and graphs nest freely.

A node is any object of the `Node` protocol; `as_node` also takes a function (sync or async), a partial, a bound
method or a callable object and wraps it as a `FunctionNode`.
"""

from __future__ import annotations

import functools
import inspect
import re
import typing
import warnings
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, Final, Protocol, get_args, get_origin, runtime_checkable

from .calling import by_name
from .context import Context
from .errors import InputError
from .outcome import MISSING, MaybeMarker, Outcome
from .sync_context import SyncContext, run_blocking

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class Kind(StrEnum):
    """How a parameter binds, and what happens when what it is bound to was skipped."""

    REQUIRED = "required"  # must bind; a skipped parent skips the node
    MAYBE = "maybe"  # must bind; None when skipped
    OUTCOME = "outcome"  # must bind; gets the outcome, whatever it is
    DEFAULT = "default"  # binds only when named; its default when skipped
    CONTEXT = "context"  # the context is injected


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a node: its name, the type of its value (Any when unknown) and its kind.

    only_named: why it binds only when `bind=` or `values=` names it: it is "positional-only", "*args" (which takes a
    list) or "**kwargs" (a dict); "" for all others.
    """

    name: str
    type: Any = Any
    kind: Kind = Kind.REQUIRED
    default: Any = MISSING
    only_named: str = ""


@runtime_checkable
class Node(Protocol):
    """What runs. `kind` is a word for drawings ("function", "agent", "graph", "map", "loop", …).

    A node may also have: `title` (free text), `inner` (a graph or node that it runs, for drawings and checks) and
    `problems()` (a list of texts: what is wrong with it, found without running it, such as a missing key).
    """

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Parameter]: ...
    @property
    def output_type(self) -> Any: ...
    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Any: ...


def as_node(thing: Any, *, inline: bool = False) -> Node:
    """`thing` itself when it is a node, else a FunctionNode around it. Raises TypeError when it cannot run."""
    if isinstance(thing, Node) and not isinstance(thing, type):
        return thing
    inner = getattr(thing, "flowgraph_node", None)
    if inner is not None and isinstance(inner, Node):
        return inner
    if callable(thing):
        return FunctionNode(thing, inline=inline)
    raise TypeError(f"{thing!r} cannot be a node: give a function, an agent, a flow or a graph")


class FunctionNode:
    """A function as a node. Async ones run on the loop, sync ones on a worker thread (`inline=True`: on the loop)."""

    kind = "function"

    def __init__(self, function: Callable[..., Any], *, inline: bool = False) -> None:
        self.function = function
        self.name = _name_of(function)
        plain = function.func if isinstance(function, functools.partial) else function
        _refuse_generators(plain, self.name)
        self.is_async = _is_async(plain)
        self.inline = inline
        self.parameters, self.output_type = signature_of(function)
        odd = any(parameter.only_named for parameter in self.parameters.values())
        self._by_name = by_name(function) if odd else function
        self._context = tuple(p.name for p in self.parameters.values() if p.kind is Kind.CONTEXT)
        self._blocking = tuple(name for name in self._context if self.parameters[name].type is SyncContext)
        if self._blocking and (self.is_async or inline):
            raise TypeError(f"'{self.name}' runs on the event loop, where a SyncContext would block: take a fg.Context")

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Any:
        """Call the function with the bound values; an awaitable that a sync function returns is awaited."""
        for name in self._context:
            inputs[name] = ctx
        if self.is_async:
            return await self._by_name(**inputs)
        if self.inline:
            value = self._by_name(**inputs)
        elif self._blocking:
            value = await run_blocking(ctx, self._by_name, inputs, self._blocking)
        else:
            value = await ctx.in_thread(self._by_name, **inputs)
        return await value if isinstance(value, Awaitable) else value

    def __repr__(self) -> str:
        return f"FunctionNode({self.name})"


def _name_of(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None) or type(function).__name__
    return name if name.isidentifier() else re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "function"


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _refuse_generators(function: Callable[..., Any], name: str) -> None:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"node '{name}' is a generator function: return a list, or use ctx.emit for a stream")


def signature_of(function: Callable[..., Any]) -> tuple[dict[str, Parameter], Any]:
    """The parameters and output type of a callable. Raises TypeError when it tells nothing of them."""
    name = _name_of(function)
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        raise TypeError(f"'{name}' has no signature that could be read: wrap it in a def") from None
    hints = _hints(function)
    parameters: dict[str, Parameter] = {}
    for parameter in signature.parameters.values():
        hint = hints.get(parameter.name, Any)
        if parameter.kind is parameter.VAR_POSITIONAL:
            several: Any = list if hint is Any else list[hint]  # type: ignore[valid-type]
            parameters[parameter.name] = Parameter(parameter.name, several, only_named="*args")
        elif parameter.kind is parameter.VAR_KEYWORD:
            parameters[parameter.name] = Parameter(parameter.name, _named_values(hint), only_named="**kwargs")
        else:
            found = _parameter(parameter, hint)
            alone = parameter.kind is parameter.POSITIONAL_ONLY and found.kind is not Kind.CONTEXT
            parameters[parameter.name] = replace(found, only_named="positional-only") if alone else found
    return parameters, _awaited(hints.get("return", Any))


def _named_values(hint: Any) -> Any:
    """The type of the dict that `**kwargs: hint` takes."""
    if get_origin(hint) is typing.Unpack:
        return get_args(hint)[0]
    return dict if hint is Any else dict[str, hint]


def refuse_unnamed(node: Node, where: str, named: Collection[str] = ()) -> None:
    """Raise TypeError when a parameter of the node binds only when it is named, and is not among `named`."""
    for parameter in node.parameters.values():
        if parameter.only_named and parameter.name not in named:
            what = f"parameter '{parameter.name}' of '{node.name}' is {parameter.only_named}"
            raise TypeError(f"{where}: {what}, and binds to nothing by itself: name it in bind= or values=")


def _awaited(hint: Any) -> Any:
    """What comes of it: an awaitable that a sync function returns is awaited."""
    if isinstance(origin := get_origin(hint) or hint, type) and issubclass(origin, Awaitable):
        return get_args(hint)[-1] if get_args(hint) else Any
    return hint


def _parameter(parameter: inspect.Parameter, hint: Any) -> Parameter:
    default = MISSING if parameter.default is parameter.empty else parameter.default
    if hint in (Context, SyncContext) or get_origin(hint) in (Context, SyncContext):
        return Parameter(parameter.name, get_origin(hint) or hint, Kind.CONTEXT)
    if hint is Outcome or get_origin(hint) is Outcome:
        inner = get_args(hint)
        return Parameter(parameter.name, inner[0] if inner else Any, Kind.OUTCOME)
    if get_origin(hint) is Annotated and any(isinstance(m, MaybeMarker) for m in hint.__metadata__):
        return Parameter(parameter.name, get_args(hint)[0], Kind.MAYBE)
    if default is not MISSING:
        return Parameter(parameter.name, hint, Kind.DEFAULT, default)
    return Parameter(parameter.name, hint)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations, resolved one by one: one that cannot be resolved counts as Any, with a warning."""
    plain: Any = function
    while isinstance(plain, functools.partial):
        plain = plain.func
    if not inspect.isroutine(plain) and not isinstance(plain, type):
        plain = type(plain).__call__
    if isinstance(plain, type):
        owner, annotations = plain, getattr(plain.__dict__.get("__init__"), "__annotations__", None)
        scope = vars(inspect.getmodule(plain) or typing)
        annotations = {**(annotations or inspect.get_annotations(owner)), "return": owner}
    else:
        plain = inspect.unwrap(plain)
        annotations = getattr(plain, "__annotations__", {})
        scope = _scope_of(plain)
    return {name: _resolved(hint, scope, f"'{name}' of '{_name_of(function)}'") for name, hint in annotations.items()}


def _scope_of(function: Any) -> dict[str, Any]:
    """The names that a function's annotations may use: its module's, and those it closes over."""
    function = getattr(function, "__func__", function)
    scope = dict(getattr(function, "__globals__", {}))
    cells = getattr(function, "__closure__", None) or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True) if cells else ():
        try:
            scope[name] = cell.cell_contents
        except ValueError:
            continue  # not assigned yet
    return scope


def _resolved(hint: Any, scope: Mapping[str, Any], what: str) -> Any:
    holder = type("holder", (), {"__annotations__": {"it": hint}})
    try:
        return typing.get_type_hints(holder, dict(scope), {}, include_extras=True)["it"]
    except Exception as error:
        warnings.warn(f"the annotation of {what} cannot be resolved and counts as Any: {error}", stacklevel=2)
        return Any


def checked_inputs(node: Node, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs for calling `node` directly: names checked, defaults left to the node. Raises InputError."""
    parameters = {name: p for name, p in node.parameters.items() if p.kind is not Kind.CONTEXT}
    if unknown := [name for name in inputs if name not in parameters]:
        raise InputError(f"'{node.name}' has no parameter '{unknown[0]}': it takes {_listed(parameters)}")
    given = dict(inputs)
    for name, parameter in parameters.items():
        if name in given or parameter.kind is Kind.DEFAULT:
            continue
        if parameter.kind is not Kind.MAYBE:
            raise InputError(f"'{node.name}' needs a value for '{name}': it takes {_listed(parameters)}")
        given[name] = None
    return given


def _listed(parameters: Mapping[str, Parameter]) -> str:
    return ", ".join(f"'{name}'" for name in parameters) or "none"
