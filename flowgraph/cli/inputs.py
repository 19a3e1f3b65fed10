"""Inputs from the command line: `--input name=value` and `--inputs file.json`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..graph import Graph


def gather_inputs(graph: Graph, pairs: Iterable[str], file: str | None) -> dict[str, Any]:
    """The inputs by name; single ones win over the file. Raises InputError for what cannot be read.

    A value is text where the graph declares text; elsewhere it is read as JSON when it is JSON.
    """
    inputs = _from_file(file) if file else {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise InputError(f"--input wants name=value, not {pair!r}")
        declared = graph.inputs.get(name.strip())
        inputs[name.strip()] = text if declared is not None and declared.type is str else _value(text)
    return inputs


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _from_file(file: str) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        found = json.loads(text)
    except OSError as error:
        raise InputError(f"--inputs {file}: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"--inputs {file} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"--inputs {file} holds a {type(found).__name__}, not an object of inputs by name")
    return found
