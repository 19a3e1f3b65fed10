"""What a model can call: `Tool`, and `tool`, which makes one of nearly anything."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, overload

from pydantic import BaseModel

from flowgraph.policy import Retry
from flowgraph_nodes.errors import ToolDefinitionError
from flowgraph_nodes.messages import ToolSpec
from flowgraph_nodes.tools.arguments import ModelReader, Reader, SchemaReader, SignatureReader
from flowgraph_nodes.tools.names import checked_name
from flowgraph_nodes.tools.schema import JsonSchema, checked_schema, closed, model_of, schema_of
from flowgraph_nodes.tools.signature import context_of, doc_of, name_of, signature_of

OnError: TypeAlias = Callable[[Exception], Any]
"""Gets what a tool raised; what it returns (or the awaitable it returns gives) is the result instead."""

Approve: TypeAlias = bool | Literal["always"] | Callable[[str, dict[str, Any]], bool | Awaitable[bool]]
"""Whether a person has to approve a call: always, never, or a function of the tool's name and the arguments.

It is asked again in a resumed run, so it must depend on nothing else.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool:
    """A tool; made by `tool`, changed by `dataclasses.replace`.

    name, description, parameters: what the model sees; `parameters` is a JSON schema.
    target: what is called, with what `read` makes of the model's arguments.
    context: the target's parameter that gets the `ToolContext`.
    timeout: seconds for one call, None for no limit; a sync target's thread is abandoned then.
    serial: calls of this tool in one reply run one after the other. exclusive: nothing else runs meanwhile.
    inline: call a sync target on the event loop's own thread: for code that must not leave it, and is quick.
    strict: offered in the closed form, and the provider holds the model to it.
    last: its calls run after the other calls of the same reply, one by one, and see their results.
    idempotent: running it twice does no more than running it once. retry: how often a call is tried when the target
    raises or runs out of time, for idempotent tools only; an agent's run does so, a toolbox alone does not.
    approve: whether a person has to approve a call before it runs, see `Approve`.
    max_output: characters of a result that the model gets; the rest is cut off, marked, and kept in `ToolResult.full`.
    on_error: makes a result of what the target raised; None makes it an error result with kind and message.
    """

    name: str
    description: str = ""
    parameters: JsonSchema = field(repr=False)
    target: Callable[..., Any] = field(repr=False)
    read: Reader = field(repr=False)
    context: str | None = field(default=None, repr=False)
    timeout: float | None = None
    serial: bool = False
    exclusive: bool = False
    inline: bool = False
    strict: bool = False
    last: bool = False
    idempotent: bool = False
    retry: Retry | None = None
    approve: Approve = False
    max_output: int | None = None
    on_error: OnError | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checked_name(self.name)
        if problem := self._wrong():
            raise ToolDefinitionError(f"tool '{self.name}': {problem}")

    def _wrong(self) -> str | None:
        if self.timeout is not None and self.timeout <= 0:
            return f"timeout={self.timeout!r} must be more than 0 seconds"
        if self.max_output is not None and self.max_output < 1:
            return f"max_output={self.max_output!r} must be at least 1 character"
        retry: object = self.retry  # whatever was given
        if retry is not None and not isinstance(retry, Retry):
            return f"retry={retry!r} must be a flowgraph.Retry"
        if retry is not None and not self.idempotent:
            return "retry= runs calls again: say idempotent=True if that does no harm"
        if self.approve not in (True, False, "always") and not callable(self.approve):
            return f"approve={self.approve!r} must be True, False, 'always' or a function of name and arguments"
        return None

    @property
    def spec(self) -> ToolSpec:
        """The tool as it is offered to a model."""
        return ToolSpec(self.name, self.description, self.parameters, self.strict)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the target directly, as if it were no tool."""
        return self.target(*args, **kwargs)


class ToolOptions(TypedDict, total=False):
    """The options of a tool, as `Tool` describes them."""

    timeout: float | None
    serial: bool
    exclusive: bool
    inline: bool
    strict: bool
    last: bool
    idempotent: bool
    retry: Retry | None
    approve: Approve
    max_output: int | None
    on_error: OnError | None


Schema: TypeAlias = Mapping[str, Any] | type[BaseModel]
"""A ready JSON schema, or a pydantic model."""


@overload
def tool(
    target: Callable[..., Any],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    schema: Schema | None = None,
    **options: Unpack[ToolOptions],
) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    schema: Schema | None = None,
    **options: Unpack[ToolOptions],
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    target: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    schema: Schema | None = None,
    **options: Unpack[ToolOptions],
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool: `@tool`, `@tool(timeout=10)` or `tool(anything, name="lookup")`.

    target: a function, async function, method, partial or callable object; or a pydantic model, whose fields are
    the arguments and whose instance is the result.
    name, description: of the signature and the docstring unless given.
    schema: a ready JSON schema, then the target is called with the arguments by name; or a pydantic model, then
    the target is called with an instance of it.
    timeout, serial, exclusive and all other options: see `Tool`.

    Raises:
        ToolDefinitionError: no schema can be made, an annotation cannot be resolved, or the name will not do.
    """
    if target is None:
        return lambda decorated: _made(decorated, name, description, schema, options)
    return _made(target, name, description, schema, options)


def as_tool(thing: Tool | Callable[..., Any]) -> Tool:
    """A tool as it is, anything else made one by `tool`."""
    return thing if isinstance(thing, Tool) else tool(thing)


def _made(
    target: Callable[..., Any],
    name: str | None,
    description: str | None,
    schema: Schema | None,
    options: ToolOptions,
) -> Tool:
    if isinstance(target, Tool) or not callable(target):
        raise ToolDefinitionError(f"cannot make a tool of {target!r}: a callable or a pydantic model is wanted")
    name = checked_name(name_of(target) if name is None else name)
    description = doc_of(target).description if description is None else description
    strict = options.get("strict", False)
    if schema is None and inspect.isclass(target) and issubclass(target, BaseModel):
        schema, target = target, _itself
    parameters, read, context = _input_of(target, name, schema, strict)
    return Tool(
        name=name,
        description=description,
        parameters=closed(parameters, name) if strict else parameters,
        target=target,
        read=read,
        context=context,
        **options,
    )


def _input_of(
    target: Callable[..., Any], name: str, schema: Schema | None, strict: bool
) -> tuple[JsonSchema, Reader, str | None]:
    """The JSON schema of a target's arguments, what reads them, and the parameter for the `ToolContext`."""
    if schema is None:
        signature = signature_of(target, name)
        model, parameters = model_of(signature, name)
        return parameters, SignatureReader(model, signature, strict), signature.context
    if isinstance(schema, Mapping):
        parameters = checked_schema(schema, name)
        return parameters, SchemaReader(parameters), context_of(target)
    return schema_of(schema), ModelReader(schema, strict), context_of(target)


async def _itself(instance: BaseModel) -> BaseModel:
    return instance
