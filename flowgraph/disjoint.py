"""Type hints compared by the values they admit: can one value fit both, what is a part's type, which labels are there.

The question is never "is this a subtype of that": an `int` may feed a `float`, a `str | None` may feed a `str` that is
checked when it arrives. A graph is refused only where two types have *no* value in common, for then every run fails.
"""

from __future__ import annotations

import dataclasses
import enum
import struct
import typing
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from typing_extensions import is_protocol, is_typeddict
from typing_inspection import typing_objects as ti
from typing_inspection.introspection import get_literal_values, is_union_origin

_DEPTH: Final = 5  # aliases may be recursive: what lies deeper is not compared
_BUILTINS: Final = (str, bytes, bytearray, int, float, complex, list, dict, tuple, set, frozenset)
_TOWER: Final[Mapping[type, tuple[type, ...]]] = {float: (float, int), complex: (complex, float, int)}
_METACLASSES: Final = ("builtins", "abc", "enum", "typing", "typing_extensions", "pydantic")
_BASETYPE, _POINTER = 1 << 10, struct.calcsize("P")  # CPython's flag "may be derived from"; bytes of a pointer


class _Shape(NamedTuple):
    """A class with its type arguments; a TypedDict is a dict, and `typed` is its class."""

    cls: type
    args: tuple[Any, ...] = ()
    typed: Any = None


class _Constant(NamedTuple):
    """One value of a Literal."""

    value: Any


class _Elements(NamedTuple):
    """What a container holds: one element per hint (`fixed`), or any number of the one hint."""

    hints: tuple[Any, ...]
    fixed: bool = False


_Alternative: TypeAlias = _Shape | _Constant


def disjoint(a: Any, b: Any) -> bool:
    """Whether no value can be of both types, so that wiring one to the other is surely a mistake. Symmetric.

    True is never a false alarm; what cannot be decided (TypeVar, Protocol, Any, unresolved names, classes that
    validate in their own way) is False. `int` fits `float` (PEP 484); unions and Optional fit when any member does;
    Literals and enums are compared by value; NewType, Annotated and type aliases count as what they wrap.

    Two readings of ours. Containers are compared by what they hold: `list[int]` and `list[str]` are disjoint although
    an empty list is both. And unrelated classes are disjoint only where no class can derive from both (final ones,
    enums, conflicting memory layouts) or, when one is a builtin such as `str`, where no loaded class does.
    """
    return _disjoint(a, b, 0)


def cases_of(hint: Any) -> tuple[Any, ...] | None:
    """Every value that a type admits when these can be listed (Literal, Enum, bool, None, unions), else None."""
    found: list[Any] = []
    for alternative in _alternatives(hint) or (_Shape(object),):
        if isinstance(alternative, _Constant):
            found.append(alternative.value)
        elif alternative.cls is bool:
            found += [True, False]
        elif alternative.cls is type(None):
            found.append(None)
        elif issubclass(alternative.cls, enum.Enum) and not issubclass(alternative.cls, enum.Flag):
            found += list(alternative.cls)
        else:
            return None
    return tuple(found)


def element_of(hint: Any) -> Any:
    """The type of the elements of a container type; Any when it is not known, or when they differ."""
    elements = _elements(shape) if (shape := _only_shape(hint)) else None
    return elements.hints[0] if elements and not elements.fixed else Any


def part_of(hint: Any, key: str | int) -> Any:
    """The type of `value[key]`, or of the field `key`, for a value of the type; Any when it is not known.

    Raises LookupError, which lists what there is, when a TypedDict, dataclass or pydantic model has no such part.
    """
    shape = _only_shape(hint)
    if shape is None:
        return Any
    owner = shape.typed or shape.cls
    if shape.typed or dataclasses.is_dataclass(owner) or hasattr(owner, "model_fields"):
        return _field(owner, key)
    if issubclass(shape.cls, Mapping):
        return shape.args[1] if len(shape.args) == 2 else Any
    elements = _elements(shape)
    if elements is None or not str(key).isdigit() or issubclass(shape.cls, str):
        return Any
    index = int(key) if elements.fixed else 0
    return elements.hints[index] if index < len(elements.hints) else Any


