"""An autonomous agent: a plan as a graph, subtasks side by side, a failure and what it skips, sub-agents. Offline."""

import flowgraph as fg
from flowgraph_nodes import AutonomousAgent, Scripted, call


def step(step_id: str, description: str, *needs: str) -> dict[str, object]:
    return {"step_id": step_id, "description": description, "dependencies": list(needs)}


def done(step_id: str, summary: str, success: bool = True) -> object:
    return call("subtask_done", task_id=step_id, summary=summary, success=success)


def research(request) -> object:
    """Makes two sub-agents, gives them work, and ends when they have reported."""
    said = [message.content for message in request.messages]
    if "sub-agent-" not in said[-1]:
        names = ("law", "press")
        return call("create_sub_agent", agents=[{"agent_name": n, "agent_description": f"reads {n}"} for n in names])
    if "completed" not in said[-1]:
        ids = [part for part in said[-1].split('"') if part.startswith("sub-agent-")]
        return call("assign_task", assignments=[{"agent_id": one, "task": "What is new?"} for one in ids])
    return done("research", "two findings")


plan = [
    step("research", "Find out what is new"),
    step("figures", "Get the sales figures"),
    step("chart", "Draw a chart of the figures", "figures"),
    step("text", "Write the text", "research"),
]
model = Scripted(
    {
        "report/planning": [call("create_plan", task_description="A market report", steps=plan)],
        "report/plan*/research": research,
        "report/plan*/*/assign_task/*/*": ["a new law", "a bold headline"],
        "report/plan*/figures": [done("figures", "the archive is closed", success=False)],
        "report/plan*/text": [done("text", "the text stands")],
        "report/summary": [call("complete_task", task_id="main", summary="The report, without figures.", success=True)],
    }
)

graph = fg.Graph("market")
graph.input("market", str)
graph.add("report", AutonomousAgent(model=model, prompt="A report on {market}", parallel_subtasks=3))

if __name__ == "__main__":
    run = fg.run(graph, {"market": "tea"})
    print(run["report"])
    print(run)
