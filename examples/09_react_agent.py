"""An agent with tools: as a node of a graph, and alone. A scripted model stands in for a real one."""

from pydantic import BaseModel

import flowgraph as fg
from flowgraph_nodes import ReactAgent, ScriptedModel, call


def weather(city: str) -> str:
    """The weather of a city, in words.

    Args:
        city: its name.
    """
    return f"rain in {city}"


class Advice(BaseModel):
    umbrella: bool
    why: str


model = ScriptedModel(
    [
        [call("weather", city="Oslo"), call("weather", city="Rome")],  # two calls in one reply run side by side
        call("final_answer", umbrella=True, why="rain in both"),
    ]
)

graph = fg.Graph("travel")
graph.input("cities", list[str])
graph.add(
    "advice",
    ReactAgent(model=model, tools=[weather], output_type=Advice, prompt="What do I pack for {cities}?"),
)

if __name__ == "__main__":
    run = fg.run(graph, {"cities": ["Oslo", "Rome"]})
    print(run["advice"])
    print(run)

    alone = ReactAgent(model=ScriptedModel(["Four."]), name="calculator")
    result = alone.run("What is two and two?")
    print(result.output, result.stop_reason, len(result.messages))
