"""A Team: tasks for named agents, side by side; a failure is marked, and hinders no other. Offline."""

import flowgraph as fg
from flowgraph_nodes import ReactAgent, ScriptedModel, Team
from flowgraph_nodes.errors import BadRequestError

model = ScriptedModel(lambda request: f"noted: {request.messages[-1].content}")
broken = ScriptedModel([BadRequestError("the request was refused")])

team = Team(
    [
        ReactAgent(name="writer", model=model),
        ReactAgent(name="critic", model=model),
        ReactAgent(name="translator", model=broken),
    ],
    max_concurrency=3,
)

graph = fg.Graph("newsroom")
graph.input("topic", str)


@graph.node
def assignments(topic: str) -> list[dict[str, str]]:
    return [
        {"agent": "writer", "task": f"A lead on {topic}"},
        {"agent": "translator", "task": f"{topic} in French"},
        {"agent": "critic", "task": f"What is doubtful about {topic}?"},
        {"agent": "writer", "task": f"A headline on {topic}"},
    ]


graph.add("team", team)


@graph.node
def report(team: list[fg.Outcome[str]]) -> list[str]:
    return [outcome.value or f"failed: {outcome.error}" for outcome in team]


if __name__ == "__main__":
    run = fg.run(graph, {"topic": "tea"})
    print(*run["report"], sep="\n")
    print(run)
