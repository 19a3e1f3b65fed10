"""Errors as plain JSON, and back: by class where the class is to be had, never by pickle and never by an import."""

from __future__ import annotations

from typing import Any


def encode_error(error: BaseException) -> dict[str, Any]:
    """The error as plain JSON: class, text, notes, arguments, attributes, causes. Never raises.

    What cannot be stored of it, and whatever holds a secret, is left out.
    """
    return {"kind": type(error).__qualname__}


def decode_error(row: dict[str, Any]) -> BaseException:
    """The error that `encode_error` wrote, so that `except` clauses and readers see the same as in its process.

    Its class is looked up among the modules that are loaded, and its `__init__` is not called. A RecordedError stands
    for an error whose class is not to be had, is no Exception, or cannot be rebuilt so that it says the same. Never
    raises.
    """
    raise NotImplementedError


class StoredError:
    """Marks a field that holds an error, so that pydantic can write and read it."""
