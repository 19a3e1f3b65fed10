"""The whole picture: a function, two agents, a choice that rejoins, a loop and a merge, drawn as one run."""

from typing import Literal

import flowgraph as fg
from flowgraph_nodes import LoopFlow, ReactAgent, ScriptedModel

SCRIPTS = {
    "facts": ["Vector databases are fast. Ours is guaranteed to win."],
    "legal": ["Do not guarantee anything."],
    "shorten": ["Vector databases are fast, and ours may well win.", "Vector databases: fast."],
}

graph = fg.Graph("briefing")
graph.input("topic", str)


@graph.node(retry=fg.Retry(attempts=3), timeout=30)
async def sources(topic: str) -> list[str]:
    return [f"{topic}: a survey", f"{topic}: a benchmark"]


def agent(name: str, prompt: str) -> ReactAgent:
    return ReactAgent(name=name, model=ScriptedModel(SCRIPTS[name]), prompt=prompt)


graph.add("facts", agent("facts", "Collect facts on {topic} from {sources}"))


@graph.node
def risk(facts: str) -> Literal["low", "high"]:
    return "high" if "guarantee" in facts else "low"


graph.choose(risk, {"low": [], "high": "legal"})  # low: straight on; high: legal first
graph.add("legal", agent("legal", "Check {facts} for claims we cannot make"))
shorter = LoopFlow(agent("shorten", "Shorten {text}. {notes?}"), until="len(output) < 30", carry={"text": "output"})
graph.add("draft", shorter, bind={"text": "facts", "notes": "legal"})


@graph.node
def brief(draft: str, legal: fg.Maybe[str]) -> str:  # Maybe: None when legal was skipped; runs once
    return f"{draft}{' (checked)' if legal else ''}"


if __name__ == "__main__":
    run = fg.run(graph, {"topic": "vector databases"})
    print(run.output, run["draft"], run.usage.model_calls)
    print(run)
    fg.draw(run, "briefing.svg")
