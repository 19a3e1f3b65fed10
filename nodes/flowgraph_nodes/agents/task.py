"""What an agent is asked: its prompt, and the parameters that it binds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from flowgraph.context import Context
from flowgraph.errors import InputError, brief
from flowgraph.node import FunctionNode, Kind, Parameter
from flowgraph.prompts import Prompt, as_text

PromptLike: TypeAlias = str | Path | Callable[..., Any]
"""A template, a file that holds one, or a function whose parameters bind like a node's."""


class Task(Protocol):
    """Makes the first message of a run out of an agent's inputs."""

    @property
    def parameters(self) -> Mapping[str, Parameter]: ...
    async def text(self, ctx: Context[Any], inputs: dict[str, Any]) -> str: ...


class PlainTask:
    """No prompt: the one parameter `task` is what is asked."""

    parameters: Mapping[str, Parameter] = {"task": Parameter("task", str)}

    async def text(self, ctx: Context[Any], inputs: dict[str, Any]) -> str:
        """The task as it is."""
        return written(inputs["task"], "the task")


class TemplateTask:
    """A template: its placeholders are the parameters, `{name?}` may be absent."""

    def __init__(self, template: str | Path) -> None:
        self._prompt = Prompt(template)
        self.parameters: Mapping[str, Parameter] = {
            item.name: Parameter(item.name, Any, Kind.MAYBE if item.maybe else Kind.REQUIRED)
            for item in self._prompt.placeholders
        }

    async def text(self, ctx: Context[Any], inputs: dict[str, Any]) -> str:
        """The template, filled in."""
        absent = {name: None for name, item in self.parameters.items() if item.kind is Kind.MAYBE}
        return rendered(self._prompt, absent | inputs)


class FunctionTask:
    """A function, sync or async: what it returns is what is asked."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._node = FunctionNode(function)
        self.parameters: Mapping[str, Parameter] = self._node.parameters

    async def text(self, ctx: Context[Any], inputs: dict[str, Any]) -> str:
        """Call the function."""
        return written(await self._node.call(ctx, dict(inputs)), "what the prompt function gave")


def rendered(prompt: Prompt, values: Mapping[str, Any]) -> str:
    """The prompt, filled in. Raises InputError that names the placeholder whose value cannot be written as text."""
    try:
        return prompt.render(values)
    except Exception:
        for item in prompt.placeholders:
            written(values.get(item.name), f"the value of {{{item.name}}}")
        raise


def written(value: Any, what: str) -> str:
    """The value as text. Raises InputError when it cannot be written, such as a list that contains itself."""
    try:
        return as_text(value)
    except Exception as error:
        raise InputError(f"{what}, a {type(value).__name__}, cannot be written as text: {brief(error)}") from error


def task_of(prompt: PromptLike | None) -> Task:
    """The task that a prompt stands for. Raises OSError when its file cannot be read, TypeError when it is none."""
    if prompt is None:
        return PlainTask()
    if isinstance(prompt, str | Path):
        return TemplateTask(prompt)
    if callable(prompt):
        return FunctionTask(prompt)
    raise TypeError(f"something of type {type(prompt).__name__} is no prompt: give a text, a Path or a function")
