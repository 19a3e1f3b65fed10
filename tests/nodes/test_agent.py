"""The configuration of agents: validated when built; prompts, parameters, problems."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

import flowgraph as fg
from flowgraph.node import Kind
from flowgraph_nodes import Model, ModelSettings, ScriptedModel, no_real_models
from flowgraph_nodes.agents import AgentConfigError, ReactAgent
from flowgraph_nodes.errors import DuplicateToolError, ModelConfigError
from flowgraph_nodes.messages import SystemMessage, UserMessage

SILENT = ScriptedModel([])


def asked(agent: ReactAgent, **inputs: Any) -> str:
    """What the model is asked for some inputs."""
    model = ScriptedModel(["ok"])
    dataclasses.replace(agent, model=model).run(**inputs)
    content: str = model.requests[0].messages[-1].content
    return content


def test_an_agent_is_frozen_and_unknown_keys_are_refused() -> None:
    agent = ReactAgent(model=SILENT)
    with pytest.raises(dataclasses.FrozenInstanceError):
        agent.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError, match="max_loops"):
        ReactAgent(model=SILENT, max_loops=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        ReactAgent(SILENT)  # type: ignore[misc]


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(AgentConfigError) as caught:
        ReactAgent(
            model="",
            settings={"temperature": 0},  # type: ignore[arg-type]
            name=" ",
            prompt=" ",
            prompt_vars={"tone": "dry"},
            max_turns=0,
            tool_retry=-1,
            max_nudges=True,
            model_retry=3,  # type: ignore[arg-type]
            tool_mode="xml",  # type: ignore[arg-type]
        )
    text = str(caught.value)
    for part in ("model name", "settings=", "name is", "prompt is", "{tone}", "max_turns=0", "tool_retry=-1"):
        assert part in text
    for part in ("max_nudges=True", "model_retry="):
        assert part in text
    assert isinstance(caught.value, fg.Permanent)
    with pytest.raises(AgentConfigError, match="tool_mode='xml' must be 'native', 'schema' or 'text'"):
        ReactAgent(model=SILENT, tool_mode="xml")  # type: ignore[arg-type]


def test_tools_with_one_name_are_refused() -> None:
    def look() -> None: ...

    with pytest.raises(DuplicateToolError, match="'look' already"):
        ReactAgent(model=SILENT, tools=[look, look])


def test_the_defaults() -> None:
    agent = ReactAgent(model=SILENT)
    assert (agent.name, agent.kind, agent.output_type, agent.max_turns) == ("unnamed_agent", "agent", str, 20)
    assert isinstance(agent, fg.Node)
    assert repr(agent) == "<ReactAgent unnamed_agent: scripted>"


def test_without_a_prompt_the_parameter_is_task() -> None:
    assert list(ReactAgent(model=SILENT).parameters) == ["task"]
    assert asked(ReactAgent(model=SILENT), task="what?") == "what?"


def test_the_placeholders_of_a_prompt_are_the_parameters() -> None:
    agent = ReactAgent(model=SILENT, prompt='On {topic}, {legal?}. {{literal}} {"json": 1}')
    assert {name: item.kind for name, item in agent.parameters.items()} == {
        "topic": Kind.REQUIRED,
        "legal": Kind.MAYBE,
    }
    assert asked(agent, topic={"a": 1}) == 'On {"a":1}, . {literal} {"json": 1}'
    assert asked(agent, topic="{legal}", legal="yes") == 'On {legal}, yes. {literal} {"json": 1}'


def test_a_prompt_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "prompt.md"
    file.write_text("Write on {topic}.", encoding="utf-8")
    assert asked(ReactAgent(model=SILENT, prompt=file), topic="bees") == "Write on bees."
    with pytest.raises(AgentConfigError, match="No such file"):
        ReactAgent(model=SILENT, prompt=tmp_path / "nothing.md")


def test_a_prompt_may_be_a_function_sync_or_async() -> None:
    def ask(topic: str, tone: str = "dry") -> str:
        return f"{topic} {tone}"

    async def ask_async(topic: str, ctx: fg.Context) -> dict[str, str]:  # type: ignore[type-arg]
        return {topic: ctx.path}

    agent = ReactAgent(model=SILENT, prompt=ask)
    assert {name: item.kind for name, item in agent.parameters.items()} == {
        "topic": Kind.REQUIRED,
        "tone": Kind.DEFAULT,
    }
    assert asked(agent, topic="bees") == "bees dry"
    assert asked(agent, topic="bees", tone="wet") == "bees wet"
    assert asked(ReactAgent(model=SILENT, prompt=ask_async), topic="bees") == '{"bees":"unnamed_agent"}'


def test_a_positional_task_goes_to_the_only_parameter() -> None:
    model = ScriptedModel(["ok"] * 3)
    assert ReactAgent(model=model, prompt="On {topic}").run("bees").new_messages[0] == UserMessage("On bees")
    with pytest.raises(TypeError, match="takes a, b: give them by name"):
        ReactAgent(model=model, prompt="{a} {b}").run("bees")
    with pytest.raises(TypeError, match="twice"):
        ReactAgent(model=model).run("bees", task="wasps")
    with pytest.raises(fg.InputError, match="needs a value for 'task'"):
        ReactAgent(model=model).run()
    with pytest.raises(fg.InputError, match="no parameter 'tone'"):
        ReactAgent(model=model).run("bees", tone="dry")


def test_instructions_take_prompt_vars() -> None:
    model = ScriptedModel(["ok"])
    ReactAgent(model=model, instructions="Be {tone}.{extra?}", prompt_vars={"tone": "kind"}).run("hi")
    assert model.requests[0].messages[0] == SystemMessage("Be kind.")
    with pytest.raises(AgentConfigError, match="no value for tone"):
        ReactAgent(model=SILENT, instructions="Be {tone}.")


class Keyless(ScriptedModel):
    def check(self) -> None:
        raise ModelConfigError(f"model '{self.name}': no key")


@pytest.mark.parametrize("mode", ["native", "schema", "text"])
def test_problems_tells_what_stands_in_the_way_of_a_run(mode: Any) -> None:
    assert ReactAgent(model=SILENT, tool_mode=mode).problems() == []
    keyed = Model("openai/x", ModelSettings(api_key="k"))
    agent = ReactAgent(model=[keyed, Keyless([], name="a"), Keyless([], name="b")], tool_mode=mode)
    assert agent.problems() == ["model 'a': no key", "model 'b': no key"]
    with no_real_models():
        assert "no_real_models" in agent.problems()[0]


def test_a_run_is_refused_with_the_problems_before_anything_is_paid_for() -> None:
    paid = ScriptedModel(["ok"])
    with pytest.raises(fg.GraphError, match="no key"):
        ReactAgent(model=[paid, Keyless([])]).run("hi")
    assert paid.requests == []


def test_a_free_text_name_runs_alone_too() -> None:
    result = ReactAgent(model=ScriptedModel(["ok"]), name="The <big> agent").run("hi")
    assert result.output == "ok"


@pytest.mark.parametrize("name", ["task", "unnamed_agent"])
def test_a_name_may_be_that_of_a_parameter(name: str) -> None:
    assert ReactAgent(model=ScriptedModel(["ok"]), name=name, prompt=f"{{{name}}}").run("hi").output == "ok"
