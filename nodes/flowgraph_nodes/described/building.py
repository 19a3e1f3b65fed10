"""From a description to agents: everything that is wrong is found before the first is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from flowgraph.graph import Graph
from flowgraph_nodes.agents import Agent, AutonomousAgent, LoopAgent, PlanExecuteAgent, ReactAgent
from flowgraph_nodes.agents.alone import Alone
from flowgraph_nodes.agents.autonomous import SubAgents
from flowgraph_nodes.described import parts
from flowgraph_nodes.described.errors import DescriptionError
from flowgraph_nodes.described.forms import (
    FORMS,
    AgentForm,
    AutonomousForm,
    FunctionForm,
    GovernanceForm,
    LoopForm,
    PlanExecuteForm,
    SubAgentsForm,
)
from flowgraph_nodes.described.source import Place, Source, read
from flowgraph_nodes.errors import AgentError
from flowgraph_nodes.tools import Toolbox

T = TypeVar("T")

_KINDS: Final[dict[str, type[Agent]]] = {
    "react": ReactAgent,
    "loop": LoopAgent,
    "plan_execute": PlanExecuteAgent,
    "autonomous": AutonomousAgent,
}
_OTHER_WORDS: Final = {"id": "name", "system_prompt": "instructions"}
_SAME: Final = (
    *("description", "prompt_vars", "prompt", "dynamic_tools", "tool_mode", "tool_retry", "output_retries"),
    *("max_nudges", "max_turns", "max_iterations", "coaching", "on_exhausted", "score", "stall", "max_plan_cycles"),
    *("max_planning_attempts", "max_subtask_loops", "max_subtask_iterations", "parallel_subtasks", "use_priority"),
    *("think_tool", "max_consecutive_thinks", "builtin_tools", "workspace", "result"),
)
"""Keys that are options of the agent as they stand."""


def load_agents(source: str | Path | Mapping[str, Any]) -> dict[str, Agent]:
    """The agents of a description, by id, in its order.

    source: a YAML file (a Path, or a text that ends in .yaml or .yml), YAML text, or its data. It holds one agent, or a
    list of them under `agents`. A description names functions by "package.module:name", and loading imports them: so
    trust it as you would trust code.

    Raises:
        DescriptionError: with everything that is wrong, each with its line.
    """
    found = read(source)
    builder = _Builder(found)
    agents = builder.agents(builder.forms())
    if builder.problems:
        raise DescriptionError(found.name, builder.problems)
    return agents


def load_graphs(source: str | Path | Mapping[str, Any]) -> dict[str, Graph]:
    """The same, each agent as a graph with this one node. Raises DescriptionError."""
    return {name: Alone(agent, ()).graph for name, agent in load_agents(source).items()}


class _Builder:
    """Builds what can be built, and keeps what is wrong."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.problems: list[str] = []

    def forms(self) -> list[tuple[Place, AgentForm]]:
        """The agents as they are described, each with its place."""
        data = self._source.data
        if isinstance(data, Mapping) and "agents" in data:
            for key in data:
                if key != "agents":
                    self._wrong((str(key),), "there is nothing beside 'agents'")
            listed = data["agents"]
            if not isinstance(listed, list) or not listed:
                self._wrong(("agents",), "it must be a list of agents")
                return []
            places: list[tuple[Place, Any]] = [(("agents", number), item) for number, item in enumerate(listed)]
        else:
            places = [((), data)]
        read = [(place, self._form(place, item)) for place, item in places]
        return [(place, form) for place, form in read if form is not None]

    def agents(self, forms: list[tuple[Place, AgentForm]]) -> dict[str, Agent]:
        """The agents, those that others hand tasks to first; in the order of the description."""
        built: dict[str, Agent] = {}
        waiting = dict(self._by_id(forms))
        while waiting:
            ready = [name for name, (_, form) in waiting.items() if not set(form.handoffs) & waiting.keys()]
            if not ready:
                self._wrong((), f"handoffs go round in a circle: {', '.join(waiting)}")
                break
            for name in ready:
                place, form = waiting.pop(name)
                agent = self._try(place, partial(self._agent, place, form, built))
                if agent is not None:
                    built[name] = agent
        return {form.id: built[form.id] for _, form in forms if form.id in built}

    # -- forms

    def _form(self, place: Place, item: Any) -> AgentForm | None:
        if not isinstance(item, Mapping):
            self._wrong(place, "an agent is a mapping: id, type, model, …")
            return None
        kind = item.get("type")
        if kind not in FORMS:
            known = ", ".join(FORMS)
            self._wrong((*place, "type"), f"{kind!r} is none of {known}" if "type" in item else f"it is one of {known}")
            return None
        if "sub_agents" in item and kind != "autonomous":
            self._wrong((*place, "sub_agents"), f"only an autonomous agent makes agents, not one of type '{kind}'")
            item = {key: value for key, value in item.items() if key != "sub_agents"}
        try:
            return FORMS[kind].model_validate(dict(item))
        except ValidationError as error:
            for one in error.errors(include_url=False, include_input=False):
                self._wrong((*place, *_real(item, one["loc"])), _words(one))
            return None

    def _by_id(self, forms: list[tuple[Place, AgentForm]]) -> dict[str, tuple[Place, AgentForm]]:
        found: dict[str, tuple[Place, AgentForm]] = {}
        for place, form in forms:
            if form.id in found:
                self._wrong((*place, "id"), f"there is an agent '{form.id}' already")
            found[form.id] = (place, form)
        for place, form in forms:
            for number, name in enumerate(form.handoffs):
                if name not in found:
                    self._wrong((*place, "handoffs", number), f"there is no agent '{name}' here")
        return found

    # -- agents

    def _agent(self, place: Place, form: AgentForm, built: Mapping[str, Agent]) -> Agent | None:
        before = len(self.problems)
        options = {_OTHER_WORDS.get(key, key): value for key, value in form.given(*_SAME, *_OTHER_WORDS).items()}
        makers: dict[str, Callable[[], Any]] = {
            "model": lambda: parts.models(form.model),
            "settings": lambda: parts.settings(form.settings),
            "mcp": lambda: parts.servers(form.mcp, form.governance),
            "output_type": lambda: str if form.output_type is None else parts.imported(form.output_type),
        }
        for key, make in {**makers, **self._of_kind(place, form)}.items():
            options[key] = self._try((*place, key), make)
        options["limits"] = self._try((*place, "budget"), lambda: parts.limits(form.budget))
        box = self._toolbox((*place, "tools"), form.tools)
        options["tools"] = parts.governed(box, form.governance)
        options["handoffs"] = [built[name] for name in form.handoffs if name in built]
        if "builtin_tools" in options:
            options["builtin_tools"] = tuple(options["builtin_tools"])
        return _KINDS[form.type](**options) if len(self.problems) == before else None

    def _of_kind(self, place: Place, form: AgentForm) -> dict[str, Callable[[], Any]]:
        """What only one kind of agent has, and is more than a plain value."""
        match form:
            case LoopForm():
                return {"stop": lambda: parts.stop_rule(form.stop)}
            case PlanExecuteForm():
                roles = {"planner": form.planner, "executor": form.executor, "replanner": form.replanner}
                given = {role: models for role, models in roles.items() if models is not None}
                return {role: partial(parts.models, models) for role, models in given.items()}
            case AutonomousForm(sub_agents=SubAgentsForm() as made):
                return {"sub_agents": lambda: self._sub_agents(place, made, form.governance)}
        return {}

    def _sub_agents(self, place: Place, form: SubAgentsForm, governance: GovernanceForm | None) -> SubAgents:
        options = form.given("model_policy", "tool_policy", "max_turns", "max_sub_agents", "max_depth")
        if form.model is not None and form.models is not None:
            raise ValueError("give either model (for 'fixed') or models (for 'choice')")
        if form.model is not None:
            options["models"] = parts.models(form.model)
        if form.models is not None:
            options["models"] = {name: parts.models(item) for name, item in form.models.items()}
        box = self._toolbox((*place, "sub_agents", "tools"), form.tools)
        return SubAgents(**options, tools=parts.governed(box, governance))

    def _toolbox(self, place: Place, forms: list[FunctionForm]) -> Toolbox:
        box = Toolbox()
        for number, form in enumerate(forms):
            if (made := self._try((*place, number), partial(parts.function_tool, form))) is not None:
                self._try((*place, number), partial(box.add, made))
        return box

    def _try(self, place: Place, make: Callable[[], T]) -> T | None:
        """What `make` gives; None, and a problem, when it raises."""
        try:
            return make()
        except (AgentError, ValueError, TypeError) as error:
            for problem in getattr(error, "problems", (str(error),)):
                self._wrong(place, problem)
            return None

    def _wrong(self, place: Place, text: str) -> None:
        self.problems.append(self._source.at(place, text))


def _real(item: Any, place: Place) -> Place:
    """The place in what was written: without the steps into a list or form that stands for something shorter."""
    found: list[str | int] = []
    for part in place:
        if isinstance(item, list) and isinstance(part, int) and part < len(item):
            item = item[part]
        elif isinstance(item, Mapping) and isinstance(part, str):
            item = item.get(part)
        else:
            continue
        found.append(part)
    return tuple(found)


def _words(error: Mapping[str, Any]) -> str:
    words = {"extra_forbidden": "there is no such key", "missing": "it is missing"}
    return words.get(error["type"], str(error["msg"]))
