"""One session of the SDK and the requests that are open in it."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import anyio
from mcp import ClientSession, McpError, types
from pydantic import BaseModel

from flowgraph_nodes.tools.mcp.result import Progress
from flowgraph_nodes.tools.mcp.transport import Streams

T = TypeVar("T", bound=BaseModel)

_SESSION_TERMINATED: Final = 32600
"""What the SDK makes of HTTP 404: the server knows nothing of our session, and did nothing."""
_SETTLING: Final = 5.0
"""Seconds for a change of the tools to be read before the result of the call that caused it is given."""
_TELLING: Final = 1.0
"""Seconds to tell a server that a request is cancelled."""


class NotSentError(Exception):
    """The session is gone, and the server has not seen the request."""


class LostInCallError(Exception):
    """The session is gone, and what the server made of the request is unknown."""


class Link:
    """A session, until it is lost. `wait` tells the task that holds it that there is something to do.

    stale: the server said that its list of tools has changed, and nobody has read it since.
    """

    def __init__(self, streams: Streams) -> None:
        self.session = ClientSession(
            *streams, message_handler=self._hear, client_info=types.Implementation(name="flowgraph", version="1")
        )
        self.lost = False
        self.stale = False
        self._open: set[anyio.CancelScope] = set()
        self._bell = anyio.Event()
        self._fresh = anyio.Event()
        self._fresh.set()

    async def ask(self, request: types.ClientRequest, kind: type[T], progress: Progress | None = None) -> T:
        """Send a request and wait for its result; a change of the tools that it caused has been read by then.

        When the caller is cancelled, the server is told. Raises NotSentError, LostInCallError, the SDK's McpError.
        """
        with anyio.CancelScope() as scope:
            result = await self._asked(scope, request, kind, progress)
        if scope.cancelled_caught:
            raise LostInCallError
        with anyio.move_on_after(_SETTLING):
            await self._fresh.wait()
        return result

    def lose(self) -> None:
        """The session is gone: wake everyone who waits for something of it."""
        self.lost = True
        for scope in self._open:
            scope.cancel()
        self._fresh.set()
        self._bell.set()

    async def wait(self) -> None:
        """Wait until it is lost or stale."""
        while not self.lost and not self.stale:
            self._bell = anyio.Event()
            await self._bell.wait()

    def refreshed(self) -> None:
        """The list of tools was read; if it changed in the meantime, it stays stale."""
        if not self.stale:
            self._fresh.set()

    async def _asked(
        self, scope: anyio.CancelScope, request: types.ClientRequest, kind: type[T], progress: Progress | None
    ) -> T:
        # The SDK numbers requests by this counter and says the number nowhere; without it, cancelling tells nobody.
        number: int | None = getattr(self.session, "_request_id", None)
        self._open.add(scope)
        try:
            return await self.session.send_request(request, kind, progress_callback=progress)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise NotSentError from None
        except McpError as error:
            if error.error.code == types.CONNECTION_CLOSED:
                raise LostInCallError from None
            if error.error.code == _SESSION_TERMINATED:
                raise NotSentError from None
            raise
        except anyio.get_cancelled_exc_class():
            if not self.lost and number is not None:
                await self._tell_cancelled(number)
            raise
        finally:
            self._open.discard(scope)

    async def _tell_cancelled(self, number: int) -> None:
        params = types.CancelledNotificationParams(requestId=number, reason="cancelled by the client")
        notification = types.ClientNotification(types.CancelledNotification(params=params))
        with anyio.move_on_after(_TELLING, shield=True):
            try:
                await self.session.send_notification(notification)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return

    async def _hear(self, message: Any) -> None:
        """Of what the server says on its own only that its tools have changed is of interest."""
        if isinstance(getattr(message, "root", None), types.ToolListChangedNotification):
            self.stale = True
            if self._fresh.is_set():  # else there are those who wait for it already
                self._fresh = anyio.Event()
            self._bell.set()
        await anyio.lowlevel.checkpoint()
