"""What the sub-agents of an autonomous agent are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, get_args

from flowgraph_nodes.models import ModelLike
from flowgraph_nodes.tools import Tool, Toolbox

Policy: TypeAlias = Literal["inherit", "fixed", "choice"]

WITH_TOOLS: Final = 5
WITHOUT_TOOLS: Final = 1


@dataclass(frozen=True, kw_only=True)
class SubAgents:
    """What the agents are made of that an AutonomousAgent makes for itself.

    model_policy: "inherit" the agent's model; "fixed": the one in `models`; "choice": the agent chooses one of `models`
    by name for each. models: a model for "fixed", a dict of them by name for "choice".
    tool_policy: "inherit" the agent's tools; "fixed": those in `tools`; "choice": the agent chooses some of its own, or
    of `tools` if there are any, for each. tools: as of an agent.
    max_turns: model calls for one task; None: 5 with tools, 1 without. It stops earlier on an answer.
    max_sub_agents: how many may be made in a run. max_depth: how deep agents may make agents; 1: sub-agents make none.

    Raises ValueError, ToolDefinitionError, DuplicateToolError.
    """

    model_policy: Policy = "inherit"
    models: ModelLike | Mapping[str, ModelLike] | None = field(default=None, repr=False)
    tool_policy: Policy = "inherit"
    tools: Iterable[Tool | Callable[..., Any]] = ()
    max_turns: int | None = None
    max_sub_agents: int = 10
    max_depth: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "tools", Toolbox(self.tools))
        if problems := list(self._wrong()):
            raise ValueError("; ".join(problems))

    @property
    def toolbox(self) -> Toolbox:
        """The tools."""
        assert isinstance(self.tools, Toolbox), "made one when it was built"
        return self.tools

    @property
    def named_models(self) -> dict[str, ModelLike]:
        """The models by name; the fixed one under ""."""
        if self.models is None:
            return {}
        return dict(self.models) if isinstance(self.models, Mapping) else {"": self.models}

    def turns(self, tools: int) -> int:
        """Model calls that one with so many tools has for a task."""
        return self.max_turns or (WITH_TOOLS if tools else WITHOUT_TOOLS)

    def _wrong(self) -> Iterator[str]:
        for name in ("model_policy", "tool_policy"):
            if getattr(self, name) not in get_args(Policy):
                yield f"{name}={getattr(self, name)!r} must be 'inherit', 'fixed' or 'choice'"
        kinds = {"inherit": self.models is None, "choice": isinstance(self.models, Mapping) and bool(self.models)}
        kinds["fixed"] = self.models is not None and not isinstance(self.models, Mapping)
        if not kinds.get(self.model_policy, True):
            wanted = {"inherit": "none", "choice": "a dict of them by name", "fixed": "one model"}[self.model_policy]
            yield f"model_policy='{self.model_policy}' wants in models= {wanted}"
        if self.tool_policy == "inherit" and len(self.toolbox):
            yield "tool_policy='inherit' takes the agent's tools: tools= go with 'fixed' or 'choice'"
        for name in ("max_turns", "max_sub_agents", "max_depth"):
            value = getattr(self, name)
            if name == "max_turns" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                yield f"{name}={value!r} must be a whole number of at least 1"
