"""A LoopFlow: run a node again and again, each round on the last round's output, until a condition holds."""

import flowgraph as fg
from flowgraph_nodes import LoopFlow

graph = fg.Graph("shorten")
graph.input("text", str)


def shorten(text: str) -> str:
    return " ".join(text.split()[:-2])


graph.add("short", LoopFlow(shorten, until="len(output) <= 24", max_iterations=8, on_exhausted="last"))

if __name__ == "__main__":
    run = fg.run(graph, {"text": "a rather long sentence about nothing much at all"}, raise_on_failure=False)
    print(run.output)
    print(run)
    fg.draw(run, "loop.svg")