def _field(owner: Any, key: str | int) -> Any:
    try:
        if fields := getattr(owner, "model_fields", None):
            hints = {name: field.annotation for name, field in fields.items()}
        else:
            hints = typing.get_type_hints(owner, include_extras=True)
    except Exception:  # names that exist for type checkers only, or whatever else an annotation may raise
        return Any
    if key in hints:
        hint = hints[str(key)]
        return typing.get_args(hint)[0] if _is_qualified(typing.get_origin(hint)) else hint
    made_up = getattr(getattr(owner, "__getattr__", None), "__module__", "pydantic.main") != "pydantic.main"
    open_ = made_up or (getattr(owner, "model_config", None) or {}).get("extra") == "allow"
    if isinstance(key, int) or open_ or (hasattr(owner, key) and not is_typeddict(owner)):
        return Any  # a property, or something that the class makes up
    raise LookupError(f"{owner.__name__} has no field '{key}': it has {', '.join(hints) or 'none'}")


def _is_qualified(origin: Any) -> bool:
    return ti.is_required(origin) or ti.is_notrequired(origin) or ti.is_readonly(origin)


def _alternatives(hint: Any) -> list[_Alternative] | None:
    """The members of a hint, wrappers and unions taken off; None when it may be anything."""
    found: list[_Alternative] = []
    waiting, steps = [hint], 0
    while waiting:
        hint, steps = waiting.pop(), steps + 1
        origin = typing.get_origin(hint)
        if steps > 1000:  # an alias of itself
            return None
        if ti.is_annotated(origin) or _is_qualified(origin):
            waiting.append(typing.get_args(hint)[0])
        elif ti.is_newtype(hint):
            waiting.append(hint.__supertype__)
        elif ti.is_typealiastype(hint):
            waiting.append(_aliased(hint))
        elif is_union_origin(origin):
            waiting += reversed(typing.get_args(hint))
        elif ti.is_literal(origin):
            found += [_Constant(value) for value in get_literal_values(hint, unpack_type_aliases="eager")]
        elif (shape := _shape(type(None) if hint is None else hint, origin)) is not None:
            found.append(shape)
        else:
            return None
    return found


def _aliased(alias: Any) -> Any:
    try:
        return alias.__value__
    except Exception:  # evaluated only now, it may name what does not exist
        return Any


def _shape(hint: Any, origin: Any) -> _Shape | None:
    cls = hint if origin is None else origin
    if not isinstance(cls, type) or cls is object or cls is Any or is_protocol(cls):
        return None
    if is_typeddict(cls):
        return _Shape(dict, typed=cls)
    return _Shape(cls, typing.get_args(hint))


def _only_shape(hint: Any) -> _Shape | None:
    """The class of a hint that is one class, Optional or not."""
    found = [a for a in _alternatives(hint) or () if a != _Shape(type(None))]
    return found[0] if len(found) == 1 and isinstance(found[0], _Shape) else None


def _disjoint(a: Any, b: Any, depth: int) -> bool:
    if a is b or a is Any or b is Any or depth > _DEPTH:
        return False
    left, right = _alternatives(a), _alternatives(b)
    return bool(left and right) and all(_apart(x, y, depth) for x in left or () for y in right or ())


def _apart(x: _Alternative, y: _Alternative, depth: int) -> bool:
    if isinstance(y, _Constant):
        x, y = y, x  # a constant first, if there is one
    if isinstance(x, _Constant):
        return not _same(x.value, y.value) if isinstance(y, _Constant) else _not_of(x.value, y.cls)
    assert isinstance(y, _Shape)
    return _classes_apart(x.cls, y.cls) or _contents_apart(x, y, depth)


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) and (isinstance(a, type(b)) or isinstance(b, type(a)))


def _not_of(value: Any, cls: type) -> bool:
    """Whether a Literal's value is no instance of a class; nor equal to a member of a StrEnum, say."""
    if _opaque(cls) or any(_is_subclass(type(value), c) for c in _TOWER.get(cls, (cls,))):
        return False
    return not (issubclass(cls, enum.Enum) and any(_same(value, member) for member in cls))


