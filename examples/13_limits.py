"""A budget that holds across nested agents: what is over it is refused, what was made before is kept."""

import flowgraph as fg
from flowgraph.outcome import Usage
from flowgraph_nodes import ReactAgent, Reply, ScriptedModel

page = Reply(text="a page", usage=Usage(input_tokens=600, output_tokens=400, cost=0.02))
agent = ReactAgent(model=ScriptedModel([page] * 9), prompt="A page on {topic}")

graph = fg.Graph("pages")
graph.input("topics", list[str])
graph.map("pages", agent, each={"topic": "topics"}, on_item_failure="keep", max_concurrency=1)


@graph.node
def report(pages: list[fg.Outcome[str]]) -> str:
    return f"{sum(page.ok for page in pages)} of {len(pages)} pages"


run = fg.run(graph, {"topics": ["tea", "coffee", "milk"]}, limits=fg.Limits(tokens=2000))
print(run.output)
print(run)
