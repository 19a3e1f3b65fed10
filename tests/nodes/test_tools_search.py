"""Tool search: many tools, few of them offered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flowgraph as fg
from flowgraph_nodes import AgentConfigError, ReactAgent, ScriptedModel, ToolCall, call, tool
from flowgraph_nodes.messages import ToolMessage
from flowgraph_nodes.tools.dynamic import SEARCH_TOOL, DynamicToolbox
from flowgraph_nodes.tools.search import ToolIndex


def made(name: str, about: str, **parameters: str) -> Any:
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    return tool(lambda **given: name, name=name, description=about, schema={"properties": properties})


TOOLS = [
    made("send_invoice", "Mail a bill to a customer.", customer="who has to pay"),
    made("createInvoice", "Write a new bill."),
    made("weather_report", "What the sky will be like.", city="the place to look at"),
    made("delete_user", "Remove an account for good."),
    made("list_users", "All accounts.", tenant="whose accounts"),
    *(made(f"filler_{number}", "Something else altogether.") for number in range(20)),
]


def found(query: str, limit: int = 5, ratio: float = 0.0) -> list[str]:
    return [one.tool.name for one in ToolIndex(TOOLS).find(query, limit, ratio)]


def test_words_are_stemmed_and_names_taken_apart() -> None:
    assert found("sending invoices")[0] == "send_invoice"
    assert set(found("invoice")) == {"send_invoice", "createInvoice"}
    assert found("reports on weathers") == ["weather_report"]


def test_parameters_and_descriptions_are_read_and_names_weigh_most() -> None:
    assert found("cities") == ["weather_report"]
    assert found("paying") == ["send_invoice"]
    assert found("users accounts removing")[0] == "delete_user"
    assert found("user", 1) in (["delete_user"], ["list_users"])


def test_ranking_takes_a_limit_and_a_share_of_the_best() -> None:
    assert len(found("something else", 3)) == 3
    loose, strict = found("send an invoice"), found("send an invoice", ratio=0.9)
    assert (loose, strict) == (["send_invoice", "createInvoice"], ["send_invoice"])
    assert found("of the", 0) == []


@given(st.text())
def test_any_query_will_do(query: str) -> None:
    assert len(INDEX.find(query)) <= 5


INDEX = ToolIndex(TOOLS)


# -- in an agent


def agent_of(*replies: Any, **options: Any) -> tuple[ReactAgent, ScriptedModel]:
    model = ScriptedModel(replies)
    return ReactAgent(model=model, tools=TOOLS, dynamic_tools=True, **options), model


def offered(model: ScriptedModel) -> list[list[str]]:
    return [[spec.name for spec in request.tools] for request in model.requests]


def results(messages: Any) -> list[str]:
    return [message.content for message in messages if isinstance(message, ToolMessage)]


def test_found_tools_can_be_called_from_the_next_turn_on() -> None:
    search = call(SEARCH_TOOL, query="send an invoice", min_score_ratio=0.9)
    agent, model = agent_of([search, call("send_invoice")], call("send_invoice"), "done")
    result = agent.run("go")
    assert offered(model) == [[SEARCH_TOOL], [SEARCH_TOOL, "send_invoice"], [SEARCH_TOOL, "send_invoice"]]
    listed, early, late = results(result.messages)
    assert [one["name"] for one in json.loads(listed)["tools"]] == ["send_invoice"]
    assert early == (
        "Error (UnknownTool): the tool 'send_invoice' is not loaded: call tool_search with 'select:send_invoice', "
        "and it in the next reply"
    )
    assert late == "send_invoice"
    assert result.usage.tool_calls == 1  # searching only steers


def test_a_run_starts_with_nothing_loaded() -> None:
    agent, model = agent_of(call(SEARCH_TOOL, query="select:list_users"), "done", "done")
    agent.run("go")
    agent.run("go")
    assert offered(model) == [[SEARCH_TOOL], [SEARCH_TOOL, "list_users"], [SEARCH_TOOL]]


def test_select_takes_exact_names_and_obeys_max_results() -> None:
    query = "select: list_users, nope ,send_invoice,list_users,createInvoice"
    agent, model = agent_of(call(SEARCH_TOOL, query=query, max_results=2), "done")
    (text,) = results(agent.run("go").messages)
    answer = json.loads(text)
    assert [one["name"] for one in answer["tools"]] == ["list_users", "send_invoice"]
    assert (answer["unknown"], answer["left_out"]) == (["nope"], ["createInvoice"])
    assert offered(model)[1] == [SEARCH_TOOL, "list_users", "send_invoice"]


def test_nothing_found_says_so_and_odd_numbers_are_refused() -> None:
    agent, _ = agent_of([call(SEARCH_TOOL, query="qzx"), call(SEARCH_TOOL, query="a", max_results=0)], "done")
    nothing, odd = results(agent.run("go").messages)
    assert json.loads(nothing) == {"tools": [], "note": "nothing fits; there are 25 tools, try other words"}
    assert odd.startswith("Error (BadArguments): max_results")


def test_control_tools_are_always_offered() -> None:
    agent, model = agent_of(ToolCall("", "final_answer", '{"answer": 3}'), output_type=int)
    assert agent.run("go").output == 3
    assert offered(model) == [["final_answer", SEARCH_TOOL]]


def test_a_resumed_run_offers_what_was_found_before(tmp_path: Any) -> None:
    def graph_of(*replies: Any) -> tuple[fg.Graph, ScriptedModel]:
        agent, model = agent_of(*replies)
        graph = fg.Graph("search")
        graph.add("agent", agent, values={"task": "go"})
        return graph, model

    store = tmp_path / "runs.db"
    first, _ = graph_of(call(SEARCH_TOOL, query="select:list_users"))  # the script ends: the run fails
    assert not fg.run(first, store=store, run_id="r", raise_on_failure=False).outcomes["agent"].ok
    again, model = graph_of(call("list_users"), "done")
    assert fg.resume(again, "r", store=store)["agent"] == "done"
    assert offered(model)[0] == [SEARCH_TOOL, "list_users"]


def test_tools_that_join_later_are_found_and_those_that_leave_are_not() -> None:
    box = DynamicToolbox(TOOLS)
    box.add(made("paint_wall", "Put colour on a wall."))
    box.preload("painting walls", 1)
    assert [spec.name for spec in box.specs()] == [SEARCH_TOOL, "paint_wall"]
    box.remove("paint_wall")
    assert [spec.name for spec in box.specs()] == [SEARCH_TOOL]
    box.preload("painting walls", 1)
    assert [spec.name for spec in box.specs()] == [SEARCH_TOOL]


def test_a_copy_loads_on_its_own() -> None:
    box = DynamicToolbox(TOOLS)
    box.load(["list_users"])
    other = box.copy()
    other.pin(made("subtask_done", "Say that it is done."))
    other.load(["delete_user"])
    assert [spec.name for spec in box.specs()] == [SEARCH_TOOL, "list_users"]
    assert [spec.name for spec in other.specs()] == [SEARCH_TOOL, "subtask_done", "list_users", "delete_user"]


def test_a_tool_of_that_name_is_refused() -> None:
    with pytest.raises(AgentConfigError, match="rename yours"):
        ReactAgent(model=ScriptedModel([]), tools=[made(SEARCH_TOOL, "mine")], dynamic_tools=True)
