"""Serving over standard streams, which belong to the protocol alone meanwhile."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

import anyio
from mcp.server.stdio import stdio_server

from flowgraph_nodes.serve.offers import Offer
from flowgraph_nodes.serve.service import service


def serve_stdio(load: Callable[[], Mapping[str, Offer]]) -> None:
    """Serve one client, until it closes our standard input. Runs that still go on are cancelled then."""

    async def main() -> None:
        server = service(offers)
        async with stdio_server(anyio.wrap_file(incoming), anyio.wrap_file(outgoing)) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    with _own_streams() as (incoming, outgoing):
        offers = load()
        try:
            anyio.run(main)
        except KeyboardInterrupt:
            # A thread waits for standard input, and nothing can end it: leaving by the door would wait for the client.
            os._exit(130)


@contextmanager
def _own_streams() -> Iterator[tuple[TextIO, TextIO]]:
    """Standard input and output as files of our own: graphs that print do it to standard error, and read nothing."""
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        with io.FileIO(incoming) as raw_in, io.FileIO(outgoing, "w") as raw_out:
            yield (
                io.TextIOWrapper(io.BufferedReader(raw_in), encoding="utf-8", errors="replace"),
                io.TextIOWrapper(io.BufferedWriter(raw_out), encoding="utf-8"),
            )
    finally:
        sys.stdout.flush()
