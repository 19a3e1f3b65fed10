"""Prompts that cannot be filled in say where, before any model is called."""

from __future__ import annotations

from typing import Any

import pytest

from flowgraph.errors import InputError
from flowgraph_nodes import ReactAgent, ScriptedModel
from flowgraph_nodes.agents.errors import AgentConfigError


class Shy:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


LOOP: list[Any] = []
LOOP.append(LOOP)
UNWRITABLE = [b"\xff", LOOP, ["\ud800"], Shy()]


@pytest.mark.anyio
@pytest.mark.parametrize("value", UNWRITABLE, ids=["bytes", "circular", "surrogate", "shy"])
async def test_a_value_that_cannot_be_written_is_named(value: Any) -> None:
    model = ScriptedModel([])
    with pytest.raises(InputError, match=r"the value of \{x\}, a \w+, cannot be written as text"):
        await ReactAgent(model=model, prompt="A {fine} {x}").arun(fine=1, x=value)
    with pytest.raises(InputError, match="what the prompt function gave, a"):
        await ReactAgent(model=model, prompt=lambda x: x).arun(x=value)
    with pytest.raises(AgentConfigError, match=r"prompt_vars: the value of \{x\}, a \w+, cannot be written"):
        ReactAgent(model=model, instructions="Be {x}.", prompt_vars={"x": value})
    assert model.requests == []


@pytest.mark.parametrize("prompt", ["Continue {history}", "{history?}", lambda history: history])
def test_a_parameter_named_history_is_refused_when_the_agent_is_built(prompt: Any) -> None:
    with pytest.raises(AgentConfigError, match="'history' is taken"):
        ReactAgent(model=ScriptedModel([]), prompt=prompt)
