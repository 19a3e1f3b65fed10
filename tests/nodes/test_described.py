"""Agents that are described in YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import flowgraph as fg
from flowgraph_nodes import (
    AutonomousAgent,
    DescriptionError,
    Judge,
    LoopAgent,
    Model,
    PlanExecuteAgent,
    ReactAgent,
    Scripted,
    Sentinel,
    call,
    load_agents,
    override_models,
    tool,
)

HERE = "shop_tools"


@tool
def look_up(word: str) -> str:
    """Look a word up.

    Args:
        word: what to look up.
    """
    return f"{word} is a plant"


def delete_all(what: str) -> str:
    """Delete everything."""
    raise AssertionError(what)


def send_mail(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


class Facts(BaseModel):
    facts: list[str]


NO_TOOL = 3


@pytest.fixture(autouse=True)
def _shop(monkeypatch: pytest.MonkeyPatch) -> None:
    """This module under the name that the descriptions use."""
    import sys

    monkeypatch.setitem(sys.modules, HERE, sys.modules[__name__])


FULL = """
id: writer
type: loop
model: {provider: openai, model: gpt-5-mini, temperature: 0, rate: {in_flight: 2}}
system_prompt: You write for {readers}.
prompt_vars: {readers: children}
prompt: A text on {topic}
tools:
  - {name: dictionary, type: function, function: "shop_tools:look_up"}
max_iterations: 3
stop: strict
stall: null
budget: {max_tool_calls: 5, max_input_tokens: 9000, max_cost: 0.5, max_seconds: 60}
tool_retry: 0
"""


def test_a_loop_agent_as_it_is_described() -> None:
    agent = load_agents(FULL)["writer"]
    assert isinstance(agent, LoopAgent)
    assert (agent.name, agent.max_iterations, agent.stall, agent.tool_retry) == ("writer", 3, None, 0)
    assert agent.stop == Sentinel(strict=True)
    assert agent.limits == fg.Limits(tool_calls=5, input_tokens=9000, cost=0.5, run_timeout=60)
    model = agent.model[0] if isinstance(agent.model, list) else None
    assert isinstance(model, Model)
    assert (model.name, model.settings.temperature, model.rate and model.rate.in_flight) == ("openai/gpt-5-mini", 0, 2)
    replies = [call("dictionary", word="tea"), "Tea is a plant.\nDONE"]
    with override_models({"openai/*": Scripted({"writer": replies})}):
        result = agent.run(topic="tea")
    assert result.output == "Tea is a plant."


def test_agents_hand_tasks_to_others_whatever_their_order() -> None:
    agents = load_agents(
        """
agents:
  - {id: desk, type: react, model: openai/a, handoffs: [expert], max_turns: 4}
  - {id: expert, type: react, model: [openai/b, openai/c], output_type: "shop_tools:Facts"}
"""
    )
    assert list(agents) == ["desk", "expert"]
    assert agents["expert"].output_type is Facts
    assert isinstance(agents["desk"], ReactAgent)
    assert agents["desk"].handoffs == {"expert": agents["expert"]}


def test_each_kind_of_agent_and_what_only_it_has() -> None:
    agents = load_agents(
        """
agents:
  - id: judged
    type: loop
    model: openai/a
    stop: {model: openai/judge, criteria: It is short.}
  - id: checked
    type: loop
    model: openai/a
    stop: "len(output) > 5"
    on_exhausted: best
    score: "len(output)"
  - id: planner
    type: plan_execute
    model: openai/a
    planner: openai/b
    max_plan_cycles: 2
  - id: crew
    type: autonomous
    model: openai/a
    parallel_subtasks: 4
    builtin_tools: [create_plan, subtask_done, create_sub_agent, assign_task]
    sub_agents: {model_policy: choice, models: {quick: openai/q, good: [openai/g, openai/h]}, max_turns: 2}
"""
    )
    judged, checked, planner, crew = agents.values()
    assert isinstance(judged, LoopAgent)
    assert isinstance(judged.stop, Judge)
    assert isinstance(checked, LoopAgent)
    assert checked.score == "len(output)"
    assert isinstance(planner, PlanExecuteAgent)
    assert planner.max_plan_cycles == 2
    assert isinstance(crew, AutonomousAgent)
    assert crew.parallel_subtasks == 4
    assert list(crew.sub_agents.named_models) == ["quick", "good"]
    assert "create_sub_agent" in crew.tool_names()


def test_governance_says_which_tools_there_are_and_which_want_approval() -> None:
    agent = load_agents(
        """
