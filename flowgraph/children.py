"""Children: what one attempt of a node run calls, where it stands in the run, and the slot that it is lent."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

import anyio

from .call import Call, Place, in_own_context
from .commands import Settle
from .errors import FlowgraphError
from .gather import ALSO
from .node import Node, checked_inputs
from .outcome import Outcome, Reason, Status
from .policy import Policy
from .schedule import Schedule
from .slots import Slot


class Child(Protocol):
    """A node run that another called."""

    @property
    def path(self) -> str: ...
    async def live(self, schedule: Schedule, inputs: dict[str, Any]) -> Outcome[Any]: ...
    def blocked(self) -> bool: ...
    def settle(self, settle: Settle) -> None: ...


class Parent(Protocol):
    """A node run that calls others."""

    @property
    def path(self) -> str: ...
    def child(self, node: Node, inputs: dict[str, Any], path: str, title: str, policy: Policy) -> Child: ...


class Children:
    """The children of one attempt. They run in the tasks that await them, and end with it.

    slot: what is lent while they run. before: those of the attempt, when these are of its fallback. names: how often
    each path was taken. unstarted: how many were called and never awaited.
    """

    __slots__ = (
        "_coming",
        "_failed",
        "_idle",
        "_lending",
        "_live",
        "_open",
        "_parent",
        "_schedule",
        "_slot",
        "names",
        "unstarted",
    )

    def __init__(self, parent: Parent, slot: Slot | None = None, before: Children | None = None) -> None:
        self.unstarted = 0
        self._parent = parent
        self._slot = slot
        self._lending = 0
        self._coming: anyio.Event | None = None  # while a task waits to have the slot back
        self._open = True
        self.names: dict[str, int] = {} if before is None else before.names
        self._idle: dict[str, Child] = {}
        self._live: dict[str, Child] | None = None  # made with the first child: most nodes have none
        # id of an error → path of the child that raised it
        self._failed: dict[int, str] = _NONE if before is None else before._failed
        self._schedule: Schedule | None = None

    def reserve(self, node: Node, inputs: Mapping[str, Any], place: Place, policy: Policy) -> Call[Outcome[Any]]:
        """The call of a child: its inputs are checked and its place is taken. Raises InputError."""
        self.check_open()
        given = checked_inputs(node, inputs)
        path, title = self._place(node, place)
        self.unstarted += 1
        child: Child | None = None

        def announce() -> Child:
            nonlocal child
            if child is None:
                self.check_open()
                self.unstarted -= 1
                child = self._idle[path] = self._parent.child(node, given, path, title, policy)
            return child

        return Call(path, lambda: in_own_context(self._run(announce(), given)), announce)

    def end(self) -> None:
        """The attempt is over. What took its place and never began ends with it; nothing new can be called."""
        self._open = False
        for child in self._idle.values():
            child.settle(Settle(0, Status.CANCELLED, Reason("cancelled", detail="before it began")))
        self._idle.clear()

    def check_open(self) -> None:
        """Raise FlowgraphError when the attempt is over."""
        if not self._open:
            path = self._parent.path
            raise FlowgraphError(f"'{path}' has ended: its context cannot be used to run anything any more")

    async def lent(self, body: Callable[[], Awaitable[Any]]) -> Any:
        """Do something while the slot of the attempt is lent to others."""
        slot = self._slot
        if slot is None:
            return await body()
        self._lending += 1
        self._lend(slot)
        try:
            return await body()
        finally:
            self._lending -= 1
            if self._open:
                await self._take_back(slot)

    def _lend(self, slot: Slot) -> None:
        """Let others have it, unless somebody waits for it right now: that one does so when it has come."""
        if self._lending and self._coming is None:
            slot.give_back()

    async def _take_back(self, slot: Slot) -> None:
        """Wait for the slot; one of the attempt's tasks does so for all.

        If it was lent again meanwhile, it goes on to others: the child of another task would wait for it in vain.
        """
        while not self._lending and not slot.held:
            if self._coming is not None:
                await self._coming.wait()
                continue
            self._coming = anyio.Event()
            try:
                await slot.take()
            finally:
                self._coming.set()
                self._coming = None
        self._lend(slot)

    async def _run(self, child: Child, inputs: dict[str, Any]) -> Outcome[Any]:
        self.check_open()
        del self._idle[child.path]
        if self._schedule is None:
            self._schedule = Schedule()
        schedule = self._schedule
        if self._live is None:
            self._live = {}
        self._live[child.path] = child
        try:
            outcome: Outcome[Any] = await self.lent(lambda: child.live(schedule, inputs))
        finally:
            del self._live[child.path]
        if outcome.error is not None and outcome.status.bad:
            if self._failed is _NONE:
                self._failed = {}
            self._failed[id(outcome.error)] = child.path
        return outcome

    def blocked(self) -> bool:
        """Whether some children are at work, and each of them only waits for a person."""
        live = self._live
        return bool(live) and all(child.blocked() for child in (live or {}).values())

    @property
    def count(self) -> int:
        """How many are at work."""
        return len(self._live or ())

    def causes(self, error: BaseException | None) -> tuple[str, ...]:
        """The children whose failures made the attempt fail with `error`: itself, or what it was raised from."""
        seen = set[int]()
        while error is not None and id(error) not in seen:  # whoever raises a cause of its cause makes a circle
            seen.add(id(error))
            found = [self._failed.get(id(one)) for one in (error, *getattr(error, ALSO, ()))]
            if any(found):
                return tuple(path for path in found if path)
            error = error.__cause__ or error.__context__
        return ()

    def _place(self, node: Node, place: Place) -> tuple[str, str]:
        """The child's path, made unique below the parent, and its title."""
        name = place.name or ("" if place.round is not None or place.item is not None else node.name)
        escaped = escape(name) if name else ""
        path = self._parent.path + Place(name=escaped, round=place.round, item=place.item).suffix
        count = self.names[path] = self.names.get(path, 0) + 1
        title = getattr(node, "title", "") or (name if name != escaped else "")
        return (path if count == 1 else f"{path}~{count}"), title


def escape(name: str) -> str:
    """A name as part of a path: what is neither a letter, a digit, `_` nor `-` becomes `%` and its number in hex."""
    return re.sub(r"[^\w-]", lambda match: f"%{ord(match[0]):02X}", name) or "_"


_NONE: Final[dict[int, str]] = {}
