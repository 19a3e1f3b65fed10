"""The context of a sync node: the same as `Context`, with calls that block the node's worker thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .call import Call, Place, unwrapped
from .context import BaseContext, D, Host
from .missing import MISSING
from .policy import Policy, Retry, Seconds
from .question import Question
from .threads import Portal


class SyncContext(BaseContext[D]):
    """What a running sync node can reach: `def page(ctx: fg.SyncContext) -> str`. Use it on the node's own thread.

    `ctx.call(node, inputs)` runs a child and gives its output; `ctx.gather(ctx.branch(a), ctx.branch(b))` runs
    several as parallel branches. Once the node run has been cancelled or has timed out, every call raises
    RuntimeError, so that the abandoned thread comes to an end.
    """

    __slots__ = ("_portal",)

    def __init__(self, host: Host, portal: Portal) -> None:
        super().__init__(host)
        self._portal = portal

    def call(
        self,
        node: Any,
        inputs: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        round: int | None = None,
        item: int | None = None,
        retry: Retry | None = None,
        timeout: Seconds | None = None,
        outcome: bool = False,
    ) -> Any:
        """Run a node as a child and wait for its output. The arguments are those of `Context.call`."""
        place = Place(name=name or "", round=round, item=item)

        async def body() -> Any:
            call = self._host.spawn(node, inputs, place, Policy(retry=retry, timeout=timeout))
            return await (call if outcome else unwrapped(call))

        return self._portal.ask(body)

    def branch(
        self,
        node: Any,
        inputs: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        retry: Retry | None = None,
        timeout: Seconds | None = None,
    ) -> Call[Any]:
        """A call for `gather`: it has its place now and runs there."""

        async def body() -> Call[Any]:
            call = self._host.spawn(node, inputs, Place(name=name or ""), Policy(retry=retry, timeout=timeout))
            return Call(call.path, lambda: unwrapped(call), call.announce)

        branch: Call[Any] = self._portal.ask(body)
        return branch

    def ask(
        self,
        question: str,
        schema: Any = str,
        *,
        key: str | None = None,
        timeout: Seconds | None = None,
        default: Any = MISSING,
    ) -> Any:
        """Ask a person and wait for the answer; see `Context.ask`. When the run is paused, RuntimeError is raised."""

        async def body() -> Any:
            return await unwrapped(self._host.ask(Question(question, schema, timeout, default), key or "ask"))

        return self._portal.ask(body)

    def sleep(self, duration: Seconds) -> None:
        """Wait for so many seconds (or a timedelta); see `Context.sleep`."""

        async def body() -> None:
            await unwrapped(self._host.sleep(duration))

        self._portal.ask(body)

    def gather(self, *calls: Call[Any], max_concurrency: int | None = None) -> list[Any]:
        """Run branches in parallel and give their results in order; see `Context.gather`."""
        results: list[Any] = self._portal.ask(lambda: self._host.gather(calls, max_concurrency))
        return results


async def run_blocking(
    ctx: BaseContext[Any], function: Callable[..., Any], inputs: dict[str, Any], names: Sequence[str]
) -> Any:
    """Call a function on a worker thread, with a blocking context for the parameters `names`."""
    portal = Portal()
    given = {**inputs, **dict.fromkeys(names, SyncContext(ctx.host, portal))}
    return await ctx.host.in_thread(lambda: function(**given), portal)
