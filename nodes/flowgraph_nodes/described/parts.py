"""The parts of agents, from their forms. Each function raises what the part itself raises when it is wrong."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, Final

from flowgraph.policy import Limits
from flowgraph_nodes.agents import Judge, Sentinel
from flowgraph_nodes.described.forms import (
    BudgetForm,
    FunctionForm,
    GovernanceForm,
    ModelForm,
    SettingsForm,
    StopForm,
)
from flowgraph_nodes.errors import ModelConfigError
from flowgraph_nodes.models import Model, ModelSettings, RateLimit
from flowgraph_nodes.tools import Tool, Toolbox, tool
from flowgraph_nodes.tools.mcp import McpServer
from flowgraph_nodes.tools.mcp.server import servers_of

_BUDGET: Final = {
    "max_tokens": "tokens",
    "max_input_tokens": "input_tokens",
    "max_output_tokens": "output_tokens",
    "max_cost": "cost",
    "max_model_calls": "model_calls",
    "max_tool_calls": "tool_calls",
    "max_retries": "retries",
    "max_nodes": "nodes",
    "max_depth": "depth",
    "max_seconds": "run_timeout",
}


def imported(name: str) -> Any:
    """What "package.module:name" names. Raises ValueError: there is nothing of that name, or it cannot be imported."""
    module_name, colon, path = name.partition(":")
    if not colon or not module_name or not path:
        raise ValueError(f"'{name}' must be 'package.module:name'")
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:  # whatever the module does when it is imported
        raise ValueError(f"'{module_name}' cannot be imported: {type(error).__name__}: {error}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise ValueError(f"'{module_name}' has no '{path}'")
        found = getattr(found, part)
    return found


def settings(form: SettingsForm | None) -> ModelSettings:
    """Settings of a model. Raises ModelConfigError."""
    if form is None:
        return ModelSettings()
    values = form.given("temperature", "top_p", "seed", "max_tokens", "stop", "api_base", "timeout", "extra")
    if form.api_key_env is not None:
        values["api_key"] = os.environ.get(form.api_key_env)
        if not values["api_key"]:
            raise ModelConfigError(f"api_key_env: the environment has no {form.api_key_env}")
    return ModelSettings(**values)


def models(forms: Sequence[ModelForm]) -> list[Model]:
    """Models, the later ones fallbacks. Raises ModelConfigError, ValueError."""
    return [_model(form) for form in forms]


def _model(form: ModelForm) -> Model:
    rate = None if form.rate is None else RateLimit(**form.rate.given(*type(form.rate).model_fields))
    name = f"{form.provider}/{form.model}" if form.provider else form.model
    return Model(name, settings(form), rate)


def function_tool(form: FunctionForm) -> Tool:
    """A function, or a ready tool, as a tool. Raises ValueError, ToolDefinitionError."""
    found = imported(form.function)
    options = form.given("name", "description", "timeout", "serial", "exclusive", "approve", "max_output")
    return replace(found, **options) if isinstance(found, Tool) else tool(found, **options)


def governed(box: Toolbox, form: GovernanceForm | None) -> Toolbox:
    """The tools that may be used."""
    if form is None:
        return box
    return box.filtered(form.allow, deny=form.deny).with_approval(of=form.approve)


def governed_names(names: Sequence[str], form: GovernanceForm) -> list[str]:
    """Those of the names that may be used."""
    return [name for name in names if _fits(name, form.allow) and not _fits(name, form.deny)]


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def servers(given: Sequence[Any], form: GovernanceForm | None) -> tuple[McpServer, ...]:
    """MCP servers; governance goes by the names that their tools have there. Raises McpConfigError, ValueError."""
    found = servers_of(given)
    return found if form is None else tuple(_governed_server(server, form) for server in found)


def _governed_server(server: McpServer, form: GovernanceForm) -> McpServer:
    if server.allow != ("*",) and form.allow != ["*"]:
        raise ValueError(f"MCP server '{server.name}' and governance both have allow: say it in one place")
    allow = server.allow if form.allow == ["*"] else form.allow
    return replace(server, allow=tuple(allow), deny=(*server.deny, *form.deny))


def limits(form: BudgetForm | None) -> Limits | None:
    """Limits. Raises ValueError."""
    if form is None:
        return None
    return Limits(**{_BUDGET[name]: value for name, value in form.given(*_BUDGET).items()})


def stop_rule(form: StopForm) -> Any:
    """What a LoopAgent takes as `stop`. Raises ValueError, AgentError."""
    if (form.rule is None) == (form.model is None):
        raise ValueError("give either a rule or the model of a judge")
    if form.model is not None:
        return Judge(model=models(form.model), **form.given("criteria"))
    if form.criteria:
        raise ValueError("criteria go with a judge: give its model")
    rules = {"sentinel": Sentinel(), "strict": Sentinel(strict=True)}
    return rules.get(form.rule or "", form.rule)
