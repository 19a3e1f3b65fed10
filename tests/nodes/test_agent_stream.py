"""Watching agents: typed events, text, restarts, and leaving early."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph_nodes import Reply, ScriptedModel, call, errors
from flowgraph_nodes.agents import ReactAgent
from flowgraph_nodes.agents.stream import (
    AgentEnded,
    AgentEvent,
    CallPiece,
    ReasoningPiece,
    Restarted,
    TextPiece,
    ToolFinished,
    ToolStarted,
    TurnTaken,
    agent_event,
)
from flowgraph_nodes.models import OnDelta, Request, Response, TextDelta

pytestmark = pytest.mark.anyio


def add(a: int, b: int) -> int:
    return a + b


class Cut:
    """A model whose stream is cut once, in the middle of the reply."""

    name = "cut"

    def __init__(self) -> None:
        self.asked = 0

    def check(self) -> None: ...

    async def complete(self, request: Request, on_delta: OnDelta | None = None) -> Response:
        self.asked += 1
        assert on_delta is not None
        await on_delta(TextDelta("The answer"))
        if self.asked == 1:
            raise errors.ModelConnectionError("cut")
        await on_delta(TextDelta(" is 42."))
        return await ScriptedModel(["The answer is 42."]).complete(request)


async def test_the_events_of_an_agent_are_typed_and_come_with_their_paths() -> None:
    model = ScriptedModel([Reply(text="I add.", reasoning="Hm.", calls=[call("add", a=1, b=2)]), "It is 3."])
    async with ReactAgent(model=model, tools=[add], name="sum").stream("go") as run:
        events = [event async for event in run]
        result = await run.result()
    assert [type(event) for event in events if not isinstance(event, CallPiece)] == [
        ReasoningPiece,
        TextPiece,
        ToolStarted,
        ToolFinished,
        TurnTaken,
        TextPiece,
        TurnTaken,
        AgentEnded,
    ]
    assert [event.path for event in events if isinstance(event, TextPiece)] == ["sum/model", "sum/model~2"]
    finished = next(event for event in events if isinstance(event, ToolFinished))
    assert (finished.path, finished.result.text) == ("sum/add", "3")
    assert "".join(event.arguments for event in events if isinstance(event, CallPiece)) == '{"a": 1, "b": 2}'
    assert events[-1] == AgentEnded("sum", fg.Status.SUCCEEDED, "It is 3.")
    assert result.output == "It is 3."


async def test_nothing_is_streamed_when_nobody_listens() -> None:
    listened: list[Any] = []

    class Spy(ScriptedModel):
        async def complete(self, request: Request, on_delta: OnDelta | None = None) -> Response:
            listened.append(on_delta)
            return await super().complete(request, on_delta)

    await ReactAgent(model=Spy(["ok"])).arun("go")
    assert listened == [None]


async def test_a_retried_call_sends_a_restart() -> None:
    agent = ReactAgent(model=Cut(), model_retry=fg.Retry(attempts=2))
    async with agent.stream("go") as run:
        events = [event async for event in run if isinstance(event, TextPiece | Restarted)]
        result = await run.result()
    path = "unnamed_agent/model"
    assert events == [
        TextPiece(path, "The answer"),
        Restarted(path),
        TextPiece(path, "The answer"),
        TextPiece(path, " is 42."),
    ]
    assert (result.output, result.usage.model_calls) == ("The answer is 42.", 1)


async def test_a_fallback_sends_a_restart() -> None:
    agent = ReactAgent(model=[Cut(), ScriptedModel(["other"])], model_retry=fg.Retry(attempts=1))
    async with agent.stream("go") as run:
        kinds = [type(event) async for event in run if isinstance(event, TextPiece | Restarted)]
    assert kinds == [TextPiece, Restarted, TextPiece]


async def test_a_graph_streams_the_text_of_its_agents_nested_ones_too() -> None:
    inner = ReactAgent(model=ScriptedModel(["from below"]))
    graph = fg.Graph("g")

    @graph.node
    async def team(ctx: fg.Context) -> str:  # type: ignore[type-arg]
        answer: str = await ctx.call(inner, {"task": "go"}, name="member")
        return answer

    async with fg.start(graph) as run:
        found: list[AgentEvent] = [event async for e in run if (event := agent_event(e))]
    assert "".join(e.text for e in found if isinstance(e, TextPiece)) == "from below"
    assert {e.path for e in found if isinstance(e, TextPiece)} == {"team/member/model"}


async def test_c26_leaving_the_block_early_stops_everything() -> None:
    ran: list[int] = []

    async def note(n: int) -> None:
        ran.append(n)

    model = ScriptedModel([Reply(text="one", calls=[call("note", n=1)]), call("note", n=2), "done"])
    async with ReactAgent(model=model, tools=[note]).stream("go") as run:
        async for _ in run:
            break
    asked, noted = len(model.requests), list(ran)
    await anyio.sleep(0.02)
    assert (len(model.requests), ran) == (asked, noted)
    assert asked <= 2
    assert str(run.record.status) in ("cancelled", "succeeded")
    assert run.record.nodes["unnamed_agent"].status.final


async def test_an_error_in_the_block_is_raised_as_it_is_and_stops_the_agent() -> None:
    started = anyio.Event()

    async def hang() -> None:
        started.set()
        await anyio.sleep_forever()

    run = ReactAgent(model=ScriptedModel([call("hang")]), tools=[hang]).stream("go")

    async def watch() -> None:
        async with run:
            await started.wait()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await watch()
    assert str(run.record.status) == "cancelled"
    assert len(run.messages) == 3


async def test_the_result_of_a_failed_run_raises_what_stopped_it() -> None:
    async with ReactAgent(model=ScriptedModel([errors.BadRequestError("bad")])).stream("go") as run:
        with pytest.raises(errors.BadRequestError):
            await run.result()


async def test_a_run_that_has_not_started_says_so() -> None:
    run = ReactAgent(model=ScriptedModel(["ok"])).stream("go")
    with pytest.raises(fg.FlowgraphError, match="async with"):
        aiter(run)


async def test_every_watcher_gets_everything_side_by_side() -> None:
    model = ScriptedModel([Reply(text="I add the numbers.", calls=[call("add", a=1, b=2)]), "It is three, I think."])
    texts: dict[str, list[str]] = {"events": [], "text": [], "late": []}

    async with ReactAgent(model=model, tools=[add]).stream("go") as run:

        async def events() -> None:
            async for event in run:
                if isinstance(event, TextPiece):
                    texts["events"].append(event.text)

        async def text(name: str) -> None:
            async for piece in run.text():
                texts[name].append(piece)

        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(events)
                tasks.start_soon(text, "text")
            await text("late")
            after = [event async for event in run]
    whole = "I add the numbers.It is three, I think."
    assert {name: "".join(pieces) for name, pieces in texts.items()} == dict.fromkeys(texts, whole)
    assert isinstance(after[-1], AgentEnded)


async def test_a_watcher_that_is_cancelled_holds_up_no_other() -> None:
    go = anyio.Event()

    async def wait() -> None:
        await go.wait()

    model = ScriptedModel([call("wait"), "done"])
    async with ReactAgent(model=model, tools=[wait]).stream("go") as run:
        async with anyio.create_task_group() as first:

            async def watch() -> None:
                async for _ in run:
                    pass

            first.start_soon(watch)
            await anyio.wait_all_tasks_blocked()
            first.cancel_scope.cancel()
        with anyio.fail_after(10):
            async with anyio.create_task_group() as second:
                second.start_soon(watch)
                await anyio.wait_all_tasks_blocked()
                go.set()
            assert [piece async for piece in run.text()] == ["done"]
