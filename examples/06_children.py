"""Inside a node: `ctx.call` and `ctx.gather` run other nodes as recorded children; a plain `while` makes a loop."""

import flowgraph as fg

graph = fg.Graph("essay")
graph.input("topic", str)


async def draft(topic: str, round: int) -> str:
    return f"{topic} " * (5 - round)


async def words(text: str) -> int:
    return len(text.split())


@graph.node
async def essay(topic: str, ctx: fg.Context) -> str:
    text, number = "", 0
    while not text or await ctx.call(words, {"text": text}) > 3:
        text = await ctx.call(draft, {"topic": topic, "round": number}, name="draft", round=number)
        number += 1
    check, title = (ctx.call(words, {"text": t}, name=n) for t, n in ((text, "check"), (topic, "title")))
    both = await ctx.gather(check, title)
    return f"{text.strip()} {both}"


if __name__ == "__main__":
    run = fg.run(graph, {"topic": "tea"})
    print(run.output)
    print(run)
