"""Failures: retries, a fallback, a tolerant reader, and what is left when something stays broken."""

import flowgraph as fg

graph = fg.Graph("prices")


@graph.node(retry=fg.Retry(attempts=3, delay=0.01))
async def unsteady(ctx: fg.Context) -> float:
    if ctx.attempt < 3:
        raise ConnectionError("no answer")
    return 9.5


@graph.node(fallback=10.0)
async def closed() -> float:
    raise ConnectionError("closed today")


@graph.node
async def broken() -> float:
    raise ValueError("this feed is gone")


@graph.node
def best(unsteady: float, closed: float, broken: fg.Outcome[float]) -> float:  # an Outcome tolerates a failure
    return min(price for price in (unsteady, closed, broken.value) if price is not None)


@graph.node
def alarm(broken: float) -> str:  # this one does not, so the failure is unhandled and the run fails
    return f"broken is back at {broken}"


if __name__ == "__main__":
    try:
        fg.run(graph)
    except fg.RunFailed as failed:
        print(failed)
        print("but there is", failed.run["best"])  # nothing that was produced is lost
        print(failed.run)
