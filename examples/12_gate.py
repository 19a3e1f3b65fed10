"""A run that waits for a person: it is paused, its process may end, and an answer lets it go on."""

import flowgraph as fg

graph = fg.Graph("post")
graph.input("topic", str)


@graph.node
def draft(topic: str) -> str:
    return f"All about {topic}."


graph.add("approve", fg.Gate("Publish this? {draft}", bool))
graph.choose("approve", {True: "publish", False: fg.END})


@graph.node
def publish(draft: str) -> str:
    return f"published: {draft}"


run = fg.run(graph, {"topic": "tea"}, store="runs.db")
for gate in run.gates:
    print(f"{run.status}: {gate.path} asks {gate.question!r}")

run = fg.resume(graph, run.id, store="runs.db", answers={"approve": True})
print(run["publish"])
