"""A run of an autonomous agent inside a larger graph, as it is drawn: its plan, what failed and why, its sub-agents."""

from __future__ import annotations

from typing import Any

import pytest

import flowgraph as fg
from flowgraph.stores import MemoryStore
from flowgraph_nodes import AutonomousAgent, call
from flowgraph_nodes.models import Request

from .scripts import agent_ids, done, plan, scripted, step, with_crew

NAMES = ("law", "market", "press")


def research(request: Request) -> Any:
    ids = agent_ids(request)
    if not ids:
        return call("create_sub_agent", agents=[{"agent_name": n, "agent_description": n} for n in NAMES])
    if "a headline" not in str(request.messages):
        return call("assign_task", assignments=[{"agent_id": one, "task": "look"} for one in ids])
    return done("research")


def briefing() -> fg.Graph:
    steps = plan(
        step("research", description="Research the market"),
        step("figures", description="Get the figures"),
        step("chart", "figures", description="Draw a chart"),
        step("text", "research", description="Write the text"),
    )
    subtasks = {"research": research, "figures": [done("figures", "no access", False)], "text": [done("text")]}
    model = with_crew(scripted([steps], subtasks, name="report"), dict.fromkeys(NAMES, ["a headline"] * 3))
    graph = fg.Graph("briefing")
    graph.input("topic", str)
    graph.add("outline", lambda topic: topic)
    graph.add("report", AutonomousAgent(model=model, prompt="A report on {outline}", parallel_subtasks=3))
    graph.add("publish", lambda report: report)
    return graph


@pytest.fixture(scope="module")
def run() -> fg.Run:
    return fg.run(briefing(), {"topic": "vans"}, store=MemoryStore())


def test_the_plan_is_drawn_as_a_graph_with_its_edges_titles_and_reasons(run: fg.Run) -> None:
    svg = str(fg.draw(run))
    titles = ("Research the market", "Get the figures", "Draw a chart", "Write the text")
    assert all(title in svg for title in titles)
    assert "no access" in svg
    assert "'figures' failed" in svg or "&#x27;figures&#x27; failed" in svg or "&apos;figures&apos; failed" in svg
    assert run.nodes["report/plan#0"].edges == (("figures", "chart"), ("research", "text"))
    assert "could not run: 'figures' failed" in run.explain("report/plan#0/chart")


def test_three_sub_agents_are_three_branches_and_the_picture_has_them(run: fg.Run) -> None:
    branches = run.nodes["report/plan#0/research/assign_task/assign-1"].children
    assert [child.name for child in branches] == list(NAMES)
    svg = str(fg.draw(run))
    assert all(f">{name}<" in svg for name in NAMES)
