"""RateLimit: how often a process may call a model; on a clock that jumps, on two backends, from several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowgraph as fg
from flowgraph.outcome import Usage
from flowgraph.testing import jumping_clock
from flowgraph_nodes import Model, ModelSettings, ReactAgent, Reply, ScriptedModel, call, override_models, tool
from flowgraph_nodes.errors import ModelConfigError, RateLimitError
from flowgraph_nodes.messages import AssistantMessage, UserMessage
from flowgraph_nodes.models import Limited, RateLimit, Request, Response
from flowgraph_nodes.models.rate import Gate, estimate
from flowgraph_nodes.transcript import Transcript
from tests.engine.stopping import on_a_jumping_clock

from .chat_server import Answer, ChatServer, Seen, error, text

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
ASK = Request(messages=Transcript([UserMessage("go")]))


def jumping(backend: str, main: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    async def run() -> None:
        await main()

    on_a_jumping_clock(backend, run)


async def begun(gate: Gate, count: int, tokens: int = 0, took: float = 0.0, used: int = 0) -> list[int]:
    """When each of so many calls at once began, in whole seconds from now."""
    start, times = anyio.current_time(), list[int]()

    async def one() -> None:
        async with gate.admitted(tokens) as admission:
            times.append(round(anyio.current_time() - start))
            await anyio.sleep(took)
            admission.told(Response(message=AssistantMessage(), usage=Usage(input_tokens=used)))

    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(one)
    return times


# -- each limit


@BACKENDS
def test_so_many_requests_begin_within_any_minute(backend: str) -> None:
    async def main() -> None:
        gate = Gate(RateLimit(requests_per_minute=2))
        assert await begun(gate, 5) == [0, 0, 60, 60, 120]
        await anyio.sleep(30)
        assert await begun(gate, 2) == [0, 30]  # one at 120 still counts until 180

    jumping(backend, main)


@BACKENDS
def test_so_many_are_in_flight(backend: str) -> None:
    async def main() -> None:
        assert await begun(Gate(RateLimit(in_flight=2)), 5, took=10) == [0, 0, 10, 10, 20]

    jumping(backend, main)


@BACKENDS
def test_tokens_are_estimated_and_then_counted(backend: str) -> None:
    async def main() -> None:
        limit = RateLimit(tokens_per_minute=100)
        assert await begun(Gate(limit), 4, tokens=50) == [0, 0, 60, 60]  # what was used is not known: the estimate
        assert await begun(Gate(limit), 4, tokens=50, used=10) == [0, 0, 0, 0]
        assert await begun(Gate(limit), 3, tokens=10, used=100) == [0, 0, 0]  # who could know
        one_by_one = RateLimit(tokens_per_minute=100, in_flight=1)
        assert await begun(Gate(one_by_one), 3, tokens=10, used=100) == [0, 60, 120]
        assert await begun(Gate(limit), 3, tokens=1000) == [0, 60, 120]  # too many for any minute: alone

    jumping(backend, main)


@BACKENDS
def test_all_limits_hold_together_and_first_come_is_first_served(backend: str) -> None:
    async def main() -> None:
        gate = Gate(RateLimit(requests_per_minute=3, tokens_per_minute=100, in_flight=1))
        order: list[str] = []

        async def one(name: str, tokens: int) -> None:
            async with gate.admitted(tokens):
                order.append(f"{name} {round(anyio.current_time() - start)}")
                await anyio.sleep(1)

        start = anyio.current_time()
        async with anyio.create_task_group() as group:
            for name, tokens in (("a", 60), ("b", 60), ("c", 10), ("d", 10), ("e", 10)):
                group.start_soon(one, name, tokens)
                await anyio.lowlevel.checkpoint()
        assert sorted(order) == sorted(["a 0", "b 60", "c 61", "d 62", "e 120"])

    jumping(backend, main)


@given(
    st.integers(1, 4),
    st.integers(1, 4) | st.none(),
    st.lists(st.tuples(st.integers(0, 90), st.integers(0, 30), st.integers(0, 90) | st.none()), max_size=12),
)
@settings(max_examples=60, deadline=None)
def test_whatever_comes_and_goes_when_no_limit_is_passed(
    requests: int, in_flight: int | None, calls: list[Any]
) -> None:
    began: list[float] = []
    over = 0

    async def main() -> None:
        gate, at_work = Gate(RateLimit(requests_per_minute=requests, in_flight=in_flight)), 0

        async def one(delay: float, took: float, patience: float | None) -> None:
            nonlocal at_work, over
            await anyio.sleep(delay)
            with anyio.move_on_after(patience):
                async with gate.admitted(0):
                    began.append(anyio.current_time())
                    at_work += 1
                    assert in_flight is None or at_work <= in_flight
                    try:
                        await anyio.sleep(took)
                    finally:
                        at_work -= 1
            over += 1

        async with anyio.create_task_group() as group:
            for row in calls:
                group.start_soon(one, *row)

    jumping("trio", main)
    assert over == len(calls)
    assert len(began) >= sum(patience is None for _, _, patience in calls)
    assert all(later - earlier >= 60 - 1e-3 for earlier, later in zip(began, began[requests:], strict=False))


# -- cancelling


@BACKENDS
def test_a_cancelled_wait_takes_nothing_and_holds_up_nobody(backend: str) -> None:
    async def main() -> None:
        gate = Gate(RateLimit(in_flight=1))
        start = anyio.current_time()
        async with anyio.create_task_group() as group:
            group.start_soon(begun, gate, 1, 0, 10.0)
            await anyio.sleep(1)
            with anyio.move_on_after(2):
                await begun(gate, 3)
            assert anyio.current_time() - start == pytest.approx(3, abs=0.1)
            assert await begun(gate, 1) == [7]
        assert await begun(gate, 1) == [0]

    jumping(backend, main)


@BACKENDS
def test_a_call_that_is_cancelled_or_fails_is_over_and_still_counts_as_a_request(backend: str) -> None:
    async def main() -> None:
        gate = Gate(RateLimit(requests_per_minute=2, in_flight=1))
        with anyio.move_on_after(5):
            await begun(gate, 1, took=100)
        with pytest.raises(ValueError, match="no"):
            async with gate.admitted(0):
                raise ValueError("no")
        assert await begun(gate, 1) == [55]

    jumping(backend, main)


# -- shared in the process


def test_it_is_shared_by_threads_with_event_loops_of_their_own() -> None:
    gate, at_work, most = Gate(RateLimit(in_flight=2)), 0, 0
    lock = threading.Lock()

    async def main() -> None:
        nonlocal at_work, most
        for _ in range(5):
            async with gate.admitted(0):
                with lock:
                    at_work += 1
                    most = max(most, at_work)
                await anyio.sleep(0.002)
                with lock:
                    at_work -= 1

    threads = [
        threading.Thread(target=anyio.run, args=(main,), kwargs={"backend": name}) for name in ["asyncio", "trio"] * 3
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)
    assert most == 2


def test_what_one_run_used_counts_in_the_next() -> None:
    model = Limited(ScriptedModel(["a", "b", "c"]), RateLimit(requests_per_minute=1))
    agent = ReactAgent(model=model, prompt="Go.", name="one")
    graph = fg.Graph("g")
    graph.add("one", agent)
    times = []

    async def main() -> None:
        start = anyio.current_time()
        run = await fg.arun(graph)
        times.append(round(anyio.current_time() - start))
        assert run.nodes["one/model"].detail.get("waited", 0) == times[-1]

    for _ in range(3):
        name, options = jumping_clock()
        anyio.run(main, backend=name, backend_options=options)
    assert times == [0, 60, 60]


def test_nested_agents_share_it_and_never_wait_for_themselves() -> None:
    def reply(request: Request) -> Any:
        if "help" in request.path or len(request.messages) > 1:
            return "done"
        return [call("help", task="a"), call("help", task="b")]

    model = Limited(ScriptedModel(reply), RateLimit(in_flight=1, requests_per_minute=2))
    inner = ReactAgent(model=model, name="helper")

    @tool(name="help")
    async def helped(task: str) -> str:
        return str((await inner.arun(task)).output)

    graph = fg.Graph("g")
    graph.add("lead", ReactAgent(model=model, tools=[helped], prompt="Go."))
    times = []

    async def main() -> None:
        start = anyio.current_time()
        assert (await fg.arun(graph))["lead"] == "done"
        times.append(round(anyio.current_time() - start))

    jumping("trio", main)
    assert times == [60]


# -- on a Model, with a real server


def model_on(server: ChatServer, **rate: Any) -> Model:
    options = ModelSettings(api_base=server.url, api_key="none", timeout=2.0)
    return Model("openai/unknown-model", options, rate=RateLimit(**rate))


class Busy:
    """Answers of a server that counts how many it makes at once."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self._lock = threading.Lock()

    def __call__(self, seen: Seen) -> Answer:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        threading.Event().wait(0.05)
        with self._lock:
            self.now -= 1
        return text("ok")


