"""A PlanExecuteAgent: a plan, its steps one by one, and a new look at what is left after each. Offline."""

import flowgraph as fg
from flowgraph_nodes import PlanExecuteAgent, Scripted, call


def distance(start: str, end: str) -> int:
    """The distance between two cities by rail, in km."""
    return {"Oslo": 560, "Rome": 2160}[end]


model = Scripted(  # by role: the paths of the agent's node runs
    {
        "trip/plan": [call("plan", steps=["look up Oslo", "look up Rome", "compare"])],
        "trip/step": [
            call("distance", start="Hamburg", end="Oslo"),
            "Oslo is 560 km away.",
            call("distance", start="Hamburg", end="Rome"),
            "Rome is 2160 km away.",
        ],
        "trip/replan": [
            call("plan", steps=["look up Rome"]),  # to compare is no work of its own
            call("answer", answer="Oslo is nearer by 1600 km."),
        ],
    }
)

graph = fg.Graph("travel")
graph.input("start", str)
graph.add("trip", PlanExecuteAgent(model=model, tools=[distance], prompt="From {start}: Oslo or Rome?"))

if __name__ == "__main__":
    run = fg.run(graph, {"start": "Hamburg"})
    print(run["trip"])
    for step in run.nodes["trip"].detail["plan"]:
        print(f"{step['status']}: {step['step']}")
    fg.draw(run, "steps.svg")
