"""C51: a key that was given to a model, a tool, a server or a run is found nowhere that leaves the process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

import flowgraph as fg
from flowgraph_nodes import Model, ModelSettings, ReactAgent, ScriptedModel, ToolContext, call, override_models

MARKER = "sk-marker-0123456789abcdef"


class Login(BaseModel):
    user: str
    token: SecretStr


def login(key: SecretStr) -> Login:
    return Login(user="ada", token=key)


def page(login: Login) -> str:
    return f"for {login.user}"


async def lookup(word: str, ctx: ToolContext) -> str:
    """Look a word up."""
    assert ctx.deps["key"] == MARKER
    raise ConnectionError(f"401 for Authorization: Bearer {MARKER}")


def pipeline() -> fg.Graph:
    settings = ModelSettings(api_key=MARKER, extra={"organization": "acme"})
    graph = fg.Graph("secrets")
    graph.input("key", SecretStr)
    graph.add("login", login)
    graph.add("page", page)
    agent = ReactAgent(model=Model("openai/gpt-5-mini", settings), tools=[lookup], prompt="Say something on {page}")
    graph.add("agent", agent)
    return graph


def everything_that_leaves(run: fg.Run, folder: Path) -> str:
    texts = [file.read_bytes().decode("utf-8", "replace") for file in folder.rglob("*") if file.is_file()]
    texts += [str(run), repr(run), *(str(fg.draw(run, format=kind)) for kind in ("svg", "dot", "mermaid"))]
    texts += [run.explain(path) for path in run.nodes]
    texts += [f"{error!r} {error}" for error in run.errors.values()]
    return "\n".join(texts)


def script() -> ScriptedModel:
    return ScriptedModel([call("lookup", word="tea"), "It could not be looked up."], name="openai/gpt-5-mini")


def test_c51_a_marker_secret_is_found_nowhere_and_a_resume_asks_for_it_again(tmp_path: Path) -> None:
    model, store = script(), tmp_path / "runs.db"
    with override_models({"openai/*": model}):
        run = fg.run(pipeline(), {"key": SecretStr(MARKER)}, store=store, deps={"key": MARKER})
    assert run.output == "It could not be looked up."
    assert MARKER not in everything_that_leaves(run, tmp_path)
    assert MARKER not in repr(fg.load_run(run.id, store=store).nodes)
    assert all(MARKER not in repr(request.messages) for request in model.requests)


def test_c51_a_run_that_needs_its_secret_again_says_so_and_goes_on_with_it(tmp_path: Path) -> None:
    graph, store, tries = pipeline(), tmp_path / "runs.db", []

    @graph.node
    def last(agent: str, login: Login) -> str:
        tries.append(login.token.get_secret_value())
        if len(tries) == 1:
            raise ConnectionError("not now")
        return agent

    with override_models({"openai/*": script()}):
        run = fg.run(graph, {"key": SecretStr(MARKER)}, store=store, deps={"key": MARKER}, raise_on_failure=False)
        with pytest.raises(fg.InputError, match="'key' held a secret and so was not stored"):
            fg.resume(graph, run.id, store=store)
        again = fg.resume(graph, run.id, store=store, inputs={"key": SecretStr(MARKER)}, deps={"key": MARKER})
    assert again.status is fg.Status.SUCCEEDED
    assert tries == [MARKER, MARKER]  # the agent was not asked again: its script would have run out
    assert MARKER not in everything_that_leaves(again, tmp_path)


def test_c51_what_is_given_to_a_run_beside_its_inputs_is_not_written_at_all(tmp_path: Path) -> None:
    graph = fg.Graph("g")

    @graph.node
    async def uses(ctx: fg.Context[dict[str, Any]]) -> str:
        return await ctx.call(lambda: len(ctx.deps["key"]), name="inner") and "done"

    run = fg.run(graph, store=tmp_path / "runs.db", deps={"key": MARKER})
    assert run.output == "done"
    assert MARKER not in everything_that_leaves(run, tmp_path)
    assert "deps" not in json.dumps([str(event) for event in run.events])
