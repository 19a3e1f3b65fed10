"""Handles: what stands for a node or an input of a graph before it runs, and the references that they hold."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

from .node import Node

P = ParamSpec("P")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Ref:
    """What a parameter is bound to: a node or input, and the part of its value (`draft["title"]`)."""

    name: str
    keys: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        return self.name + "".join(f"[{key!r}]" for key in self.keys)


class Handle(Generic[T_co]):
    """Stands for a node or an input of a graph wherever a name may stand; `handle["key"]` is a part of its value."""

    __slots__ = ("__name__", "ref")

    def __init__(self, ref: Ref) -> None:
        self.ref = ref
        self.__name__ = ref.name

    @property
    def name(self) -> str:
        """The name in the graph."""
        return self.ref.name

    def __getitem__(self, key: str | int) -> Handle[Any]:
        return Handle(Ref(self.ref.name, (*self.ref.keys, key)))

    def __iter__(self) -> Any:
        raise TypeError(f"the handle of '{self.ref}' is not a list: its value exists only in a run")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.ref}>"


class _Callable(Handle[T_co]):
    __slots__ = ("__wrapped__", "flowgraph_node")

    def __init__(self, ref: Ref, function: Callable[..., Any], node: Node) -> None:
        super().__init__(ref)
        self.__wrapped__ = function
        self.flowgraph_node = node


class NodeFn(_Callable[T_co], Generic[P, T_co]):
    """The handle of a function that was made a node with `@graph.node`: still callable."""

    __slots__ = ()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T_co:
        value: T_co = self.__wrapped__(*args, **kwargs)
        return value


class AsyncNodeFn(_Callable[T_co], Generic[P, T_co]):
    """The same for an async function."""

    __slots__ = ()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T_co]:
        coroutine: Coroutine[Any, Any, T_co] = self.__wrapped__(*args, **kwargs)
        return coroutine


Name: TypeAlias = str | Handle[Any]


def ref_of(name: Name) -> Ref:
    """The reference behind a handle, or a text such as "draft" or "draft.title"."""
    if isinstance(name, Handle):
        return name.ref
    if not isinstance(name, str):
        raise TypeError(f"a node or input is given by name or handle, not by {name!r}")
    first, *keys = name.split(".")
    return Ref(first, tuple(keys))


def refs_of(names: Name | Sequence[Name]) -> Ref | tuple[Ref, ...]:
    """One reference, or several for a list."""
    if isinstance(names, str | Handle):
        return ref_of(names)
    return tuple(ref_of(name) for name in names)


def names_of(names: Name | Iterable[Name]) -> tuple[str, ...]:
    """The names of one node or several."""
    if isinstance(names, str | Handle):
        names = (names,)
    return tuple(ref_of(name).name for name in names)
