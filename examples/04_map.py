"""A map: a node once per item of a list, in parallel, with retries per item and results in order."""

import flowgraph as fg

graph = fg.Graph("word-counts")
graph.input("texts", list[str])


async def count(text: str) -> int:
    if not text:
        raise fg.Skip("nothing to count")
    return len(text.split())


graph.map("counts", count, each={"text": "texts"}, max_concurrency=4, retry=fg.Retry(attempts=2))


@graph.node
def total(counts: list[int]) -> int:
    return sum(counts)


if __name__ == "__main__":
    run = fg.run(graph, {"texts": ["one", "", "one two three"]})
    print(run["counts"], run.output)
    print(run)
