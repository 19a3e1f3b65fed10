"""Whatever a model replies: what is sent back is valid for a strict provider, nothing raises, nothing runs twice."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import flowgraph as fg
from flowgraph.stores import MemoryStore
from flowgraph_nodes import Fail, GiveUp, NeedsFeedback, ReactAgent, Reply, Stop, ToolCall, ToolContext, tool
from flowgraph_nodes.agents import AgentFailed
from flowgraph_nodes.models.base import MALFORMED

from .strict_provider import Refused, StrictModel, check

TOOLS = ["ok", "slow", "raises", "refuses", "asks", "stops", "gives_up", "serial", "alone", "approved", "flaky", "big"]

ids = st.sampled_from(["", "a", "a", "b", "call-1-0", "call-3-1", "with space", "ünï", "x" * 70, "\n"])
names = st.one_of(st.sampled_from(TOOLS), st.sampled_from(["", "nope", "functions.ok", "ök", "o k", "y" * 80]))
arguments = st.one_of(
    st.integers(0, 9).map(lambda n: json.dumps({"n": n})),
    st.sampled_from(["", " ", "null", "[]", "3", '{"n":', '"{\\"n\\": 1}"', '{"n": "4"}', '{"m": 1}', '{"n": NaN}']),
    st.sampled_from(['{"n": 1, "n": 2}', '"\\ud800"', "[" * 2000, '{"n": [[]]}', "\ud83d", '{"n": null}']),
)
calls = st.builds(ToolCall, ids, names, arguments)
texts = st.sampled_from(
    ["", "3", '{"answer": 3}', "  ", "An answer.", "Let me see", '{"name": "ok"}', "\n\t", "\ud83d"]
)
reasons = st.sampled_from([None, None, None, "length", "stop", "tool_calls", "content_filter", MALFORMED])
replies = st.builds(
    lambda text, calls, reason, thought: Reply(text=text, calls=calls, finish_reason=reason, reasoning=thought),
    texts,
    st.lists(calls, max_size=5),
    reasons,
    st.sampled_from(["", "hm"]),
)


class Bench:
    """Tools of all kinds, and how often each call of the model was run."""

    def __init__(self) -> None:
        self.runs: Counter[str] = Counter()
        self.tries: Counter[str] = Counter()

    def _ran(self, ctx: ToolContext) -> str:
        assert ctx.ctx is not None
        self.runs[ctx.ctx.path] += 1
        return ctx.ctx.path

    def tools(self) -> list[Any]:
        async def ok(ctx: ToolContext, n: int = 0) -> int:
            self._ran(ctx)
            await anyio.sleep(0)
            return n

        async def slow(ctx: ToolContext, n: int) -> None:
            self._ran(ctx)
            await anyio.sleep(30)

        async def raises(ctx: ToolContext, n: int = 0) -> None:
            self._ran(ctx)
            raise ValueError(f"no {n}")

        async def refuses(ctx: ToolContext) -> Fail:
            self._ran(ctx)
            return Fail("not today")

        async def asks(ctx: ToolContext, n: int = 0) -> NeedsFeedback:
            self._ran(ctx)
            return NeedsFeedback("Which?", ("this", "that"))

        async def stops(ctx: ToolContext, n: int) -> Stop:
            self._ran(ctx)
            return Stop(n)

        async def gives_up(ctx: ToolContext, n: int) -> GiveUp:
            self._ran(ctx)
            return GiveUp("no use")

        async def flaky(ctx: ToolContext, n: int = 0) -> str:
            assert ctx.ctx is not None
            self.tries[ctx.ctx.path] += 1
            if self.tries[ctx.ctx.path] < 2:
                raise ConnectionError("again")
            self._ran(ctx)
            return "through"

        async def big(ctx: ToolContext) -> str:
            self._ran(ctx)
            return "x" * 1000

        return [
            ok,
            tool(slow, timeout=0.001),
            raises,
            refuses,
            asks,
            stops,
            gives_up,
            tool(ok, name="serial", serial=True),
            tool(ok, name="alone", exclusive=True),
            tool(ok, name="approved", approve=True),
            tool(flaky, idempotent=True, retry=fg.Retry(attempts=2, on=ConnectionError)),
            tool(big, max_output=100),
        ]


def graph_of(model: StrictModel, bench: Bench, output_type: Any) -> fg.Graph:
    graph = fg.Graph("fuzz")
    agent = ReactAgent(
        model=model, tools=bench.tools(), max_turns=6, instructions="Be strict.", output_type=output_type
    )
    graph.add("agent", agent, values={"task": "go"})
    return graph


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    script=st.lists(replies, min_size=1, max_size=5),
    verdicts=st.lists(st.booleans()),
    output_type=st.sampled_from([str, int]),
)
def test_any_replies_leave_a_valid_transcript_and_run_nothing_twice(
    backend: str, script: list[Reply], verdicts: list[bool], output_type: Any
) -> None:
    """With pauses: each time that people are waited for, another process would go on from the store."""
    store, bench, ends = MemoryStore(), Bench(), Reply(text="The end.")
    said = iter([*script, *[ends] * 20])
    model = StrictModel(lambda request: next(said))
    given_verdicts = iter(verdicts)

    async def main() -> fg.Run:
        run = await fg.arun(graph_of(model, bench, output_type), store=store, run_id="r", raise_on_failure=False)
        while run.gates:
            gate = run.gates[-1]
            answer = next(given_verdicts, True) if gate.path.endswith("/approve") else "that"
            graph = graph_of(model, bench, output_type)
            run = await fg.aresume(graph, "r", store=store, answers={gate.path: answer}, raise_on_failure=False)
        return run

    run = anyio.run(main, backend=backend)
    node = run.nodes["agent"]
    assert node.error is None or isinstance(node.error, AgentFailed), repr(node.error)
    check(node.detail["messages"])
    assert all(count == 1 for count in bench.runs.values()), bench.runs
    made = sum(len(m.get("tool_calls") or ()) for m in node.detail["messages"])
    assert sum(bench.runs.values()) <= made
    json.dumps(node.detail)


def test_the_strict_provider_refuses_what_providers_refuse() -> None:
    user = {"role": "user", "content": "go"}

    def asked(**changes: Any) -> dict[str, Any]:
        function = {"name": changes.get("name", "f"), "arguments": changes.get("arguments", "{}")}
        call = {"id": changes.get("id", "1"), "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call] * changes.get("times", 1)}

    result = {"role": "tool", "tool_call_id": "1", "content": ""}
    check([user, asked(), result, user])
    for wrong in [
        [user, asked()],
        [user, asked(), user],
        [user, asked(), result, result],
        [user, asked(times=2), result, result],
        [user, asked(), result, asked(), result],
        [user, asked(name="a b"), result],
        [user, asked(arguments="[]"), result],
        [user, asked(arguments="{"), result],
        [user, asked(id=""), result | {"tool_call_id": ""}],
        [user, result],
        [user, {"role": "assistant", "content": " "}],
        [user, *[{"role": "assistant", "content": "a"}] * 2],
        [{"role": "assistant", "content": "a"}],
        [user, {"role": "system", "content": "a"}],
    ]:
        with pytest.raises(Refused):
            check(wrong)