id: careful
type: react
model: openai/a
tools: ["shop_tools:look_up", "shop_tools:delete_all", "shop_tools:send_mail"]
governance: {allow: ["*"], deny: ["delete_*"], approve: ["send_*"]}
"""
    )["careful"]
    graph = fg.Graph("g")
    graph.add("careful", agent, values={"task": "Go."})
    replies = [[call("look_up", word="tea"), call("delete_all", what="x"), call("send_mail", to="ann")], "Done."]
    with override_models({"openai/*": Scripted({"careful": replies})}):
        run = fg.run(graph, raise_on_failure=False)
    assert [gate.question for gate in run.gates] == ['May the tool \'send_mail\' run with {"to": "ann"}?']
    told = run.nodes["careful/delete_all"].value.text
    assert "delete_all" in told
    assert "look_up, send_mail" in told


def test_governance_holds_for_the_tools_of_servers_too() -> None:
    agent = load_agents(
        """
id: timely
type: react
model: openai/a
mcp: [{command: some-server, deny: [set_time]}, {url: "http://localhost:1/mcp"}]
governance: {allow: ["get_*"], deny: ["*secret*"]}
"""
    )["timely"]
    assert [(server.allow, server.deny) for server in agent.mcp] == [  # type: ignore[union-attr]
        (("get_*",), ("set_time", "*secret*")),
        (("get_*",), ("*secret*",)),
    ]


@pytest.mark.parametrize("value", [0, 0.0])
def test_case_c48_a_zero_in_a_description_is_a_value(value: float) -> None:
    agent = load_agents(
        {
            "id": "a",
            "type": "react",
            "model": {"model": "openai/a", "temperature": value, "top_p": value, "seed": 0},
            "settings": {"temperature": value},
            "max_nudges": 0,
            "output_retries": 0,
            "budget": {"max_tool_calls": 0},
            "system_prompt": "",
            "tools": [],
        }
    )["a"]
    assert agent.settings.temperature == 0
    assert (agent.max_nudges, agent.output_retries) == (0, 0)
    assert agent.limits == fg.Limits(tool_calls=0)


def test_a_key_comes_from_the_environment_and_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "{id: a, type: react, model: {model: openai/a, api_key_env: SHOP_KEY}}"
    monkeypatch.setenv("SHOP_KEY", "sk-marker")
    agent = load_agents(text)["a"]
    assert isinstance(agent.model, list)
    assert agent.model[0].settings.secret() == "sk-marker"
    assert "sk-marker" not in repr(agent.model)
    monkeypatch.delenv("SHOP_KEY")
    with pytest.raises(DescriptionError, match=r"model: api_key_env: the environment has no SHOP_KEY"):
        load_agents(text)
    with pytest.raises(DescriptionError, match=r"model\.api_key: there is no such key") as caught:
        load_agents("{id: a, type: react, model: {model: openai/a, api_key: sk-marker}}")
    assert "sk-marker" not in str(caught.value)


WRONG: list[tuple[str, list[str]]] = [
    ("", ["an agent is a mapping"]),
    ("agents: []", ["line 1, agents: it must be a list of agents"]),
    ("id: a\ntype: lop\nmodel: m", ["line 2, type: 'lop' is none of react, loop, plan_execute, autonomous"]),
    ("id: a\nmodel: m", ["type: it is one of react"]),
    ("type: react\nmodel: m", ["id: it is missing"]),
    ("id: a\ntype: loop\nmodel: m\nsub_agents: {}", ["line 4, sub_agents: only an autonomous agent makes agents"]),
    ("id: a\ntype: loop\nmodel: m\nmax_iteration: 3", ["line 4, max_iteration: there is no such key"]),
    ("id: a\ntype: loop\nmodel: m\nmax_iterations: '3'", ["line 4, max_iterations: Input should be a valid integer"]),
    ("id: a\ntype: loop\nmodel: m\nmax_iterations: 0", ["max_iterations=0 must be a whole number of at least 1"]),
    ("id: a\ntype: react\nmodel:\n  model: m\n  temprature: 1", ["line 5, model.temprature: there is no such key"]),
    ("id: a\ntype: react\nmodel: []", ["line 3, model: List should have at least 1 item"]),
    ("id: a\ntype: react\nmodel: ''", ["line 3, model: String should have at least 1 character"]),
    ("id: a\ntype: react\nmodel: m\nid: b", ["line 4: 'id' is there twice"]),
    ("id: a\n  type: react", ["line 2: mapping values are not allowed here"]),
    ("id: !!python/object/apply:os.system ['true']\n", ["could not determine a constructor"]),
    ("id: a\ntype: react\nmodel: m\ntools: [nothing]", ["line 4, tools[0]: 'nothing' must be 'package.module:name'"]),
    ("id: a\ntype: react\nmodel: m\ntools: ['no_such:f']", ["tools[0]: 'no_such' cannot be imported"]),
    ("id: a\ntype: react\nmodel: m\ntools: ['shop_tools:no']", ["tools[0]: 'shop_tools' has no 'no'"]),
    ("id: a\ntype: react\nmodel: m\ntools: ['shop_tools:NO_TOOL']", ["tools[0]: "]),
    (
        "id: a\ntype: react\nmodel: m\ntools: ['shop_tools:look_up', 'shop_tools:look_up']",
        ["tools[1]: there is a tool 'look_up' already"],
    ),
    ("id: a\ntype: react\nmodel: m\nbudget: {max_cost: -1}", ["line 4, budget: Limits.cost must be a number"]),
    ("id: a\ntype: react\nmodel: m\nprompt_vars: {x: 1}", ["prompt_vars: the instructions have no {x}"]),
    ("id: a\ntype: loop\nmodel: m\nstop: {criteria: short}", ["line 4, stop: give either a rule or the model"]),
    ("id: a\ntype: loop\nmodel: m\nstop: 'output ==='", ["stop: "]),
    ("id: a\ntype: react\nmodel: m\nhandoffs: [b]", ["line 4, handoffs[0]: there is no agent 'b' here"]),
    ("agents: [{id: a, type: react, model: m}]\nextra: 1", ["line 2, extra: there is nothing beside 'agents'"]),
    (
        "agents: [{id: a, type: react, model: m, handoffs: [b]}, {id: b, type: react, model: m, handoffs: [a]}]",
        ["handoffs go round in a circle: a, b"],
    ),
    (
        "agents: [{id: a, type: react, model: m}, {id: a, type: react, model: m}]",
        ["line 1, agents[1].id: there is an agent 'a' already"],
    ),
    (
        "agents:\n  - {id: a, type: react}\n  - {id: b, type: loop, model: m, max_turns: x}",
        ["line 2, agents[0].model: it is missing", "line 3, agents[1].max_turns: Input should be a valid integer"],
    ),
]


@pytest.mark.parametrize(("text", "words"), WRONG, ids=range(len(WRONG)))
def test_all_that_is_wrong_is_told_with_its_line(text: str, words: list[str]) -> None:
    with pytest.raises(DescriptionError) as caught:
        load_agents(text + "\n")
    assert len(caught.value.problems) == len(words)
    for problem, wanted in zip(caught.value.problems, words, strict=True):
        assert wanted in problem


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match=r"no\.yaml describes no agents.*\n.*No such file"):
        load_agents(tmp_path / "no.yaml")
    odd = tmp_path / "odd.yaml"
    odd.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DescriptionError, match="UTF-8"):
        load_agents(odd)


def test_a_file_a_text_and_data_are_the_same(tmp_path: Path) -> None:
    import yaml

    file = tmp_path / "agents.yaml"
    file.write_text(FULL)
    sources: list[Any] = [FULL, file, str(file), yaml.safe_load(FULL)]
    assert {repr(load_agents(source)["writer"]) for source in sources} == {"<LoopAgent writer: openai/gpt-5-mini>"}


def test_the_command_line_takes_an_agent_of_a_description(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from flowgraph.cli.app import app

    monkeypatch.syspath_prepend(tmp_path)  # so that what the command puts on the path is taken off again
    (tmp_path / "tea_tools.py").write_text('def steep(minutes: int) -> str:\n    """Steep tea."""\n    return "tea"\n')
    file = tmp_path / "agents.yaml"
    file.write_text('{id: tea maker, type: react, model: openai/a, prompt: "{cups} cups", tools: ["tea_tools:steep"]}')
    replies = [call("steep", minutes=3), "Here you are."]
    with override_models({"openai/*": Scripted({"*": replies})}):
        done = CliRunner().invoke(app, ["run", f"{file}:tea maker", "--input", "cups=2"])
    assert done.exit_code == 0, done.output
    assert "Here you are." in done.output
    drawn = CliRunner().invoke(app, ["draw", str(file), "--format", "mermaid"])
    assert "tea maker" in drawn.output
    missing = CliRunner().invoke(app, ["check", f"{file}:coffee maker"])
    assert (missing.exit_code, "it has tea maker" in missing.output) == (2, True)
    file.write_text("{id: a, type: react}")
    wrong = CliRunner().invoke(app, ["check", str(file)])
    assert (wrong.exit_code, "line 1, model: it is missing" in wrong.output) == (2, True)
