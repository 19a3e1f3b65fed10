"""Graphs and agents as tools of an MCP server: `flowgraph serve-mcp TARGET`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flowgraph_nodes.serve.offers import Offer, ServeError, offers_of
from flowgraph_nodes.tools.mcp.server import check_installed

__all__ = ["Offer", "ServeError", "offers_of", "serve"]


def serve(load: Callable[[], Mapping[str, Any]], *, http: str | None = None) -> None:
    """Serve until the client goes (standard streams) or the process is interrupted (HTTP).

    load: gives what to offer by name: graphs and agents; anything else is left out. It is called when standard output
    is the protocol's alone, so it may print. http: "HOST:PORT" to serve streamable HTTP at /mcp there.

    Raises ServeError, McpMissingError, and whatever `load` raises.
    """
    check_installed()
    if http is None:
        from flowgraph_nodes.serve.stdio import serve_stdio

        serve_stdio(lambda: offers_of(load()))
    else:
        from flowgraph_nodes.serve.http import address_of, serve_http

        serve_http(offers_of(load()), *address_of(http))
