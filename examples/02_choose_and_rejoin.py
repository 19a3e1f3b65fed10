"""Either/or, then rejoin: a choice takes one branch, and the node below both runs once with what arrived."""

from typing import Literal

import flowgraph as fg

graph = fg.Graph("claims")
graph.input("text", str)


@graph.node
def risk(text: str) -> Literal["low", "high"]:
    return "high" if "guarantee" in text else "low"


graph.choose(risk, {"low": [], "high": "legal"})  # low: straight on


@graph.node
def legal(text: str) -> str:
    return text.replace("guarantee", "expect")


@graph.node
def page(text: str, legal: fg.Maybe[str]) -> str:  # Maybe: None when legal was skipped
    return f"# Page\n{legal or text}"


if __name__ == "__main__":
    for text in ("We sell tea.", "We guarantee joy."):
        run = fg.run(graph, {"text": text})
        print(run.output)
        print(run.explain("legal"))
