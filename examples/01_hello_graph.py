"""A graph of functions: a parameter's name is what a node needs."""

import flowgraph as fg

graph = fg.Graph("hello")
graph.input("name", str)


@graph.node
async def greeting(name: str) -> str:
    return f"Hello {name}"


@graph.node
def shouted(greeting: str) -> str:  # reads the node above; sync functions run on a worker thread
    return greeting.upper() + "!"


if __name__ == "__main__":
    run = fg.run(graph, {"name": "Ada"})
    print(run.output)
    print(run)
    fg.draw(run, "hello.svg")
