"""Answers of a declared type: asked for by a tool that the model calls last, read and validated here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from flowgraph.fits import adapter_for, describe, details
from flowgraph_nodes.errors import ArgumentsError
from flowgraph_nodes.tools import Stop, Tool
from flowgraph_nodes.tools.arguments import Arguments

FINAL_TOOL: Final = "final_answer"
_FENCED: Final = re.compile(r"```[\w-]*\s*\n(?P<body>.*?)\n?```", re.DOTALL)
_WRAP: Final = "answer"


class Output:
    """A type of answer. Types that are no JSON object (a list, a number …) travel as `{"answer": …}`.

    Raises TypeError when the type has no JSON schema.
    """

    def __init__(self, type_: Any) -> None:
        self.type = type_
        self._adapter = adapter_for(type_)
        try:
            schema: dict[str, Any] = self._adapter.json_schema()
        except Exception as error:
            raise TypeError(f"output_type {describe(type_)} has no JSON schema: {error}") from error
        target = schema
        if "$ref" in schema:
            target = schema.get("$defs", {}).get(str(schema["$ref"]).rpartition("/")[2], {})
        self.wrapped = target.get("type") != "object" or "properties" not in target
        self.schema = self._wrapped(schema) if self.wrapped else _inlined(schema, target)

    @property
    def tool(self) -> Tool:
        """The tool that the model calls with its answer; it stops the run."""
        return Tool(
            name=FINAL_TOOL,
            description="Give your final answer. Call it once, when you are done.",
            parameters=self.schema,
            target=_stop,
            read=self._read_arguments,
        )

    def read(self, data: Any) -> Any:
        """The value for data that came as JSON, wrapped where the type is.

        Raises:
            ArgumentsError: it does not fit; one line per field.
        """
        if self.wrapped:
            if not isinstance(data, Mapping) or set(data) != {_WRAP}:
                raise ArgumentsError(f"the answer must be an object with the one key '{_WRAP}'")
            data = data[_WRAP]
        try:
            return self._adapter.validate_json(json.dumps(data))
        except ValidationError as error:
            raise ArgumentsError(f"the answer is not valid{details(error)}") from None

    def value(self, payload: Any) -> Any:
        """The value for what a tool stopped the run with: one of the type, or plain data.

        Raises:
            ArgumentsError: it does not fit.
        """
        try:
            return self._adapter.validate_python(payload)
        except ValidationError as error:
            raise ArgumentsError(f"that is no {describe(self.type)}{details(error)}") from None

    def read_text(self, text: str) -> Any:
        """The value for an answer that came as text: JSON, also in a code fence, also without the wrapping.

        Raises:
            ArgumentsError: it is JSON that does not fit. ValueError: it is no JSON.
        """
        data = json_in(text)
        if self.wrapped and not (isinstance(data, Mapping) and set(data) == {_WRAP}):
            data = {_WRAP: data}
        return self.read(data)

    def _read_arguments(self, given: dict[str, Any]) -> Arguments:
        self.read(given)
        return Arguments((given,))

    @staticmethod
    def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
        inner = {key: value for key, value in schema.items() if key != "$defs"}
        outer: dict[str, Any] = {"type": "object", "properties": {_WRAP: inner}, "required": [_WRAP]}
        return {**outer, "$defs": schema["$defs"]} if "$defs" in schema else outer


def json_in(text: str) -> Any:
    """The JSON value that a text is, or that stands in its only code fence. Raises ValueError when there is none."""
    fenced = _FENCED.findall(text)
    return json.loads(fenced[0] if len(fenced) == 1 else text)


def _inlined(schema: dict[str, Any], target: dict[str, Any]) -> dict[str, Any]:
    """A schema whose root is an object and no reference, as tools need it."""
    return schema if schema is target else {**target, "$defs": schema["$defs"]}


async def _stop(given: dict[str, Any]) -> Stop:
    return Stop(given)
