"""The cases (by their numbers), and people who are asked, in agents that are made of parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph.outcome import Usage
from flowgraph.stores import MemoryStore
from flowgraph_nodes import (
    LoopAgent,
    NeedsFeedback,
    PlanExecuteAgent,
    ReactAgent,
    Reply,
    ScriptedModel,
    Team,
    call,
    tool,
)
from flowgraph_nodes.agents import Agent, AgentFailed
from flowgraph_nodes.models import Request
from tests.nodes.mcp.servers import alive, pids, raw

pytestmark = pytest.mark.anyio

Make = Callable[..., Agent]


def loop(model: Any, **options: Any) -> Agent:
    return LoopAgent(model=model, **{"name": "a", "max_iterations": 3, **options})


def planned(model: Any, **options: Any) -> Agent:
    def planning(request: Request) -> Any:
        first = request.path.endswith("/plan")
        return call("plan", call_id="p", steps=["one"]) if first else call("answer", call_id="a", answer="done")

    return PlanExecuteAgent(model=model, planner=ScriptedModel(planning), **{"name": "a", **options})


def add(a: int, b: int) -> int:
    return a + b


async def test_c26_who_stops_listening_stops_the_agent() -> None:
    async def slow(request: Request) -> str:
        await anyio.sleep(0.02)
        return f"draft {request.path}"

    model = ScriptedModel(slow)
    async with loop(model, max_iterations=9).stream("go") as run:
        async for _ in run:
            break
    assert len(model.requests) <= 2
    count = len(model.requests)
    await anyio.sleep(0.05)
    assert len(model.requests) == count


async def test_c27_c28_what_is_used_counts_once_and_an_unknown_price_is_marked() -> None:
    known = Usage(input_tokens=10, output_tokens=5, cost=0.5)
    unknown = Usage(input_tokens=10, output_tokens=5, partial=True)
    script = [Reply(text="a", usage=known), Reply(text="b", usage=unknown), Reply(text="c DONE", usage=known)]
    used = (await loop(ScriptedModel(script)).arun("go")).usage
    assert (used.input_tokens, used.output_tokens, used.cost, used.partial) == (30, 15, 1.0, True)


@pytest.mark.parametrize("make", [loop, planned])
async def test_c38_the_same_failing_call_again_and_again_stops_the_round_or_step(make: Make) -> None:
    bad = call("add", a="x", b=1)
    model = ScriptedModel([bad] * 50)
    agent = make(model, tools=[add], tool_retry=2, max_turns=50)
    if make is planned:
        assert (await agent.arun("go")).output == "done"  # the re-planner was told, and answered
    else:
        with pytest.raises(AgentFailed) as caught:
            await agent.arun("go")
        assert caught.value.reason == "tool_failures"
    assert len(model.requests) == 3


async def test_c39_empty_replies_are_never_an_answer() -> None:
    model = ScriptedModel([Reply(text="working", calls=[call("add", a=1, b=2)]), " ", "done. DONE"])
    assert (await loop(model, tools=[add]).arun("go")).output == "done."
    with pytest.raises(AgentFailed, match="max_nudges"):
        await loop(ScriptedModel(["draft", "", " ", Reply(reasoning="hm")])).arun("go")


@pytest.mark.parametrize("make", [loop, planned])
async def test_c53_one_slot_is_enough(make: Make) -> None:
    def reply(request: Request) -> Any:
        return "done. DONE" if len(request.messages) > 1 else [call("inner", task="a"), call("inner", task="b")]

    inner = ReactAgent(model=ScriptedModel(lambda request: "inner"), name="inner")

    @tool(name="inner")
    async def asked(task: str) -> str:
        return str((await inner.arun(task)).output)

    graph = fg.Graph("g")
    graph.add("team", Team({"one": make(ScriptedModel(reply), tools=[asked])}), values={"assignments": [("one", "x")]})
    with anyio.fail_after(10):
        run = await fg.arun(graph, max_concurrency=1)
    assert run["team"][0].ok


@pytest.mark.parametrize("make", [loop, planned])
async def test_c14_a_cancelled_agent_asks_no_more(make: Make) -> None:
    entered = anyio.Event()

    async def wait(request: Request) -> str:
        entered.set()
        await anyio.sleep_forever()
        return ""

    model = ScriptedModel(wait)
    async with make(model).stream("go") as run:
        await entered.wait()
        run.cancel()
        with pytest.raises(fg.RunCancelled):
            await run.result()
    assert len(model.requests) == 1
    assert run.record.nodes["a"].detail["stop_reason"] == "cancelled"


@pytest.mark.parametrize("make", [loop, planned])
async def test_servers_of_tools_are_started_once_for_all_rounds_and_steps(make: Make, tmp_path: Path) -> None:
    def reply(request: Request) -> Any:
        if len(request.messages) == 1:
            name = next(spec.name for spec in request.tools if spec.name.endswith("echo"))
            return call(name, call_id="e")
        return "done. DONE" if request.path in ("a#1", "a/step#0") else "draft"

    model, file = ScriptedModel(reply), tmp_path / "pids"
    assert (await make(model, mcp=raw(options={"pid_file": str(file)})).arun("go")).output.startswith("done")
    assert len(pids(file)) == 1
    assert not alive(pids(file)[0])
    assert len(model.requests) == (4 if make is loop else 2)


@tool
async def which(question: str) -> NeedsFeedback:
    return NeedsFeedback(question)


@pytest.mark.parametrize("make", [loop, planned])
async def test_people_can_be_asked_within_rounds_and_steps(make: Make) -> None:
    def reply(request: Request) -> Any:
        answered = request.messages[-1].content == "the red one"
        return "red. DONE" if answered else call("which", call_id="w", question="Which one?")

    def build() -> fg.Graph:
        graph = fg.Graph("g")
        graph.add("a", make(ScriptedModel(reply), tools=[which], prompt="Choose."))
        return graph

    store = MemoryStore()
    paused = await fg.arun(build(), store=store, run_id="r", raise_on_failure=False)
    assert paused.status is fg.Status.PAUSED
    (gate,) = paused.gates
    assert gate.path.startswith(("a#0/", "a/step#0/"))
    run = await fg.aresume(build(), "r", store=store, answers={gate.path: "the red one"})
    assert run["a"] in ("red.", "done")