@pytest.mark.anyio
@pytest.mark.network_local
async def test_models_of_the_same_name_server_and_rate_share_it(chat_server: ChatServer) -> None:
    busy = Busy()
    chat_server.script(*[busy] * 6)
    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(ReactAgent(model=model_on(chat_server, in_flight=2)).arun, "go")
    assert busy.most == 2


@pytest.mark.anyio
@pytest.mark.network_local
async def test_waiting_is_not_the_models_time(chat_server: ChatServer) -> None:
    chat_server.script(*[Answer(text("ok").body, delay=0.4)] * 4)
    model = model_on(chat_server, in_flight=1)
    model = Model(model.name, ModelSettings(timeout=1.2).over(model.settings), rate=model.rate)
    done: list[str] = []

    async def one() -> None:
        done.append((await model.complete(ASK)).message.content)

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(one)
    assert done == ["ok"] * 4


@pytest.mark.anyio
@pytest.mark.network_local
async def test_a_retry_is_a_request_of_its_own(chat_server: ChatServer) -> None:
    chat_server.script(error(429, retry_after=0.01), text("ok"))
    retry = fg.Retry(attempts=2, on=RateLimitError)
    agent = ReactAgent(model=model_on(chat_server, in_flight=1, requests_per_minute=9), model_retry=retry)
    assert (await agent.arun("go")).output == "ok"


