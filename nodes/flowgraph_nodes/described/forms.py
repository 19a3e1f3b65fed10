"""What may stand in a description: one form for each kind of thing, every key with its type, and no other key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class Form(BaseModel):
    """A mapping with these keys and no others. What is not given is not set."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)

    def given(self, *names: str) -> dict[str, Any]:
        """The values of those of the names that were given; 0, "" and false count."""
        return {name: getattr(self, name) for name in names if name in self.model_fields_set}


def _short(key: str) -> Callable[[Any], Any]:
    """A text in the place of a form stands for the form with this key alone."""

    def whole(value: Any) -> Any:
        return {key: value} if isinstance(value, str) else value

    return whole


def _list(value: Any) -> Any:
    """One thing in the place of a list stands for the list of it."""
    return value if isinstance(value, list) else [value]


class RateForm(Form):
    """`RateLimit`."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    in_flight: int | None = None


class SettingsForm(Form):
    """`ModelSettings`. Keys of providers do not belong into files: `api_key_env` names an environment variable."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    stop: list[str] | str | None = None
    api_base: str | None = None
    api_key_env: str | None = None
    timeout: float | None = None
    extra: dict[str, Any] = {}


class ModelForm(SettingsForm):
    """`Model`: a provider and a model, or "provider/model" in one."""

    model: Annotated[str, Field(min_length=1)]
    provider: str = ""
    rate: RateForm | None = None


OneModel: TypeAlias = Annotated[ModelForm, BeforeValidator(_short("model"))]
Models: TypeAlias = Annotated[list[OneModel], Field(min_length=1), BeforeValidator(_list)]
"""A name, a form, or a list of either: later ones are fallbacks."""


class FunctionForm(Form):
    """A function as a tool: `function` is "package.module:function"."""

    type: Literal["function"] = "function"
    function: str
    name: str | None = None
    description: str | None = None
    timeout: float | None = None
    serial: bool = False
    exclusive: bool = False
    approve: bool = False
    max_output: int | None = None


Functions: TypeAlias = list[Annotated[FunctionForm, BeforeValidator(_short("function"))]]


class BudgetForm(Form):
    """`flowgraph.Limits`, in the words of budgets."""

    max_tokens: int | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    max_cost: float | None = None
    max_model_calls: int | None = None
    max_tool_calls: int | None = None
    max_retries: int | None = None
    max_nodes: int | None = None
    max_depth: int | None = None
    max_seconds: float | None = None


class GovernanceForm(Form):
    """Which tools the agent may use, by patterns of their names, and which of them want a person's approval."""

    allow: list[str] = ["*"]
    deny: list[str] = []
    approve: list[str] = []


class AgentForm(Form):
    """What all agents have."""

    id: Annotated[str, Field(min_length=1)]
    type: str
    model: Models
    settings: SettingsForm | None = None
    description: str = ""
    system_prompt: str = ""
    prompt_vars: dict[str, Any] = {}
    prompt: Annotated[str, Field(min_length=1)] | None = None
    tools: Functions = []
    mcp: Annotated[list[Any], BeforeValidator(_list)] = []
    dynamic_tools: bool = False
    handoffs: list[str] = []
    tool_mode: Literal["native", "schema", "text"] = "native"
    output_type: str | None = None
    budget: BudgetForm | None = None
    governance: GovernanceForm | None = None
    tool_retry: int = 3
    output_retries: int = 2
    max_nudges: int = 2


class ReactForm(AgentForm):
    """`ReactAgent`."""

    max_turns: int = 20


class StopForm(Form):
    """When an answer is finished: a rule ("sentinel", "strict", an expression on `output`), or the model of a judge."""

    rule: str | None = None
    model: Models | None = None
    criteria: str = ""


class LoopForm(AgentForm):
    """`LoopAgent`."""

    max_iterations: int = 10
    max_turns: int = 20
    stop: Annotated[StopForm, BeforeValidator(_short("rule"))] = StopForm(rule="sentinel")
    coaching: str | None = None
    on_exhausted: Literal["error", "last", "best"] = "error"
    score: str | None = None
    stall: int | None = 2


class PlanExecuteForm(AgentForm):
    """`PlanExecuteAgent`."""

    planner: Models | None = None
    executor: Models | None = None
    replanner: Models | None = None
    max_plan_cycles: int = 10
    max_turns: int = 10


class SubAgentsForm(Form):
    """`SubAgents`. model: for model_policy "fixed". models: by name, for "choice"."""

    model_policy: Literal["inherit", "fixed", "choice"] = "inherit"
    model: Models | None = None
    models: dict[str, Models] | None = None
    tool_policy: Literal["inherit", "fixed", "choice"] = "inherit"
    tools: Functions = []
    max_turns: int | None = None
    max_sub_agents: int = 10
    max_depth: int = 1


class AutonomousForm(AgentForm):
    """`AutonomousAgent`."""

    max_planning_attempts: int = 5
    max_subtask_loops: int = 20
    max_subtask_iterations: int = 100
    parallel_subtasks: int = 1
    use_priority: bool = False
    think_tool: bool = False
    max_consecutive_thinks: int = 2
    builtin_tools: Annotated[list[str], BeforeValidator(_list)] = ["all"]
    workspace: str | None = None
    sub_agents: SubAgentsForm | None = None
    result: Literal["final", "transcript", "messages", "json", "yaml"] = "final"


FORMS: Final[dict[str, type[AgentForm]]] = {
    "react": ReactForm,
    "loop": LoopForm,
    "plan_execute": PlanExecuteForm,
    "autonomous": AutonomousForm,
}
"""The kinds of agent, by the word for them in `type`."""
