"""Nodes that wait: a gate for a person, a sleep for a time. Neither holds a slot, nor counts to any time limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from .missing import MISSING
from .node import Kind, Parameter
from .policy import Seconds, seconds
from .prompts import Prompt
from .question import Question

if TYPE_CHECKING:
    from .context import Context


class Waits(Protocol):
    """What stands behind the context of a node that waits."""

    async def wait_for_answer(self, question: Question) -> Any: ...
    async def wait_until(self, seconds: float) -> None: ...


class Gate:
    """A node that asks a person, and gives the answer.

        graph.add("approve", fg.Gate("Publish this? {draft}", bool, timeout=timedelta(days=2), default=False))

    question: what is asked; its placeholders (see `flowgraph.prompts`) bind like a node's parameters. schema: the type
    of the answer, anything that pydantic knows (default: text). timeout: seconds (or timedelta) after which `default`
    is taken or, without one, the node fails. title: for drawings.

    While it waits other branches go on; when only gates are left the run is paused, see docs/how-to/ask-people.md.
    Raises ValueError or TypeError when something does not fit, here and not in the run.
    """

    kind = "gate"
    waits = True

    def __init__(
        self,
        question: str,
        schema: Any = str,
        *,
        timeout: Seconds | None = None,
        default: Any = MISSING,
        name: str = "ask",
        title: str = "",
    ) -> None:
        self._question = Question(question, schema, timeout, default)
        self.schema = self._question.schema
        self._prompt = Prompt(question)
        self.name = name
        self.title = title
        self.parameters: Mapping[str, Parameter] = {
            p.name: Parameter(p.name, Any, Kind.MAYBE if p.maybe else Kind.REQUIRED) for p in self._prompt.placeholders
        }
        self.output_type: Any = schema

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Any:
        """Ask, and wait for the answer."""
        question = replace(self._question, text=self._prompt.render(inputs))
        return await cast("Waits", ctx.host).wait_for_answer(question)

    def __repr__(self) -> str:
        return f"Gate({self._question.text!r})"


class Asked:
    """A question that a node asks while it runs (`ctx.ask`), as a child of it."""

    kind = "gate"
    waits = True
    parameters: ClassVar[Mapping[str, Parameter]] = {name: Parameter(name) for name in ("question", "schema")}

    def __init__(self, question: Question, name: str) -> None:
        self.question = question
        self.name = name
        self.title = ""
        self.output_type = question.type

    @property
    def inputs(self) -> dict[str, Any]:
        """What it is called with: another question in its place is another call."""
        return {"question": self.question.text, "schema": self.question.schema}

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> Any:
        """Wait for the answer."""
        return await cast("Waits", ctx.host).wait_for_answer(self.question)


class Sleep:
    """A sleep of a node (`ctx.sleep`), as a child of it: a resume waits only for what is left of it."""

    kind = "sleep"
    waits = True
    name = "sleep"
    parameters: ClassVar[Mapping[str, Parameter]] = {"seconds": Parameter("seconds", float)}
    output_type = type(None)

    def __init__(self, duration: Seconds) -> None:
        self.title = ""
        self.inputs: dict[str, Any] = {"seconds": seconds(duration, "a sleep")}

    async def call(self, ctx: Context[Any], inputs: dict[str, Any]) -> None:
        """Wait."""
        await cast("Waits", ctx.host).wait_until(inputs["seconds"])
