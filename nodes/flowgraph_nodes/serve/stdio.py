"""Serving over standard streams, which belong to the protocol alone meanwhile."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TextIO

import anyio
from mcp.server.stdio import stdio_server

from flowgraph_nodes.serve.offers import Offer
from flowgraph_nodes.serve.service import service


def serve_stdio(load: Callable[[], Mapping[str, Offer]]) -> None:
    """Serve one client until it closes our standard input, or a signal tells us to end; runs are cancelled then."""
    with _own_streams() as (incoming, outgoing):
        anyio.run(_serve, load(), incoming, outgoing)


async def _serve(offers: Mapping[str, Offer], incoming: TextIO, outgoing: TextIO) -> None:
    server = service(offers)
    async with anyio.create_task_group() as group:
        async with stdio_server(anyio.wrap_file(incoming), anyio.wrap_file(outgoing)) as (read, write):
            with anyio.CancelScope() as scope:
                ending = _Ending(scope)
                group.start_soon(ending.wait)
                await server.run(read, write, server.create_initialization_options())
            if ending.signal is not None:
                # A thread waits for standard input, and nothing can end it: another way out would wait for the client.
                os._exit(128 + ending.signal)
        group.cancel_scope.cancel()


class _Ending:
    """Cancels a scope at an interrupt or a polite kill, and remembers which."""

    def __init__(self, scope: anyio.CancelScope) -> None:
        self._scope = scope
        self.signal: int | None = None

    async def wait(self) -> None:
        """Wait for a signal, where there are any."""
        with suppress(NotImplementedError), anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for number in signals:
                self.signal = number
                self._scope.cancel()


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
