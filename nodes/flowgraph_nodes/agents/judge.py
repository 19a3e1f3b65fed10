"""The judge: a model that says whether an answer is finished."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import BaseModel, Field

from flowgraph_nodes.agents.react import ReactAgent
from flowgraph_nodes.agents.tool_modes import ToolMode
from flowgraph_nodes.models import ModelLike, ModelSettings

CRITERIA: Final = "It does everything that the task asks for, and what it says is right."
_INSTRUCTIONS: Final = (
    "You judge answers; you do not write them. Compare the answer with the task, and say whether it is finished by "
    "these criteria:\n{criteria}"
)
_PROMPT: Final = "The task:\n\n{task}\n\nThe answer:\n\n{answer}"


class Finding(BaseModel):
    """What a judge says of an answer."""

    finished: bool = Field(description="whether the answer is finished")
    missing: str = Field(default="", description="what is still missing or wrong, for who wrote it; empty if finished")


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A stop rule of a LoopAgent: a model reads each answer and says whether it is finished, or what is missing.

    model, settings, tool_mode: as of an agent. criteria: what an answer must fulfil. What is missing goes to the model
    of the agent with the coaching text.

    Raises AgentConfigError.
    """

    model: ModelLike
    criteria: str = CRITERIA
    settings: ModelSettings = field(default_factory=ModelSettings)
    tool_mode: ToolMode = "native"
    agent: ReactAgent = field(init=False, repr=False)

    def __post_init__(self) -> None:
        agent = ReactAgent(
            name="judge",
            model=self.model,
            settings=self.settings,
            tool_mode=self.tool_mode,
            instructions=_INSTRUCTIONS,
            prompt_vars={"criteria": self.criteria},
            prompt=_PROMPT,
            output_type=Finding,
        )
        object.__setattr__(self, "agent", agent)

    def inputs(self, task: str, answer: str) -> dict[str, Any]:
        """What its agent is called with."""
        return {"task": task, "answer": answer}
