"""What users test graphs with agents with: a fixture that forbids real models holds for every kind of test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import flowgraph as fg
import flowgraph_nodes
from flowgraph_nodes import ReactAgent, testing
from flowgraph_nodes.testing import ScriptedModel, no_real_models, override_models


@pytest.fixture(autouse=True)
def offline() -> Iterator[None]:
    with no_real_models():
        yield


def graph() -> fg.Graph:
    graph = fg.Graph("g")
    graph.input("topic", str)
    graph.add("answer", ReactAgent(model="openai/gpt-5-mini", prompt="What is {topic}?"))
    return graph


def test_no_sync_test_reaches_a_real_model() -> None:
    with pytest.raises(fg.GraphError, match="'openai/gpt-5-mini' is real"):
        fg.run(graph(), {"topic": "tea"})


@pytest.mark.anyio
async def test_no_async_test_does() -> None:
    with pytest.raises(fg.GraphError, match="'openai/gpt-5-mini' is real"):
        await fg.arun(graph(), {"topic": "tea"})


def test_a_scripted_model_takes_its_place() -> None:
    with override_models({"openai/*": ScriptedModel(["a drink"])}):
        assert fg.run(graph(), {"topic": "tea"}).output == "a drink"


def test_what_is_offered_is_public() -> None:
    assert set(testing.__all__) <= set(flowgraph_nodes.__all__)
