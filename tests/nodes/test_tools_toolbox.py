"""The toolbox: a registry, and one dispatcher that gives each call its one result."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections.abc import Awaitable
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgraph_nodes.errors import DuplicateToolError, ToolDefinitionError, ToolError
from flowgraph_nodes.messages import AssistantMessage, ToolCall, UserMessage
from flowgraph_nodes.tools import Fail, Stop, Toolbox, ToolContext, tool
from flowgraph_nodes.tools.result import CANCELLED, FAILED, TIMEOUT, UNKNOWN_TOOL, cancelled
from flowgraph_nodes.tools.traffic import Ticket, Traffic
from flowgraph_nodes.transcript import Transcript


def calls(*names: str) -> list[ToolCall]:
    return [ToolCall(f"c{number}", name) for number, name in enumerate(names)]


def add(a: int, b: int) -> int:
    return a + b


def test_names_are_unique_and_tools_come_and_go() -> None:
    box = Toolbox([add])
    with pytest.raises(DuplicateToolError, match="'add' already"):
        box.add(add)
    with pytest.raises(DuplicateToolError):
        Toolbox([add, tool(time.time, name="add", schema={})])
    other = box.copy()
    other.add(tool(add, name="plus"))
    assert [item.name for item in other] == ["add", "plus"]
    assert ("plus" in other, "plus" in box, len(box)) == (True, False, 1)
    assert other.get("plus") is not None
    assert other.remove("add").name == "add"
    assert [spec.name for spec in other.specs()] == ["plus"]
    with pytest.raises(ToolError, match="no tool 'add'; there are: plus"):
        other.remove("add")


def test_wrong_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Toolbox(parallel=0)
    with pytest.raises(ToolDefinitionError, match="more than 0"):
        tool(add, timeout=0)


@pytest.mark.anyio
async def test_whatever_happens_there_is_one_result_per_call_in_call_order() -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    def fails() -> None:
        raise ValueError("it broke")

    async def fails_later() -> None:
        raise KeyError("gone")

    async def group() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fails_later)
            raise ValueError("both")

    def odd() -> None:
        raise OddError

    def leaves() -> None:
        raise SystemExit(3)

    async def stops_iteration() -> None:
        raise StopAsyncIteration

    @tool(timeout=0.05)
    async def slow() -> None:
        await anyio.sleep(30)

    @tool(timeout=0.05)
    def slow_thread() -> None:
        time.sleep(0.3)

    async def quick() -> str:
        await anyio.sleep(0)
        return "ok"

    def refuses() -> Fail:
        return Fail("not today")

    box = Toolbox([fails, fails_later, group, odd, leaves, stops_iteration, slow, slow_thread, quick, refuses])
    asked = calls(*(item.name for item in box), "qick", "")
    results = await box.execute(asked)
    assert [result.call for result in results] == asked
    kinds = {result.call.name: result.failure.kind if result.failure else None for result in results}
    assert kinds == {
        "fails": "ValueError",
        "fails_later": "KeyError",
        "group": "ExceptionGroup",
        "odd": "OddError",
        "leaves": "SystemExit",
        "stops_iteration": "StopAsyncIteration",
        "slow": TIMEOUT,
        "slow_thread": TIMEOUT,
        "quick": None,
        "refuses": FAILED,
        "qick": UNKNOWN_TOOL,
        "": UNKNOWN_TOOL,
    }
    texts = {result.call.name: result.text for result in results}
    assert texts["fails"] == "Error (ValueError): it broke"
    assert texts["group"] in (
        "Error (ExceptionGroup): ValueError: both; KeyError: 'gone'",
        "Error (ExceptionGroup): KeyError: 'gone'; ValueError: both",
        "Error (ExceptionGroup): ValueError: both",
    )
    assert texts["slow"] == "Error (Timeout): no result within 0.05 s"
    assert texts["qick"].startswith("Error (UnknownTool): no tool 'qick'; did you mean 'quick'? there are: fails, ")
    assert texts["refuses"] == "Error (Failed): not today"
    reply = AssistantMessage("", tuple(asked))
    Transcript([UserMessage("Hi")]).answer(reply, [result.message for result in results])


@pytest.mark.anyio
async def test_c13_an_exception_of_a_tool_is_a_result_for_the_model_and_the_tool_runs_once() -> None:
    runs: list[int] = []

    def flaky() -> None:
        runs.append(1)
        raise ConnectionError("no route")

    (result,) = await Toolbox([flaky]).execute(calls("flaky"))
    assert result.text == "Error (ConnectionError): no route"
    assert len(runs) == 1


@pytest.mark.anyio
async def test_c51_error_results_tell_no_secrets_and_no_stack() -> None:
    def leak() -> None:
        raise RuntimeError(
            "GET https://me:hunter2@host?api_key=abc123 'Authorization: Bearer abcdefghijkl' sk-" + "x" * 30
        )

    (result,) = await Toolbox([leak]).execute(calls("leak"))
    for secret in ("hunter2", "abc123", "abcdefghijkl", "xxxx", "Traceback"):
        assert secret not in result.text
    assert "host" in result.text


@pytest.mark.anyio
async def test_results_with_meaning() -> None:
    def stop() -> Stop:
        return Stop({"answer": 42})

    (result,) = await Toolbox([stop]).execute(calls("stop"))
    assert (result.ok, result.stop, result.value) == (True, Stop({"answer": 42}), {"answer": 42})
    assert result.text == '{"answer": 42}'


@pytest.mark.anyio
async def test_on_error_makes_the_result() -> None:
    async def later(error: Exception) -> str:
        return f"async {error}"

    def worse(error: Exception) -> str:
        raise RuntimeError("worse") from error

    def fails() -> None:
        raise ValueError("bad")

    options = {
        "plain": lambda error: {"sorry": str(error)},
        "fail": lambda _: Fail("no"),
        "later": later,
        "worse": worse,
    }
    box = Toolbox([tool(fails, name=name, on_error=option) for name, option in options.items()])
    results = await box.execute(calls("plain", "fail", "later", "worse"))
    assert [result.text for result in results] == [
        '{"sorry": "bad"}',
        "Error (Failed): no",
        "async bad",
        "Error (RuntimeError): worse",
    ]


@pytest.mark.anyio
async def test_the_context_is_handed_in() -> None:
    def who(ctx: ToolContext, name: str = "x") -> list[Any]:
        return [ctx.call.id, ctx.ctx, ctx.deps, name]

    (result,) = await Toolbox([who]).execute(calls("who"), deps={"db": 1})
    assert result.value == ["c0", None, {"db": 1}, "x"]


@pytest.mark.anyio
async def test_c52_sync_tools_leave_the_loop_free_and_run_side_by_side() -> None:
    ticks = 0

    async def heartbeat() -> None:
        nonlocal ticks
        while True:
            await anyio.sleep(0.01)
            ticks += 1

    def nap(number: int = 0) -> int:
        time.sleep(0.2)
        return number

    asked = [ToolCall(str(number), "nap", f'{{"number": {number}}}') for number in range(3)]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(heartbeat)
        start = time.monotonic()
        results = await Toolbox([nap]).execute(asked)
        took = time.monotonic() - start
        tasks.cancel_scope.cancel()
    assert [result.value for result in results] == [0, 1, 2]
    assert took < 0.5
    assert ticks >= 8


@pytest.mark.anyio
async def test_c52_awaitables_of_sync_tools_are_awaited_and_inline_tools_stay_here() -> None:
    async def value() -> str:
        return "awaited"

    def indirect() -> Awaitable[str]:
        return value()

    class Caller:
        async def __call__(self) -> str:
            return threading.current_thread().name

    def where() -> str:
        return threading.current_thread().name

    here = threading.current_thread().name
    box = Toolbox(
        [
            indirect,
            tool(functools.partial(Caller()), name="caller"),
            tool(where, name="away"),
            tool(where, name="here", inline=True),
        ]
    )
    results = await box.execute(calls("indirect", "caller", "away", "here"))
    assert [result.value for result in results[:2]] == ["awaited", here]
    assert results[2].value != here
    assert results[3].value == here


@pytest.mark.anyio
async def test_no_more_calls_than_the_cap_run_at_once_and_they_start_in_order() -> None:
    running = most = 0
    started: list[int] = []

    async def work(number: int) -> int:
        nonlocal running, most
        started.append(number)
        running += 1
        most = max(most, running)
        await anyio.sleep(0.01)
        running -= 1
        return number

    asked = [ToolCall(str(number), "work", f'{{"number": {number}}}') for number in range(10)]
    results = await Toolbox([work], parallel=3).execute(asked)
    assert [result.value for result in results] == list(range(10))
    assert most == 3
    assert started[0:10:3] == sorted(started[0:10:3])


@pytest.mark.anyio
async def test_serial_tools_wait_for_themselves_and_exclusive_ones_for_all() -> None:
    running: set[str] = set()
    log: list[tuple[str, frozenset[str]]] = []

    async def body(ctx: ToolContext) -> None:
        log.append((ctx.call.name, frozenset(running)))
        running.add(ctx.call.id)
        await anyio.sleep(0.01)
        running.discard(ctx.call.id)

    box = Toolbox(
        [tool(body, name="free"), tool(body, name="serial", serial=True), tool(body, name="alone", exclusive=True)]
    )
    await box.execute(calls("serial", "free", "serial", "alone", "serial", "free"))
    assert [name for name, _ in log[3:4]] == ["alone"]
    assert log[3][1] == frozenset()
    serial = [others for name, others in log if name == "serial"]
    assert all(not others & {"c0", "c2", "c4"} for others in serial)
    assert any(others for name, others in log if name == "free")


TRAFFIC = {
    "free": tool(add, name="free"),
    "serial": tool(add, name="serial", serial=True),
    "alone": tool(add, name="alone", exclusive=True),
}


@given(st.lists(st.sampled_from([*TRAFFIC, "unknown"]), max_size=12), st.integers(1, 4), st.randoms())
def test_traffic_lets_every_call_in_once_and_keeps_the_rules(names: list[str], parallel: int, random: Any) -> None:
    traffic = Traffic(parallel)
    tickets = [traffic.ticket(TRAFFIC.get(name)) for name in names]
    gone: list[Ticket] = []
    while len(gone) < len(tickets):
        inside = [ticket for ticket in tickets if ticket.is_open and ticket not in gone]
        assert 1 <= len(inside) <= parallel
        assert sum(ticket.line is not None for ticket in inside) <= 1
        alone = [number for number, ticket in enumerate(tickets) if ticket.alone]
        if any(ticket.alone for ticket in inside):
            assert len(inside) == 1
        for number in alone:  # nobody overtakes it, and it waits for all before it
            if tickets[number] not in gone:
                assert not any(ticket.is_open for ticket in tickets[number + 1 :])
            if tickets[number].is_open:
                assert all(ticket in gone for ticket in tickets[:number])
        serial = [ticket for ticket in tickets if ticket.line is not None]
        assert [ticket.is_open for ticket in serial] == sorted((ticket.is_open for ticket in serial), reverse=True)
        leaver = random.choice(inside)
        traffic.leave(leaver)
        gone.append(leaver)


@pytest.mark.anyio
async def test_cancelling_gets_through_and_leaves_a_result_to_give() -> None:
    ended: list[str] = []

    async def forever() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("forever")

    def thread() -> None:
        time.sleep(0.5)

    box = Toolbox([forever, thread])
    start = time.monotonic()
    with anyio.move_on_after(0.05) as scope:
        await box.execute(calls("forever", "thread"))
    assert scope.cancelled_caught
    assert ended == ["forever"]
    assert time.monotonic() - start < 0.4
    assert cancelled(calls("forever")[0]).failure is not None


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_that_a_tool_makes_up_is_an_error_result_and_a_real_one_is_not() -> None:
    async def made_up() -> None:
        raise asyncio.CancelledError

    async def forever() -> None:
        await asyncio.sleep(30)

    box = Toolbox([made_up, forever])
    (result,) = await box.execute(calls("made_up"))
    assert result.failure is not None
    assert result.failure.kind == CANCELLED
    task = asyncio.ensure_future(box.run_call(calls("forever")[0]))
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.anyio
async def test_a_keyboard_interrupt_is_never_a_result() -> None:
    async def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await Toolbox([interrupt]).run_call(calls("interrupt")[0])
