"""Errors as plain JSON, and back: by class where the class is to be had, never by pickle and never by an import."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from flowgraph.errors import NotStorable, RecordedError, words_of

from .attributes import tagged, untagged
from .classes import class_named, name_of

_DEEPEST: Final = 5
"""How many errors below one another are kept: causes, members of groups, errors that errors hold."""

_MEMBERS: Final[dict[type, tuple[str, ...]]] = {
    ImportError: ("name", "path"),
    NameError: ("name",),
    AttributeError: ("name",),
}
"""What builtin errors know beside their arguments and attributes."""


def encode_error(error: BaseException) -> dict[str, Any]:
    """The error as plain JSON: class, text, notes, arguments, attributes, causes. Never raises.

    What cannot be stored of it, and whatever holds a secret, is left out: attributes are None then.
    """
    return _written(error, _DEEPEST)


def decode_error(row: dict[str, Any]) -> BaseException:
    """The error that `encode_error` wrote, so that `except` clauses and readers see the same as in its process.

    Its class is looked up among the modules that are loaded, and its `__init__` is not called. A RecordedError stands
    for an error whose class is not to be had, is no Exception, or cannot be rebuilt so that it says the same. Never
    raises.
    """
    kind, text = str(row.get("class", "")), str(row.get("text", ""))
    error: BaseException | None = _rebuilt(row)
    if error is None or words_of(error) != text:
        error = RecordedError(kind.rpartition(":")[2].rpartition(".")[2], text)
    for note in row.get("notes", ()):
        error.add_note(str(note))
    if isinstance(cause := row.get("cause"), dict):
        error.__cause__ = decode_error(cause)
    return error


def _written(error: BaseException, depth: int) -> dict[str, Any]:
    kind = type(error)
    row: dict[str, Any] = {"class": name_of(kind), "text": words_of(error)}
    if notes := [note for note in getattr(error, "__notes__", ()) if isinstance(note, str)]:
        row["notes"] = notes
    if depth and error.__cause__ is not None:
        row["cause"] = _written(error.__cause__, depth - 1)
    if class_named(row["class"]) is not kind:
        return row
    found = row | _contents(error, depth, private=False)
    if words_of(_rebuilt(found) or RecordedError("", "")) != row["text"]:  # its text needs more
        found = row | _contents(error, depth, private=True)
    return found


def _contents(error: BaseException, depth: int, *, private: bool) -> dict[str, Any]:
    """What makes an error the one that it is. private: with the attributes that begin with an underscore."""

    def kept(value: Any) -> Any:
        return tagged(value, lambda inner: _nested(inner, depth))

    contents: dict[str, Any] = {}
    attributes, lost = dict[str, Any](), list[str]()
    with suppress(NotStorable):  # its text stands for them
        contents["args"] = kept(_arguments(error))
    for name, value in _attributes(error):
        if private or not name.startswith("_"):
            try:
                attributes[name] = kept(value)
            except NotStorable:
                lost.append(name)
    if attributes:
        contents["attributes"] = attributes
    if lost:
        contents["lost"] = lost
    return contents


def _nested(error: BaseException, depth: int) -> dict[str, Any]:
    if not depth:
        raise NotStorable("an error holds too many below one another")
    return _written(error, depth - 1)


def _arguments(error: BaseException) -> tuple[Any, ...]:
    """What the builtin class below it was made with."""
    if isinstance(error, OSError):  # its args lack the file names
        reduced = OSError.__reduce__(error)
        assert isinstance(reduced, tuple)
        return tuple(reduced[1])
    return error.args


def _attributes(error: BaseException) -> Iterator[tuple[str, Any]]:
    yield from ((name, value) for name, value in vars(error).items() if name != "__notes__")
    for kind, names in _MEMBERS.items():
        if isinstance(error, kind):
            yield from ((name, getattr(error, name)) for name in names)


def _rebuilt(row: dict[str, Any]) -> Exception | None:
    """The error by its class; None when that is not to be had or will not take what was kept."""
    kind = class_named(str(row.get("class", "")))
    if kind is None or not issubclass(kind, Exception):
        return None
    try:
        args = untagged(row["args"], decode_error) if "args" in row else (row["text"],)
        builtin: Any = kind  # the class that lays out its memory: the constructors above it are a user's
        while builtin.__module__ != "builtins":
            builtin = builtin.__base__
        error: Exception = builtin.__new__(kind, *args)
        builtin.__init__(error, *args)
        for name in row.get("lost", ()):
            _set(error, name, None)
        for name, value in row.get("attributes", {}).items():
            _set(error, name, untagged(value, decode_error))
    except Exception:
        return None
    return error


def _set(error: Exception, name: str, value: Any) -> None:
    if any(name in names and isinstance(error, kind) for kind, names in _MEMBERS.items()):
        setattr(error, name, value)
    else:
        vars(error)[name] = value  # past properties and __setattr__ of a user
