"""A LoopAgent: it works on its answer in rounds until it says DONE. A scripted model stands in for a real one."""

import flowgraph as fg
from flowgraph_nodes import LoopAgent, LoopExhausted, ScriptedModel, call


def count_words(text: str) -> int:
    """How many words a text has."""
    return len(text.split())


model = ScriptedModel(
    [
        "Tea is a drink that people make with leaves and water.",  # round 0: not finished yet
        [call("count_words", text="Tea: leaves in hot water.")],  # round 1 uses a tool, and then answers
        "Tea: leaves in hot water.",
        "Tea: leaves, steeped in hot water.\n\n**DONE**",
    ]
)

graph = fg.Graph("definition")
graph.input("thing", str)
graph.add("shorten", LoopAgent(model=model, tools=[count_words], prompt="Define {thing} in six words."))

if __name__ == "__main__":
    run = fg.run(graph, {"thing": "tea"})
    print(run["shorten"])
    print(run)
    fg.draw(run, "rounds.svg")

    stubborn = LoopAgent(model=ScriptedModel(["a", "b", "c"]), max_iterations=3)
    try:
        stubborn.run("Define tea.")
    except LoopExhausted as error:
        print(f"{error.iterations} rounds, the last answer was {error.last!r}")