def _contents_apart(x: _Shape, y: _Shape, depth: int) -> bool:
    if issubclass(x.cls, Mapping) and issubclass(y.cls, Mapping):
        return len(x.args) == len(y.args) == 2 and any(map(_disjoint, x.args, y.args, (depth + 1,) * 2))
    mine, theirs = _elements(x), _elements(y)
    if mine is None or theirs is None:
        return False
    length = max(len(mine.hints), len(theirs.hints))
    ours = [elements.hints if elements.fixed else elements.hints * length for elements in (mine, theirs)]
    return len(ours[0]) != len(ours[1]) or any(
        _disjoint(one, other, depth + 1) for one, other in zip(*ours, strict=True)
    )


def _elements(shape: _Shape) -> _Elements | None:
    """What a container of the standard library holds; None when nothing is known of it."""
    cls, args, _ = shape
    if cls is str:
        return _Elements((str,))
    if cls is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return _Elements(args[:1])
        unpacked = any(ti.is_unpack(typing.get_origin(hint)) or getattr(hint, "__unpacked__", 0) for hint in args)
        return _Elements(args, fixed=True) if args and not unpacked else None
    known = cls in (list, set, frozenset, deque, dict, defaultdict, OrderedDict) or cls.__module__ == "collections.abc"
    single = len(args) == 1 or (len(args) == 2 and issubclass(cls, Mapping))
    return _Elements(args[:1]) if single and known and issubclass(cls, Iterable) else None


def _classes_apart(a: type, b: type) -> bool:
    """Whether no object is an instance of both classes."""
    if _opaque(a) or _opaque(b):
        return False
    return all(_unrelated(x, y) for x in _TOWER.get(a, (a,)) for y in _TOWER.get(b, (b,)))


def _unrelated(a: type, b: type) -> bool:
    if _is_subclass(a, b) or _is_subclass(b, a):
        return False
    if _closed(a) or _closed(b):
        return True
    if not issubclass(_solid(a), _solid(b)) and not issubclass(_solid(b), _solid(a)):
        return True  # CPython: "instance lay-out conflict"
    return any(c in _BUILTINS and not _derive(c, d) for c, d in ((a, b), (b, a)))


def _opaque(cls: type) -> bool:
    """Whether instances are told by more than inheritance: protocols, hooks, pydantic's own kinds of field."""
    if type(cls).__module__.partition(".")[0] not in _METACLASSES:
        return True
    hooks = ("__get_pydantic_core_schema__", "__get_validators__")
    owners = [c for c in cls.__mro__ if not hasattr(c, "model_fields") or c.__module__ != "pydantic.main"]
    return any(hook in vars(owner) for owner in owners for hook in hooks)


def _closed(cls: type) -> bool:
    """Whether nothing can derive from the class."""
    if issubclass(cls, enum.Enum):
        return bool(cls.__members__)
    return bool(vars(cls).get("__final__")) or not cls.__flags__ & _BASETYPE


def _derive(builtin: type, cls: type) -> bool:
    """Whether some class that is loaded derives from both (virtually, for an abstract one)."""
    waiting, seen = [builtin], {builtin}
    while waiting:
        loaded: list[type] = type.__subclasses__(waiting.pop())
        derived = [c for c in loaded if c not in seen]
        if any(_is_subclass(c, cls) for c in derived):
            return True
        seen.update(derived)
        waiting += derived
    return False


def _solid(cls: type) -> type:
    """The base that lays out the instances: nothing derives from two classes whose solid bases are unrelated.

    As in CPython's `extra_ivars`, a `__dict__` and a list of weak references do not count as layout.
    """
    while (base := cls.__base__) is not None:
        size = cls.__basicsize__
        if not cls.__itemsize__:
            size -= _POINTER * (cls.__weakrefoffset__ > 0 and not base.__weakrefoffset__)
            size -= _POINTER * (cls.__dictoffset__ > 0 and not base.__dictoffset__)
        if size != base.__basicsize__ or cls.__itemsize__ != base.__itemsize__:
            break
        cls = base
    return cls


def _is_subclass(a: type, b: type) -> bool:
    try:
        return issubclass(a, b)
    except Exception:  # a `__subclasshook__` of the user's
        return True
