"""PlanExecuteAgent: a plan, its steps, and a new look after each; models by role, caps, resumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

import flowgraph as fg
from flowgraph.outcome import Usage
from flowgraph_nodes import Model, ModelSettings, Reply, Scripted, ScriptedModel, call
from flowgraph_nodes.agents import AgentConfigError, AgentFailed
from flowgraph_nodes.agents.plan_execute import PlanExecuteAgent
from flowgraph_nodes.agents.stream import TurnTaken
from flowgraph_nodes.errors import BadRequestError
from flowgraph_nodes.messages import AssistantMessage, UserMessage
from flowgraph_nodes.models import ForcedTool, Request
from tests.nodes.agents.breaking import break_off_everywhere
from tests.nodes.chat_server import ChatServer, calls, text

pytestmark = pytest.mark.anyio


def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


def plan(*steps: str) -> Any:
    return call("plan", steps=list(steps))


def answer(words: str) -> Any:
    return call("answer", answer=words)


def scripts(planner: list[Any], steps: list[Any], looks: list[Any]) -> dict[str, ScriptedModel]:
    """The models of the roles."""
    return {"planner": ScriptedModel(planner), "executor": ScriptedModel(steps), "replanner": ScriptedModel(looks)}


def agent_with(models: dict[str, ScriptedModel], **options: Any) -> PlanExecuteAgent:
    return PlanExecuteAgent(model=ScriptedModel([]), **{"tools": [add], "name": "sums", **models, **options})


# -- a plan and its steps


async def test_a_plan_is_made_done_and_looked_at_until_there_is_an_answer() -> None:
    models = scripts(
        [plan("add 1 and 2", "double it")],
        [call("add", a=1, b=2), "3", "it is 6"],
        [plan("double it well"), answer("Six.")],
    )
    result = await agent_with(models, instructions="Be brief.").arun("Twice the sum?")
    assert (result.output, result.stop_reason, result.usage.model_calls, result.usage.tool_calls) == (
        "Six.",
        "completed",
        6,
        1,
    )
    assert result.messages[1:] == (UserMessage("Twice the sum?"), AssistantMessage("Six."))
    planner, executor, replanner = (models[role].requests for role in ("planner", "executor", "replanner"))
    assert planner[0].tool_choice == ForcedTool("plan")
    assert [spec.name for spec in planner[0].tools] == ["plan"]
    assert "add: The sum of two numbers." in planner[0].messages[1].content  # what the steps can be done with
    assert [spec.name for spec in executor[0].tools] == ["add"]
    assert [spec.name for spec in replanner[0].tools] == ["plan", "answer"]
    assert replanner[0].tool_choice == "required"
    assert all(request.messages[0].content.startswith("Be brief.") for request in (*planner, *executor, *replanner))
    assert len(executor[2].messages) == 2  # a fresh context for each step
    told = executor[2].messages[1].content
    assert "1. [done] add 1 and 2\n3" in told
    assert "2. [now] double it well" in told  # the new plan
    assert "double it\n" not in told
    assert "2. [left] double it" in replanner[0].messages[1].content


async def test_the_steps_are_children_and_the_plan_is_a_detail() -> None:
    models = scripts([plan("one", "two")], ["1", "2"], [plan("two b"), answer("done")])
    graph = fg.Graph("g")
    graph.add("sums", agent_with(models, prompt="Go."))
    run = await fg.arun(graph)
    paths = [path for path in run.nodes if path.count("/") == 1]
    assert paths == ["sums/plan", "sums/step#0", "sums/replan#0", "sums/step#1", "sums/replan#1"]
    assert run.nodes["sums"].detail["plan"] == [{"step": "one", "status": "done"}, {"step": "two b", "status": "done"}]
    assert run.nodes["sums"].detail["turns"] == 5
    drawn = str(fg.draw(run))
    assert "step#0" in drawn or "one" in drawn


async def test_one_model_can_play_all_roles() -> None:
    model = Scripted({"sums/plan": [plan("one")], "sums/step": ["1"], "sums/replan": [answer("done")]})
    assert (await PlanExecuteAgent(model=model, name="sums").arun("go")).output == "done"
    planner = ScriptedModel([plan("one"), answer("done")])  # also looks at it, unless there is another for that
    assert (await PlanExecuteAgent(model=ScriptedModel(["1"]), planner=planner).arun("go")).output == "done"


class Total(BaseModel):
    total: int


async def test_answers_of_a_type_and_one_that_does_not_fit_is_told() -> None:
    looks = [call("final_answer", total="many"), call("final_answer", total=6)]
    result = await agent_with(scripts([plan("one")], ["6"], looks), output_type=Total).arun("go")
    assert result.output == Total(total=6)
    assert result.messages[-1] == AssistantMessage('{"total": 6}')


async def test_it_continues_a_conversation_in_every_role() -> None:
    models = scripts([plan("one")], ["1"], [answer("done")])
    before = (UserMessage("hello"), AssistantMessage("hi"))
    result = await agent_with(models).arun("go", history=before)
    for model in models.values():
        assert [m for m in model.requests[0].messages if m in before] == list(before)
    assert result.new_messages == (UserMessage("go"), AssistantMessage("done"))


# -- what goes wrong


async def test_a_step_that_fails_is_told_to_the_replanner() -> None:
    models = scripts(
        [plan("hard")], [call("add", a=1, b=1), Reply(text="nearly", calls=[call("add", a=1, b=2)])], [answer("No.")]
    )
    graph = fg.Graph("g")
    graph.add("sums", agent_with(models, prompt="Go.", max_turns=2))
    run = await fg.arun(graph)
    assert run["sums"] == "No."
    assert run.nodes["sums/step#0"].status is fg.Status.FAILED
    assert run.nodes["sums"].detail["plan"] == [{"step": "hard", "status": "failed"}]
    told = models["replanner"].requests[0].messages[1].content
    assert "1. [failed] hard\nIt stopped (limit): max_turns=2" in told
    assert "Its last words were: nearly" in told


async def test_plans_that_will_not_do_are_told_and_then_it_fails() -> None:
    script = [plan(), plan(" "), plan("one")]
    models = scripts(script, ["1"], [answer(" "), "text", answer("ok")])
    assert (await agent_with(models).arun("go")).output == "ok"
    assert "at least one step" in models["planner"].requests[1].messages[-1].content
    assert "call the tool plan or answer" in models["replanner"].requests[2].messages[-1].content
    for planner in ([plan()] * 3, ["text"] * 3, [""] * 3):
        with pytest.raises(AgentFailed, match="3 replies came without a valid call of plan") as caught:
            await agent_with(scripts(planner, [], [])).arun("go")
        assert caught.value.reason == "limit"


async def test_max_plan_cycles_caps_it_and_the_replanner_knows() -> None:
    models = scripts([plan("one", "two")], ["1", "2"], [plan("two"), plan("three")])
    with pytest.raises(AgentFailed, match="max_plan_cycles=2 steps were done") as caught:
        await agent_with(models, max_plan_cycles=2).arun("go")
    assert (caught.value.reason, caught.value.partial) == ("limit", "2")
    said = [request.messages[-1].content for request in models["replanner"].requests]
    assert "1 more steps can be done" in said[0]
    assert "answer now" in said[1]


async def test_the_providers_error_fails_it() -> None:
    with pytest.raises(BadRequestError):
        await agent_with(scripts([plan("one")], [BadRequestError("no")], [])).arun("go")


async def test_limits_hold_across_all_roles() -> None:
    used = Usage(input_tokens=40)
    planner = Reply(calls=[plan("one")], usage=used)
    models = scripts([planner], [Reply(text="1", usage=used)], [Reply(calls=[plan("two")], usage=used)])
    with pytest.raises(fg.LimitExceeded):
        await agent_with(models, limits=fg.Limits(tokens=100)).arun("go")
    assert [len(model.requests) for model in models.values()] == [1, 1, 1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_plan_cycles": 0}, "max_plan_cycles=0"),
        ({"max_turns": 0}, "max_turns=0"),
        ({"planner": ""}, "planner: an empty model name"),
        ({"replanner": 3}, "replanner: something of type int is no model"),
        ({"executor": []}, "executor: an empty list"),
    ],
)
def test_what_does_not_fit_is_said_when_it_is_built(options: dict[str, Any], words: str) -> None:
    with pytest.raises(AgentConfigError) as caught:
        PlanExecuteAgent(model=ScriptedModel([]), **options)
    assert words in str(caught.value)


def test_the_problems_of_every_roles_model_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    agent = PlanExecuteAgent(model=ScriptedModel([]), planner="openai/gpt-5-mini")
    assert len(agent.problems()) == 1
    assert "no key" in agent.problems()[0]


# -- watching, resuming, a real server


async def test_a_stream_shows_the_turns_of_every_part() -> None:
    agent = agent_with(scripts([plan("one")], ["1"], [answer("done")]))
    async with agent.stream("go") as run:
        seen = [event.path async for event in run if isinstance(event, TurnTaken)]
        assert (await run.result()).output == "done"
    assert seen == ["sums/plan", "sums/step#0", "sums/replan#0"]


@pytest.mark.parametrize("fails", [False, True])
async def test_killed_after_any_event_and_resumed_no_model_call_is_made_twice(fails: bool) -> None:
    def build(asked: Callable[[str], object]) -> fg.Graph:
        def reply(request: Request) -> Any:
            asked(request.path)
            if request.path == "sums/plan":
                return call("plan", call_id="p", steps=["one", "two"])
            if request.path == "sums/replan#0":
                return call("plan", call_id="r", steps=["two b"])
            if request.path == "sums/replan#1":
                return call("answer", call_id="a", answer="done")
            if len(request.messages) == 1 or fails:
                return call("add", call_id=f"add-{len(request.messages)}", a=1, b=2)
            return "three"

        graph = fg.Graph("g")
        agent = PlanExecuteAgent(model=ScriptedModel(reply), tools=[add], prompt="Go.", max_turns=2)
        graph.add("sums", agent)
        return graph

    whole = await break_off_everywhere(build)
    assert (whole["sums"], whole.usage.model_calls) == ("done", 7)


@pytest.mark.network_local
async def test_through_a_real_server(chat_server: ChatServer) -> None:
    chat_server.script(
        calls(("a", "plan", '{"steps": ["add"]}')),
        calls(("b", "add", '{"a": 1, "b": 2}')),
        text("3"),
        calls(("c", "answer", '{"answer": "It is 3."}')),
    )
    model = Model("openai/unknown-model", ModelSettings(api_base=chat_server.url, api_key="none"))
    result = await PlanExecuteAgent(model=model, tools=[add]).arun("1 + 2?")
    assert (result.output, result.usage.model_calls) == ("It is 3.", 4)
    wire = [request.body.get("tool_choice") for request in chat_server.requests]
    assert wire == [{"type": "function", "function": {"name": "plan"}}, None, None, "required"]