def test_models_that_stand_in_go_without() -> None:
    model = Model("openai/x", rate=RateLimit(requests_per_minute=1))
    times = []

    async def main() -> None:
        start = anyio.current_time()
        with override_models({"openai/*": ScriptedModel(["a"] * 5)}):
            for _ in range(5):
                await model.complete(ASK)
        times.append(anyio.current_time() - start)

    jumping("trio", main)
    assert times == [0]


def test_streams_pass_through_and_what_they_used_counts() -> None:
    used = Reply(text="x" * 20, usage=Usage(output_tokens=99))
    model, pieces, times = Limited(ScriptedModel([used] * 2), RateLimit(tokens_per_minute=100)), list[Any](), []

    async def listen(delta: Any) -> None:
        pieces.append(delta.text)

    async def main() -> None:
        start = anyio.current_time()
        for _ in range(2):
            await model.complete(ASK, listen)
        times.append(round(anyio.current_time() - start))

    jumping("trio", main)
    assert "".join(pieces) == "x" * 40
    assert times == [60]


# -- building


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2"])
@pytest.mark.parametrize("name", ["requests_per_minute", "tokens_per_minute", "in_flight"])
def test_what_is_no_limit_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ModelConfigError, match=name):
        RateLimit(**{name: value})


def test_a_rate_that_is_none_is_refused() -> None:
    with pytest.raises(ModelConfigError, match="rate is of type int, not RateLimit"):
        Model("openai/x", rate=3)  # type: ignore[arg-type]


def test_estimates_grow_with_the_request() -> None:
    long = Request(messages=Transcript([UserMessage("x" * 4000)]), settings=ModelSettings(max_tokens=500))
    assert 1500 <= estimate(long) <= 1550
    assert estimate(ASK) < 50
