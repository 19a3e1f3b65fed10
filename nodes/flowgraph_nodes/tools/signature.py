"""Reading a callable: its name, its docs and the parameters that a model has to fill in."""

from __future__ import annotations

import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Union, get_args, get_origin

import docstring_parser

from flowgraph.outcome import MISSING
from flowgraph_nodes.errors import ToolDefinitionError
from flowgraph_nodes.tools.context import ToolContext

_CONTEXT_HINT: Final = re.compile(r"(^|[\s.\[|\"'])ToolContext\b")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter for the model: `default` is MISSING when it is required."""

    name: str
    hint: Any
    default: Any = MISSING
    description: str = ""
    positional: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """What a callable asks for. context: its parameter for the `ToolContext`; open: it takes `**kwargs`."""

    parameters: tuple[Parameter, ...]
    context: str | None
    open: bool


@dataclass(frozen=True, slots=True)
class Doc:
    """A docstring taken apart: what the callable does, and what each parameter means."""

    description: str
    parameters: Mapping[str, str]


def name_of(target: Callable[..., Any]) -> str:
    """The callable's own name; that of its class for an object."""
    plain = _plain(target)
    return str(getattr(plain, "__name__", type(plain).__name__))


def doc_of(target: Callable[..., Any]) -> Doc:
    """Its docstring, in Google, NumPy, reST or Epydoc style, or free text."""
    plain = _plain(target)
    text = inspect.cleandoc(plain.__doc__ or "") if isinstance(plain, type) else inspect.getdoc(plain) or ""
    if not isinstance(plain, type) and not inspect.isroutine(plain):
        text = inspect.getdoc(type(plain).__call__) or text
    try:
        parsed = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return Doc(text, {})
    description = "\n\n".join(filter(None, (parsed.short_description, parsed.long_description)))
    return Doc(description, {p.arg_name.lstrip("*"): p.description or "" for p in parsed.params})


def signature_of(target: Callable[..., Any], name: str) -> Signature:
    """Read a callable's parameters.

    Raises:
        ToolDefinitionError: it is a generator, has no signature, or an annotation cannot be resolved.
    """
    if inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        raise ToolDefinitionError(f"tool '{name}' is a generator function; return a list instead")
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        raise ToolDefinitionError(f"tool '{name}' has no readable signature; wrap it in a def") from None
    first = next(iter(signature.parameters.values()), None)
    if first is not None and first.name in ("self", "cls") and first.annotation is first.empty:
        raise ToolDefinitionError(f"tool '{name}' is an unbound method; make a tool of the bound one instead")
    fixed = target.keywords if isinstance(target, functools.partial) else {}
    scope, docs = _scope_of(target), doc_of(target).parameters
    parameters: list[Parameter] = []
    context: str | None = None
    for item in signature.parameters.values():
        if item.name in fixed or item.kind in (item.VAR_POSITIONAL, item.VAR_KEYWORD):
            continue
        if context is None and _wants_context(item, scope):
            if item.kind is item.POSITIONAL_ONLY:
                raise ToolDefinitionError(f"tool '{name}': '{item.name}' must not be positional-only")
            context = item.name
            continue
        default = MISSING if item.default is item.empty else item.default
        hint = _resolved(item, scope, name)
        positional = item.kind is item.POSITIONAL_ONLY
        parameters.append(Parameter(item.name, hint, default, docs.get(item.name, ""), positional))
    is_open = any(item.kind is item.VAR_KEYWORD for item in signature.parameters.values())
    return Signature(tuple(parameters), context, is_open)


def context_of(target: Callable[..., Any]) -> str | None:
    """The name of the parameter for the `ToolContext`, if there is one."""
    try:
        items = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return None
    scope = _scope_of(target)
    return next((item.name for item in items if _wants_context(item, scope)), None)


def _plain(target: Callable[..., Any]) -> Any:
    while isinstance(target, functools.partial):
        target = target.func
    return target


def _scope_of(target: Callable[..., Any]) -> dict[str, Any]:
    """The names that the annotations may use: of its module, of the function that defines it, in its closure."""
    plain = _plain(target)
    if not inspect.isroutine(plain):
        plain = vars(plain).get("__init__", plain) if isinstance(plain, type) else type(plain).__call__
    function = inspect.unwrap(getattr(plain, "__func__", plain))
    if not isinstance(function, types.FunctionType):
        return {}
    scope = {**function.__globals__, **_definer(function)}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            scope[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return scope


def _definer(function: types.FunctionType) -> Mapping[str, Any]:
    """The local names of the function that defines this one, while it runs: its local classes, say."""
    outer, nested, _ = function.__qualname__.rpartition(".<locals>.")
    frame = inspect.currentframe() if nested else None
    while frame is not None:
        if frame.f_code.co_qualname == outer and frame.f_globals is function.__globals__:
            return frame.f_locals
        frame = frame.f_back
    return {}


def _evaluated(annotation: Any, scope: Mapping[str, Any]) -> Any:
    holder = type("holder", (), {"__annotations__": {"it": annotation}})
    return typing.get_type_hints(holder, dict(scope), {}, include_extras=True)["it"]


def _resolved(item: inspect.Parameter, scope: Mapping[str, Any], name: str) -> Any:
    if item.annotation is item.empty:
        return Any
    try:
        return _evaluated(item.annotation, scope)
    except Exception as error:
        raise ToolDefinitionError(
            f"tool '{name}': the annotation {item.annotation!r} of parameter '{item.name}' cannot be resolved "
            f"({error}); import its types at run time, not only under TYPE_CHECKING"
        ) from error


def _wants_context(item: inspect.Parameter, scope: Mapping[str, Any]) -> bool:
    if item.annotation is item.empty:
        return item.name == "ctx"
    try:
        hint = _evaluated(item.annotation, scope)
    except Exception:  # the class may be imported for type checking only: its name will do
        return isinstance(item.annotation, str) and _CONTEXT_HINT.search(item.annotation) is not None
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return any(isinstance(member, type) and issubclass(member, ToolContext) for member in members)
