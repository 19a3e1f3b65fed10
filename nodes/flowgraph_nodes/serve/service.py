"""The SDK's server around offers: lists them, runs them, tells how far a run is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server

import flowgraph as fg
from flowgraph.errors import words_of
from flowgraph.events import Event, NodeFinished, NodeRetrying, NodeStarted
from flowgraph_nodes.redact import redacted
from flowgraph_nodes.serve.offers import Offer
from flowgraph_nodes.tools.text import to_text


def service(offers: Mapping[str, Offer]) -> Server[Any, Any]:
    """A server that offers graphs as tools. One call is one run; cancelling the request cancels the run."""
    server: Server[Any, Any] = Server("flowgraph")

    async def list_tools() -> list[types.Tool]:
        return [
            types.Tool(name=offer.name, description=offer.description, inputSchema=offer.schema)
            for offer in offers.values()
        ]

    async def call_tool(name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        offer = offers.get(name)
        if offer is None:
            return _failed(f"there is no tool '{name}'; there are: {', '.join(offers)}")
        try:
            return _succeeded(await _run(offer, arguments, _Teller(server)))
        except Exception as error:  # the client's model decides what to do
            return _failed(redacted(words_of(error)))

    # The SDK's decorators have no types. Inputs are validated by the run, which names all that is wrong.
    server.list_tools()(list_tools)  # type: ignore[no-untyped-call]
    server.call_tool(validate_input=False)(call_tool)
    return server


async def _run(offer: Offer, inputs: dict[str, Any], teller: _Teller) -> Any:
    async with fg.start(offer.graph, inputs) as run:
        if teller.asked:
            async for event in run:
                await teller.tell(event)
        return (await run.result()).output


class _Teller:
    """Sends a progress notification for each node run that starts, ends or is tried again, if the client wants them."""

    def __init__(self, server: Server[Any, Any]) -> None:
        context = server.request_context
        self._session, self._request = context.session, str(context.request_id)
        self._token = None if context.meta is None else context.meta.progressToken
        self._steps = 0

    @property
    def asked(self) -> bool:
        """Whether the client wants to be told."""
        return self._token is not None

    async def tell(self, event: Event) -> None:
        """Tell the client of an event. The total is never known: nodes may call others as they like."""
        match event:
            case NodeStarted():
                what = "started"
            case NodeRetrying():
                what = "retrying"
            case NodeFinished(status=status):
                what = str(status)
            case _:
                return
        self._steps += 1
        if self._token is not None and event.path:
            await self._session.send_progress_notification(
                self._token, self._steps, message=f"{event.path} {what}", related_request_id=self._request
            )


def _succeeded(value: Any) -> types.CallToolResult:
    """An output as text and as structured content: an object as it is, anything else as `{"result": …}`."""
    text = to_text(value)
    try:
        plain = text if isinstance(value, str) else json.loads(text)
    except ValueError:  # something that JSON cannot hold, told in words
        plain = text
    structured = plain if isinstance(plain, dict) else {"result": plain}
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structuredContent=structured)


def _failed(reason: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=reason)], isError=True)
