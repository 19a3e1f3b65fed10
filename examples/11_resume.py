"""A run that is kept: one node fails, and a resume runs only what is missing."""

import flowgraph as fg

graph = fg.Graph("report")
graph.input("topic", str)
calls: list[str] = []
service = {"up": False}


@graph.node
def sources(topic: str) -> list[str]:
    calls.append("sources")
    return [f"{topic} in brief", f"{topic} at length"]


@graph.node
def facts(sources: list[str]) -> str:
    calls.append("facts")
    if not service["up"]:
        raise ConnectionError("the service is down")
    return " / ".join(sources)


run = fg.run(graph, {"topic": "tea"}, store="runs.db", raise_on_failure=False)
print(run)

service["up"] = True
print(fg.resume(graph, run.id, store="runs.db"))
print("called:", ", ".join(calls))  # sources once, facts twice
