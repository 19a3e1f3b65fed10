"""Which of a reply's tool calls run at a time."""

from __future__ import annotations

from types import TracebackType

import anyio

from flowgraph_nodes.tools.tool import Tool


class Traffic:
    """Lets calls in: in the order of their tickets, as many at a time as fit.

    Calls of a `serial` tool go one by one, others may overtake the second of them. A call of an `exclusive` tool goes
    alone, and nobody overtakes it. parallel: how many may run at a time.
    """

    def __init__(self, parallel: int) -> None:
        self._parallel = parallel
        self._waiting: list[Ticket] = []
        self._inside: dict[Ticket, None] = {}

    def ticket(self, tool: Tool | None) -> Ticket:
        """A place in the queue, for one call: `async with ticket: …`. None stands for a tool that does not exist."""
        ticket = Ticket(self, tool)
        self._waiting.append(ticket)
        self._let_in()
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """A call is over, or will never begin."""
        if ticket in self._inside:
            del self._inside[ticket]
        else:
            self._waiting.remove(ticket)
        self._let_in()

    def _let_in(self) -> None:
        kept: list[Ticket] = []
        for number, ticket in enumerate(self._waiting):
            if len(self._inside) >= self._parallel or (ticket.alone and (self._inside or kept)) or self._is_taken():
                kept += self._waiting[number:]
                break
            if ticket.line is not None and any(other.line == ticket.line for other in (*self._inside, *kept)):
                kept.append(ticket)
            else:
                self._inside[ticket] = None
                ticket.open()
        self._waiting = kept

    def _is_taken(self) -> bool:
        return any(ticket.alone for ticket in self._inside)


class Ticket:
    """The place of one call in the traffic."""

    __slots__ = ("_opened", "_traffic", "alone", "is_open", "line")

    def __init__(self, traffic: Traffic, tool: Tool | None) -> None:
        self._traffic = traffic
        self._opened: anyio.Event | None = None
        self.is_open = False
        self.alone = tool is not None and tool.exclusive
        self.line = tool.name if tool is not None and tool.serial else None

    def open(self) -> None:
        """The call may begin."""
        self.is_open = True
        if self._opened is not None:
            self._opened.set()

    async def __aenter__(self) -> None:
        if self.is_open:
            return
        self._opened = anyio.Event()
        try:
            await self._opened.wait()
        except BaseException:
            self._traffic.leave(self)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._traffic.leave(self)
