"""Watching a run: every event as it happens; leaving the block early cancels what still runs."""

import anyio

import flowgraph as fg

graph = fg.Graph("slow")


@graph.node
async def first(ctx: fg.Context) -> str:
    for piece in ("a ", "story ", "in pieces"):
        ctx.emit("text", piece)
        await anyio.sleep(0.01)
    return "a story in pieces"


@graph.node
async def second(first: str) -> int:
    return len(first)


async def main() -> None:
    async with fg.start(graph) as run:
        async for event in run:
            print(type(event).__name__, event.path, getattr(event, "data", ""))
        print((await run.result()).output)


if __name__ == "__main__":
    anyio.run(main)
