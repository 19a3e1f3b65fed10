"""Tools and people: approval of calls, questions that tools ask, across pauses and processes (cases C22 to C24)."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import anyio
import pytest

import flowgraph as fg
from flowgraph.errors import AnswerRefused
from flowgraph_nodes import (
    AgentFailed,
    Approval,
    GiveUp,
    NeedsFeedback,
    ReactAgent,
    ScriptedModel,
    Tool,
    Toolbox,
    ToolCall,
    call,
    tool,
)
from flowgraph_nodes.messages import ToolMessage
from flowgraph_nodes.tools.result import BAD_ARGUMENTS, REFUSED

ROOT = Path(__file__).parents[2]
Run = fg.Run


class Office:
    """An agent with tools that need people, as each process would build it anew; `done` is what really happened."""

    def __init__(self, replies: Iterable[Any], *tools: Any) -> None:
        self.done: list[Any] = []
        self.model = ScriptedModel(replies)
        self.tools = [*tools, tool(self.delete, approve=True), self.look, self.book, self.pay]
        self.graph = fg.Graph("office")
        self.graph.add("agent", ReactAgent(model=self.model, tools=self.tools), values={"task": "go"})

    async def delete(self, path: str, force: bool = False) -> str:
        self.done.append(("delete", path, force))
        return f"deleted {path}"

    async def look(self) -> str:
        self.done.append("look")
        return "nothing to see"

    async def book(self, what: str) -> NeedsFeedback:
        self.done.append(("book", what))
        return NeedsFeedback(f"When is the {what}?")

    async def pay(self) -> NeedsFeedback:
        self.done.append("pay")
        return NeedsFeedback("Cash or card?", ("cash", "card"))


def gates(run: Run) -> list[str]:
    return [gate.path for gate in run.gates]


def results(run: Run) -> list[str]:
    """What the model got of its calls."""
    messages = run.nodes["agent"].detail["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


# -- approval


def test_a_call_that_needs_approval_opens_a_gate_with_its_exact_arguments_and_others_run_meanwhile(
    tmp_path: Path,
) -> None:
    store = tmp_path / "runs.db"
    office = Office([[call("delete", path="a", force=True), call("look"), call("delete", path="b")]])
    run = fg.run(office.graph, store=store, run_id="r")
    assert run.status is fg.Status.PAUSED
    assert [gate.question for gate in run.gates] == [
        'May the tool \'delete\' run with {"path": "a", "force": true}?',
        'May the tool \'delete\' run with {"path": "b"}?',
    ]
    assert gates(run) == ["agent/delete/approve", "agent/delete~2/approve"]
    assert office.done == ["look"]

    later = Office(["done"])  # the model is not asked again for what it said before
    answers = {"agent/delete~2/approve": False, "agent/delete/approve": True}
    run = fg.resume(later.graph, "r", store=store, answers=answers)
    assert run["agent"] == "done"
    assert later.done == [("delete", "a", True)]
    assert results(run) == ["deleted a", "nothing to see", "Error (Refused): a person has refused this call"]
    assert len(later.model.requests) == 1


def test_edited_arguments_run_and_the_model_is_told(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    fg.run(Office([call("delete", path="/", force=True)]).graph, store=store, run_id="r")
    later = Office(["done"])
    edited = {"approved": True, "arguments": {"path": "/tmp/x"}}
    run = fg.resume(later.graph, "r", store=store, answers={"agent/delete/approve": edited})
    assert later.done == [("delete", "/tmp/x", False)]
    assert results(run) == [
        '[A person changed the arguments of this call to {"path": "/tmp/x"}]\ndeleted /tmp/x',
    ]
    assert run.nodes["agent/delete/run"].kind == "tool"
    assert run.usage.tool_calls == 1


def test_a_refusal_tells_the_model_the_reason(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    fg.run(Office([call("delete", path="a")]).graph, store=store, run_id="r")
    later = Office(["done"])
    answer = Approval(approved=False, reason="it is the only copy")
    run = fg.resume(later.graph, "r", store=store, answers={"agent/delete/approve": answer})
    assert (later.done, results(run)) == ([], ["Error (Refused): it is the only copy"])
    assert run.nodes["agent/delete"].detail == {"failure": REFUSED}
    assert run.usage.tool_calls == 0


def test_edited_arguments_that_do_not_fit_are_an_error_result(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    fg.run(Office([call("delete", path="a")]).graph, store=store, run_id="r")
    later = Office(["done"])
    answer = {"approved": True, "arguments": {"way": "a"}}
    run = fg.resume(later.graph, "r", store=store, answers={"agent/delete/approve": answer})
    assert later.done == []
    assert "Error (BadArguments): path: is missing" in results(run)[0]


def test_nobody_is_asked_about_arguments_that_do_not_fit() -> None:
    office = Office([[ToolCall("1", "delete", "{"), call("delete")], "done"])
    run = fg.run(office.graph)
    assert run["agent"] == "done"
    assert [text.partition(":")[0] for text in results(run)] == [f"Error ({BAD_ARGUMENTS})"] * 2


@pytest.mark.parametrize("approve", ["always", True, lambda name, arguments: arguments["n"] > 1])
def test_approve_takes_a_word_a_flag_or_a_predicate(approve: Any) -> None:
    def buy(n: int) -> str:
        return f"bought {n}"

    office = Office([call("buy", n=2), "done"], tool(buy, approve=approve))
    assert gates(fg.run(office.graph)) == ["agent/buy/approve"]
    office = Office([call("buy", n=1), "done"], tool(buy, approve=approve))
    run = fg.run(office.graph)
    assert bool(run.gates) is not callable(approve)


def test_a_predicate_that_raises_lets_nothing_run() -> None:
    def buy(n: int) -> None:
        raise AssertionError

    def odd(name: str, arguments: dict[str, Any]) -> bool:
        raise LookupError("no such rule")

    run = fg.run(Office([call("buy", n=1), "done"], tool(buy, approve=odd)).graph)
    assert results(run) == ["Error (LookupError): no such rule"]


def test_all_gates_open_at_once_however_few_calls_run_at_a_time() -> None:
    office = Office([[call("delete", path=str(number)) for number in range(9)]])
    assert len(fg.run(office.graph).gates) == 9


@pytest.mark.anyio
async def test_approved_calls_keep_to_the_traffic() -> None:
    running = most = 0

    async def work(n: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(0.01)
        running -= 1
        return n

    office = Office([[call("work", n=n) for n in range(4)], "done"], tool(work, approve=True, serial=True))
    async with fg.start(office.graph, wait=True) as live:
        with anyio.fail_after(5):
            while len(live.record.gates) < 4:
                await anyio.sleep(0.01)
        for gate in live.record.gates:
            live.answer(gate.path, True)
        run = await live.result()
    assert (results(run), most) == (["0", "1", "2", "3"], 1)


def test_a_retried_tool_is_approved_once(tmp_path: Path) -> None:
    tries: list[int] = []

    async def flaky(n: int) -> str:
        tries.append(n)
        if len(tries) < 3:
            raise ConnectionError("no route")
        return "through"

    attended = tool(flaky, approve=True, idempotent=True, retry=fg.Retry(attempts=3))
    store = tmp_path / "runs.db"
    fg.run(Office([call("flaky", n=7)], attended).graph, store=store, run_id="r")
    run = fg.resume(Office(["done"], attended).graph, "r", store=store, answers={"agent/flaky/approve": True})
    assert (tries, results(run), run.nodes["agent/flaky/run"].attempt) == ([7, 7, 7], ["through"], 3)
    assert run.usage.tool_calls == 1


@pytest.mark.anyio
async def test_a_toolbox_alone_runs_nothing_that_needs_approval() -> None:
    box = Toolbox([Office([]).look]).with_approval()
    (result,) = await box.execute([call("look", call_id="1")])
    assert result.failure is not None
    assert result.failure.kind == REFUSED

    async def node(ctx: fg.Context) -> str:
        (result,) = await box.execute([call("look", call_id="1")], ctx)
        return result.text

    graph = fg.Graph("node")
    graph.add("node", node)
    async with fg.start(graph, wait=True) as live:
        with anyio.fail_after(5):
            while not live.record.gates:
                await anyio.sleep(0.01)
        live.answer("node/look-approve", True)
        assert (await live.result())["node"] == "nothing to see"


def test_c23_what_was_approved_runs_and_the_model_is_not_asked_again(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    fg.run(Office([call("delete", path="A"), "done"]).graph, store=store, run_id="r")
    asked_again = Office([call("delete", path="B"), "done"])
    run = fg.resume(asked_again.graph, "r", store=store, answers={"agent/delete/approve": True})
    # the first thing that this model says is the turn after: another call, which needs an approval of its own
    assert asked_again.done == [("delete", "A", False)]
    assert [gate.question for gate in run.gates] == ['May the tool \'delete\' run with {"path": "B"}?']


def test_approval_works_across_processes(tmp_path: Path) -> None:
    program = textwrap.dedent("""
        import sys
        import flowgraph as fg
        from flowgraph_nodes import ReactAgent, ScriptedModel, call, tool

        @tool(approve=True)
        def send(to: str) -> str:
            print("sent to", to)
            return "sent"

        _, path, step = sys.argv
        graph = fg.Graph("mail")
        replies = [call("send", to="ann")] if step == "1" else ["done"]
        graph.add("agent", ReactAgent(model=ScriptedModel(replies), tools=[send]), values={"task": "go"})
        if step == "1":
            print(fg.run(graph, store=path, run_id="r").gates[0].path)
        else:
            print(fg.resume(graph, "r", store=path, answers={"agent/send/approve": True})["agent"])
        """)

    def process(step: str) -> str:
        command = [sys.executable, "-c", program, str(tmp_path / "runs.db"), step]
        environment = {"PYTHONPATH": f"{ROOT}:{ROOT / 'nodes'}"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=environment)
        return done.stdout

    assert process("1") == "agent/send/approve\n"
    assert process("2") == "sent to ann\ndone\n"


# -- questions of tools


def test_c22_two_tools_that_ask_have_questions_of_their_own_and_get_their_own_answers(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    office = Office([[call("book", what="call"), call("pay"), call("book", what="trip")]])
    run = fg.run(office.graph, store=store, run_id="r")
    assert sorted((gate.path, gate.question) for gate in run.gates) == [
        ("agent/book%7E2-ask", "When is the trip?"),
        ("agent/book-ask", "When is the call?"),
        ("agent/pay-ask", "Cash or card?"),
    ]
    assert office.done == [("book", "call"), "pay", ("book", "trip")]

    later = Office(["done"])
    with pytest.raises(AnswerRefused):
        fg.resume(later.graph, "r", store=store, answers={"agent/pay-ask": "gold"})
    assert later.model.requests == []
    answers = {"agent/book%7E2-ask": "May", "agent/pay-ask": "card", "agent/book-ask": "noon"}
    run = fg.resume(later.graph, "r", store=store, answers=answers)
    assert (later.done, results(run)) == ([], ["noon", "card", "May"])


def test_c24_answered_one_at_a_time_each_question_is_asked_once_and_nothing_runs_again(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    made = [[call("look"), call("book", what="call"), call("pay"), call("delete", path="a")]]
    office = Office(made)
    run = fg.run(office.graph, store=store, run_id="r")
    asked = set(gates(run))
    done = list(office.done)
    for path, answer in {"agent/pay-ask": "cash", "agent/delete/approve": True, "agent/book-ask": "noon"}.items():
        assert path in asked
        office = Office(["done"])
        run = fg.resume(office.graph, "r", store=store, answers={path: answer})
        asked.remove(path)
        assert set(gates(run)) == asked
        done += office.done
    assert run["agent"] == "done"
    assert sorted(map(str, done)) == sorted(["look", "('book', 'call')", "pay", "('delete', 'a', False)"])
    assert results(run) == ["nothing to see", "noon", "cash", "deleted a"]


@pytest.mark.anyio
async def test_a_question_without_a_run_is_a_result_that_says_so() -> None:
    (result,) = await Toolbox([Office([]).pay]).execute([call("pay", call_id="1")])
    assert result.feedback == NeedsFeedback("Cash or card?", ("cash", "card"))
    assert result.text == "A person has to answer first: Cash or card?"


def test_an_agent_alone_that_has_to_wait_says_for_what() -> None:
    agent = ReactAgent(model=ScriptedModel([call("pay")]), tools=[Office([]).pay])
    with pytest.raises(fg.RunPaused, match="Cash or card"):
        agent.run("go")


def test_a_tool_can_give_up_the_whole_task() -> None:
    def impossible() -> GiveUp:
        return GiveUp("there is no such shop")

    agent = ReactAgent(model=ScriptedModel([[call("impossible"), call("pay2")]]), tools=[impossible])
    with pytest.raises(AgentFailed) as caught:
        agent.run("go")
    assert (caught.value.reason, caught.value.detail) == ("agent_failed", "there is no such shop")
    assert next(m.content for m in caught.value.messages if isinstance(m, ToolMessage)) == "there is no such shop"


def test_what_tools_may_be_set_to_is_checked() -> None:
    def fetch() -> None: ...

    for wrong, words in {
        "retry": ({"retry": fg.Retry()}, "idempotent=True"),
        "kind": ({"retry": 3, "idempotent": True}, "must be a flowgraph.Retry"),
        "approve": ({"approve": "sometimes"}, "approve='sometimes' must be"),
        "cut": ({"max_output": 0}, "at least 1 character"),
    }.values():
        with pytest.raises(Exception, match=words):
            tool(fetch, **wrong)  # type: ignore[arg-type]
    assert isinstance(tool(fetch, retry=fg.Retry(), idempotent=True), Tool)
