"""LoopAgent: rounds, what they are told, when they end; that it resumes without a call too many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

import flowgraph as fg
from flowgraph.outcome import Usage
from flowgraph_nodes import (
    Fail,
    LoopExhausted,
    Model,
    ModelSettings,
    Reply,
    ScriptedModel,
    Stop,
    call,
    tool,
)
from flowgraph_nodes.agents import AgentConfigError, AgentFailed
from flowgraph_nodes.agents.judge import Judge
from flowgraph_nodes.agents.loop import LoopAgent
from flowgraph_nodes.agents.sentinel import Sentinel
from flowgraph_nodes.agents.stream import AgentEnded, IterationTaken, TextPiece
from flowgraph_nodes.errors import BadRequestError, RateLimitError
from flowgraph_nodes.messages import AssistantMessage, UserMessage
from flowgraph_nodes.models import Request
from tests.engine.stopping import RUN, kept
from tests.nodes.agents.breaking import break_off_everywhere
from tests.nodes.chat_server import ChatServer, calls, error, text

pytestmark = pytest.mark.anyio


def asked(model: ScriptedModel) -> list[str]:
    """What was asked in each request, last."""
    return [request.messages[-1].content for request in model.requests]


def add(a: int, b: int) -> int:
    return a + b


# -- rounds


async def test_it_goes_on_until_the_answer_ends_with_the_word() -> None:
    model = ScriptedModel(["one", "two", "three.\n**DONE**", "never"])
    result = await LoopAgent(model=model, name="essay").arun("Write.")
    assert (result.output, result.stop_reason, len(model.requests)) == ("three.", "completed", 3)
    assert result.messages == (UserMessage("Write."), AssistantMessage("three."))


async def test_the_first_round_gets_the_task_and_how_to_finish_each_later_one_the_answer_so_far_once() -> None:
    model = ScriptedModel(["draft-one", "draft-two", "DONE"])
    await LoopAgent(model=model, instructions="Be brief.").arun("Write.")
    first, second, third = asked(model)
    assert first.startswith("Write.\n\n")
    assert "the single word DONE" in first
    assert [len(request.messages) for request in model.requests] == [2, 2, 2]  # a fresh context each, no memory
    assert (second.count("draft-one"), third.count("draft-one"), third.count("draft-two")) == (1, 0, 1)
    assert all("Write." in text and "Keep refining" in text and "DONE" in text for text in (second, third))


async def test_a_round_that_only_says_that_it_is_finished_gives_the_answer_before() -> None:
    assert (await LoopAgent(model=ScriptedModel(["the draft", "**Done!**"])).arun("go")).output == "the draft"
    assert (await LoopAgent(model=ScriptedModel(["DONE"])).arun("go")).output == "DONE"  # there is no other


async def test_strict_sentinels_and_coaching_of_ones_own() -> None:
    model = ScriptedModel(["It is not complete.", "Now it is. DONE"])
    agent = LoopAgent(model=model, stop=Sentinel(strict=True), coaching="Better, please.")
    assert (await agent.arun("go")).output == "Now it is."
    assert asked(model)[1].endswith("Better, please.")


async def test_each_round_is_a_whole_react_loop_with_its_own_cap() -> None:
    model = ScriptedModel([call("add", a=1, b=2), "three", call("add", a=2, b=2), "four DONE"])
    graph = fg.Graph("g")
    graph.add("sums", LoopAgent(model=model, tools=[add], prompt="Add.", max_turns=2))
    run = await fg.arun(graph)
    assert run["sums"] == "four DONE"  # a part of the sentence, so it stays
    paths = [node.path for node in run.root.walk() if node.kind != "tool"]
    assert paths[1:] == ["sums", "sums#0", "sums#0/model", "sums#0/model~2", "sums#1", "sums#1/model", "sums#1/model~2"]
    assert run.nodes["sums"].detail["iterations"] == 2
    assert run.nodes["sums"].detail["turns"] == 4
    assert run.nodes["sums#0"].detail["stop_reason"] == "completed"
    assert run.usage.model_calls == 4


async def test_it_continues_a_conversation_in_every_round() -> None:
    model = ScriptedModel(["a", "b DONE"])
    before = (UserMessage("hello"), AssistantMessage("hi"))
    result = await LoopAgent(model=model).arun("go", history=before)
    assert [request.messages[:2] for request in model.requests] == [before, before]
    assert result.new_messages == (UserMessage("go"), AssistantMessage("b DONE"))


async def test_one_agent_serves_many_runs() -> None:
    agent = LoopAgent(model=ScriptedModel(lambda request: "DONE" if "x" in asked_in(request) else "x"))
    assert [(await agent.arun("go")).output for _ in range(2)] == ["x", "x"]


def asked_in(request: Request) -> str:
    return request.messages[-1].content.partition("so far:")[2]


# -- stop rules


async def _long(answer: str) -> bool:
    return len(answer) > 2


@pytest.mark.parametrize(
    "stop", [_long, lambda answer: len(answer) > 2, "len(output) > 2", lambda output, iteration: iteration == 2]
)
async def test_a_function_or_expression_says_when(stop: Any) -> None:
    model = ScriptedModel(["a DONE"[:1], "bb", "ccc", "dddd"])
    agent = LoopAgent(model=model, stop=stop)
    assert (await agent.arun("go")).output == "ccc"
    assert asked(model)[0] == "go"
    assert "DONE" not in asked(model)[1]


async def test_a_function_that_raises_fails_the_agent() -> None:
    def broken(answer: str) -> bool:
        raise ValueError("no")

    with pytest.raises(fg.ConditionError, match=r"stop= \(broken\) raised in round 0: .*no"):
        await LoopAgent(model=ScriptedModel(["a"]), stop=broken).arun("go")


async def test_a_judge_says_when_and_what_is_missing_goes_to_the_next_round() -> None:
    judging = ScriptedModel(
        [call("final_answer", finished=False, missing="no title"), call("final_answer", finished=True)]
    )
    model = ScriptedModel(["draft", "titled draft"])
    graph = fg.Graph("g")
    graph.add("essay", LoopAgent(model=model, prompt="Write.", stop=Judge(model=judging, criteria="It has a title.")))
    run = await fg.arun(graph)
    assert run["essay"] == "titled draft"
    assert "no title" in asked(model)[1]
    assert "It has a title." in judging.requests[0].messages[0].content
    assert "Write." in asked(judging)[0]
    assert "draft" in asked(judging)[0]
    assert [p for p in run.nodes if p.startswith("essay/judge") and p.endswith("model")] == [
        "essay/judge#0/model",
        "essay/judge#1/model",
    ]


async def test_a_model_alone_is_a_judge_too_and_its_problems_are_the_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    judging = ScriptedModel([call("final_answer", finished=True)])
    assert (await LoopAgent(model=ScriptedModel(["x"]), stop=judging).arun("go")).output == "x"
    agent = LoopAgent(model=ScriptedModel(["x"]), stop=Model("openai/gpt-5-mini"))
    assert any(problem.startswith("judge: ") and "no key" in problem for problem in agent.problems())


@tool
def finish() -> str:
    """Say that it is finished."""
    return "ok"


@tool
async def submit(report: str) -> Stop:
    return Stop(report)


@tool
async def check(report: str) -> Stop | Fail:
    return Stop(report) if len(report) > 2 else Fail("too short")


@pytest.mark.parametrize(
    ("stop", "script", "output"),
    [
        (finish, ["draft", Reply(text="better", calls=[call("finish")])], "better"),
        (finish, ["draft", call("finish")], "draft"),
        (finish, [Reply(text="said", calls=[call("add", a=1, b=1)]), call("finish")], "said"),
        (submit, ["draft", call("submit", report="the report")], "the report"),
        (check, [call("check", report="r"), call("check", report="report")], "report"),
        (tool(finish.target, name="end"), ["draft", [call("add", a=1, b=2), call("end")]], "draft"),
    ],
    ids=["text", "before", "said", "payload", "refused", "last"],
)
async def test_a_tool_says_when(stop: Any, script: list[Any], output: str) -> None:
    model = ScriptedModel(script)
    result = await LoopAgent(model=model, stop=stop, tools=[add]).arun("go")
    assert result.output == output
    assert stop.name in asked(model)[0]
    assert len(model.requests) == len(script)
    assert result.usage.tool_calls == sum("add" in repr(step) for step in script)  # it only steers


async def test_a_tool_that_stops_ends_the_loop_under_every_rule() -> None:
    model = ScriptedModel(["draft", call("submit", report="given up")])
    assert (await LoopAgent(model=model, tools=[submit]).arun("go")).output == "given up"


class Essay(BaseModel):
    title: str
    words: int


async def test_answers_of_a_type() -> None:
    model = ScriptedModel([call("final_answer", title="a", words=1), call("final_answer", title="b", words=9)])
    agent = LoopAgent(model=model, output_type=Essay, stop="output.words > 5")
    assert (await agent.arun("go")).output == Essay(title="b", words=9)
    assert '"title": "a"' in asked(model)[1]


# -- exhausted


async def test_exhausted_is_an_error_with_the_last_answer_and_the_count() -> None:
    with pytest.raises(LoopExhausted, match="not done after 3 iterations") as caught:
        await LoopAgent(model=ScriptedModel(["a", "b", "c"]), max_iterations=3, name="essay").arun("go")
    failed: Any = caught.value
    assert isinstance(failed, AgentFailed)
    assert (failed.last, failed.partial, failed.iterations, failed.stalled) == ("c", "c", 3, False)
    assert failed.reason == "limit"
    assert failed.messages == (UserMessage("go"), AssistantMessage("c"))  # to go on from


async def test_exhausted_can_take_the_last_or_the_best_answer() -> None:
    answers = ["aa", "aaaa", "a"]
    last = LoopAgent(model=ScriptedModel(answers), max_iterations=3, on_exhausted="last")
    assert (await last.arun("go")).output == "a"
    for score in (len, "len(output)", lambda output, history: len(output)):
        best = LoopAgent(model=ScriptedModel(answers), max_iterations=3, on_exhausted="best", score=score)
        result = await best.arun("go")
        assert (result.output, result.stop_reason) == ("aaaa", "completed")
        assert result.messages[-1] == AssistantMessage("aaaa")


@pytest.mark.parametrize(("stall", "rounds"), [(2, 3), (3, 4), (None, 6)])
async def test_the_same_answer_again_is_a_stall(stall: int | None, rounds: int) -> None:
    model = ScriptedModel(["a", *["b"] * 5])
    with pytest.raises(LoopExhausted) as caught:
        await LoopAgent(model=model, stall=stall, max_iterations=6).arun("go")
    assert (caught.value.stalled, caught.value.iterations) == (stall is not None, rounds)
    assert len(model.requests) == rounds


# -- failures and limits


async def test_a_round_that_fails_fails_the_agent_and_the_drafts_stay_in_the_record() -> None:
    graph = fg.Graph("g")
    graph.add("essay", LoopAgent(model=ScriptedModel(["draft", "", "", ""]), prompt="Write."))
    run = await fg.arun(graph, raise_on_failure=False)
    failed: Any = run.errors["essay"]
    assert (type(failed), failed.reason, "essay#1" in str(failed)) == (AgentFailed, "limit", True)
    assert run.nodes["essay"].detail["stop_reason"] == "limit"
    assert run.nodes["essay#0"].value.output == "draft"


async def test_the_nodes_retry_starts_the_rounds_anew() -> None:
    model = ScriptedModel(["a", BadRequestError("no"), "b", "c DONE"])
    graph = fg.Graph("g")
    retry = fg.Retry(attempts=2, on=lambda error: True)
    graph.add("essay", LoopAgent(model=model, prompt="Write.", max_turns=1), retry=retry)
    run = await fg.arun(graph, raise_on_failure=False)
    assert isinstance(run.errors["essay"], BadRequestError)  # permanent: no retry helps
    model = ScriptedModel(["a", "", "b", "c DONE"])
    graph = fg.Graph("g")
    graph.add("essay", LoopAgent(model=model, prompt="Write.", max_nudges=0), retry=retry)
    assert (await fg.arun(graph))["essay"] == "c DONE"


async def test_a_transient_error_is_retried_within_the_round() -> None:
    model = ScriptedModel(["a", RateLimitError("slow"), "b DONE"])
    agent = LoopAgent(model=model, model_retry=fg.Retry(attempts=2, on=RateLimitError))
    assert (await agent.arun("go")).output == "b DONE"


async def test_limits_hold_across_rounds() -> None:
    model = ScriptedModel([Reply(text=f"draft {n}", usage=Usage(input_tokens=60)) for n in range(9)])
    agent = LoopAgent(model=model, limits=fg.Limits(tokens=100))
    with pytest.raises(fg.LimitExceeded):
        await agent.arun("go")
    assert len(model.requests) == 2


# -- building


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_iterations": 0}, "max_iterations=0"),
        ({"max_turns": 0}, "max_turns=0"),
        ({"stall": 1}, "stall=1"),
        ({"stop": "DONE"}, "stop= asks for 'DONE'"),
        ({"stop": 3}, "stop= wants a callable"),
        ({"stop": lambda one, two: True}, "stop= asks for 'one'"),
        ({"stop": finish, "tools": [finish]}, "there is a tool 'finish' already"),
        ({"output_type": int}, "a Sentinel reads the end of a text"),
        ({"on_exhausted": "first"}, "on_exhausted='first'"),
        ({"on_exhausted": "best"}, "score= and on_exhausted='best' go together"),
        ({"score": len}, "score= and on_exhausted='best' go together"),
        ({"coaching": 3}, "coaching=3 is no text"),
    ],
)
def test_what_does_not_fit_is_said_when_it_is_built(options: dict[str, Any], words: str) -> None:
    with pytest.raises(AgentConfigError) as caught:
        LoopAgent(model=ScriptedModel([]), **options)
    assert words in str(caught.value)


def test_sub_agents_are_refused() -> None:
    with pytest.raises(TypeError, match="sub_agents"):
        LoopAgent(model=ScriptedModel([]), sub_agents=[])  # type: ignore[call-arg]


# -- watching


async def test_a_stream_shows_every_round_with_its_number() -> None:
    agent = LoopAgent(model=ScriptedModel(["first draft", "second draft DONE"]), name="essay")
    async with agent.stream("go") as run:
        seen = [event async for event in run]
        pieces = "".join([piece async for piece in run.text()])
    assert pieces == "first draftsecond draft DONE"
    texts = [(event.iteration, event.text) for event in seen if isinstance(event, TextPiece)]
    assert "".join(text for number, text in texts if number == 0) == "first draft"
    assert "".join(text for number, text in texts if number == 1) == "second draft DONE"
    rounds = [(e.number, e.output, e.finished, e.iteration) for e in seen if isinstance(e, IterationTaken)]
    assert rounds == [(0, "first draft", False, None), (1, "second draft DONE", True, None)]
    ends = [(event.path, event.output) for event in seen if isinstance(event, AgentEnded)]
    assert ends[0] == ("essay#0", "first draft")
    assert ends[-1] == ("essay", "second draft DONE")


# -- resuming: what the models say depends on what they are asked, as another process would see it


def looped(asked: Callable[[str], object]) -> fg.Graph:
    def reply(request: Request) -> Any:
        asked(request.path)
        number = int(request.path.partition("#")[2])
        if len(request.messages) == 1:
            return call("add", call_id=f"add-{number}", a=number, b=1)
        return f"draft {number}" + (". DONE" if number == 2 else "")

    graph = fg.Graph("g")
    graph.add("essay", LoopAgent(model=ScriptedModel(reply), tools=[add], prompt="Write."))
    return graph


def judged(asked: Callable[[str], object]) -> fg.Graph:
    def reply(request: Request) -> Any:
        asked(request.path)
        if "judge" not in request.path:
            return f"draft {request.path}"
        return call("final_answer", call_id="v", finished=request.path.endswith("#1"), missing="all of it")

    graph = fg.Graph("g")
    graph.add("essay", LoopAgent(model=ScriptedModel(reply), prompt="Write.", stop=ScriptedModel(reply)))
    return graph


def exhausted(asked: Callable[[str], object]) -> fg.Graph:
    def reply(request: Request) -> str:
        asked(request.path)
        return f"draft {request.path}"

    graph = fg.Graph("g")
    graph.add("essay", LoopAgent(model=ScriptedModel(reply), prompt="Write.", max_iterations=2))
    return graph


@pytest.mark.parametrize(("build", "calls"), [(looped, 6), (judged, 4), (exhausted, 2)])
async def test_killed_after_any_event_and_resumed_no_model_call_is_made_twice(build: Any, calls: int) -> None:
    whole = await break_off_everywhere(build)
    assert whole.usage.model_calls == calls


def test_an_exhausted_agent_is_the_same_error_when_it_is_loaded() -> None:
    _, store = kept(exhausted(list), run_id=RUN)
    failed: Any = fg.load_run(RUN, store=store).errors["essay"]
    assert isinstance(failed, LoopExhausted)
    assert (failed.last, failed.iterations, failed.reason) == ("draft essay#1", 2, "limit")


# -- through litellm, with a real server


@pytest.mark.network_local
@pytest.mark.parametrize("stream", [False, True])
async def test_through_a_real_server(chat_server: ChatServer, stream: bool) -> None:
    chat_server.script(
        calls(("a", "add", '{"a": 1, "b": 2}')), text("Three."), error(429, retry_after=0.01), text("It is 3.\n\nDONE")
    )
    model = Model("openai/unknown-model", ModelSettings(api_base=chat_server.url, api_key="none"))
    agent = LoopAgent(model=model, tools=[add], model_retry=fg.Retry(attempts=2))
    if stream:
        async with agent.stream("1 + 2?") as run:
            result = await run.result()
    else:
        result = await agent.arun("1 + 2?")
    assert (result.output, result.usage.model_calls) == ("It is 3.", 3)
    assert chat_server.requests[2].body["messages"][0]["content"].count("Three.") == 1
