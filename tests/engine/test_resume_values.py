"""Values over a resume: they come back equal in value and type; secrets are not stored; what cannot be, is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, SecretStr

import flowgraph as fg
from flowgraph.stores import MemoryStore
from tests.engine.stopping import RUN, called, loaded

MARKER = "marker-51f0"


class Colour(Enum):
    RED = "red"


class Paper(BaseModel):
    title: str
    pages: list[int] = []


@dataclass
class Point:
    x: float
    tags: tuple[str, ...] = field(default_factory=tuple)


@dataclass
class Login:
    user: str
    key: SecretStr


VALUES: list[tuple[Any, Any]] = [
    (Paper, Paper(title="t", pages=[1])),
    (Point, Point(1.5, ("a",))),
    (list[Point], [Point(0.0), Point(1.0, ("b", "c"))]),
    (datetime, datetime(2026, 1, 2, tzinfo=UTC)),
    (timedelta, timedelta(days=2)),
    (Path, Path("a/b")),
    (UUID, UUID(int=7)),
    (bytes, b"\x00\xff"),
    (set[int], {1, 2}),
    (tuple[int, str], (1, "a")),
    (dict[int, Paper], {1: Paper(title="x")}),
    (Colour, Colour.RED),
    (Literal["a", "b"], "a"),
    (Paper | Point, Point(2.0)),
    (int | None, None),
    (float, 1.0),
    (dict, {"deep": [{"x": None}, [], "\U0001f600 \u0000 \n"]}),
    (Any, [1, 2.5, None, True, "", {}]),
]


def begun(graph: fg.Graph, inputs: Any = None, **options: Any) -> tuple[fg.Run, MemoryStore]:
    store = MemoryStore()
    return fg.run(graph, inputs, store=store, run_id=RUN, raise_on_failure=False, **options), store


@pytest.mark.parametrize(("type_", "value"), VALUES, ids=[str(type_) for type_, _ in VALUES])
def test_outputs_come_back_equal_in_value_and_type(type_: Any, value: Any) -> None:
    seen: list[Any] = []

    def give() -> Any:
        return value

    async def call(ctx: fg.Context) -> Any:
        seen.append(await ctx.call(give))
        if len(seen) == 1:
            raise OSError("no")
        return seen[-1]

    def read(give: Any) -> None:
        seen.append(give)
        if len(seen) <= 2:
            raise OSError("no")

    give.__annotations__["return"] = call.__annotations__["return"] = type_
    graph = fg.Graph("g")
    graph.add("give", give)
    graph.add("call", call)
    graph.add("read", read, after="call", join=fg.Join.ALL)
    graph.input("given", type_)
    graph.add("copy", lambda given: seen.append(given), after="read")
    _, store = begun(graph, {"given": value})
    fg.resume(graph, RUN, store=store, raise_on_failure=False)
    run = fg.resume(graph, RUN, store=store)
    assert run["give"] == run["call"] == value
    assert len(seen) == 4
    for found in [*seen, run["give"], run["call"], fg.resume(graph, RUN, store=store)["give"]]:
        assert found == value and type(found) is type(value)


def test_outcomes_of_a_map_come_back_with_their_errors() -> None:
    def odd(value: int) -> int:
        if value % 2:
            raise ValueError(f"{value} is odd")
        return value

    tries: list[list[fg.Outcome[int]]] = []

    def read(items: list[fg.Outcome[int]]) -> int:
        tries.append(items)
        if len(tries) == 1:
            raise OSError("no")
        return len(items)

    graph = fg.Graph("g")
    graph.add("numbers", lambda: [0, 1])
    graph.map("items", odd, each={"value": "numbers"}, on_item_failure="keep")
    graph.add("read", read)
    _, store = begun(graph)
    run = fg.resume(graph, RUN, store=store)
    assert called(run) == ["read"]
    first, second = tries
    assert [(o.status, o.value, o.path, str(o.error), type(o.error)) for o in first] == [
        (o.status, o.value, o.path, str(o.error), type(o.error)) for o in second
    ]


# -- secrets


def test_c51_secrets_are_not_stored_and_asked_again() -> None:
    secret = SecretStr(MARKER)
    seen: list[Any] = []

    def login(user: str, key: SecretStr) -> Login:
        seen.append("login")
        return Login(user, key)

    def use(login: Login) -> str:
        seen.append(login.key.get_secret_value())
        return "used"

    async def parent(ctx: fg.Context, key: SecretStr) -> str:
        mine = await ctx.call(login, {"user": "me", "key": key}, name="mine")
        assert mine.key.get_secret_value() == MARKER
        if seen.count("login") < 3:
            ctx.log(f"{key}")
            raise OSError(f"no {mine}")
        return "done"

    graph = fg.Graph("g")
    graph.input("key", SecretStr)
    graph.input("user", str)
    graph.add("login", login)
    graph.add("use", use)
    graph.add("parent", parent, after="use")
    run, store = begun(graph, {"key": secret, "user": "me"})
    assert run.status is fg.Status.FAILED
    stored = store.read(RUN)
    assert MARKER not in str(stored)
    assert MARKER not in str(loaded(store).events)
    for give in ({}, {"inputs": {"user": "me"}}):
        with pytest.raises(fg.InputError, match="'key' held a secret and so was not stored"):
            fg.resume(graph, RUN, store=store, **give)
    assert len(store.read(RUN).rows) == len(stored.rows), "nothing was changed"
    again = fg.resume(graph, RUN, store=store, inputs={"key": secret})
    assert again.status is fg.Status.SUCCEEDED
    assert called(again) == ["login", "parent", "parent/mine"], "its reader does not run again"
    assert again["login"] == Login("me", secret)
    assert MARKER not in str(store.read(RUN))


def test_a_finished_run_needs_no_secrets_to_be_read() -> None:
    graph = fg.Graph("g")
    graph.input("key", SecretStr)
    graph.add("use", lambda key: len(key))
    _, store = begun(graph, {"key": SecretStr(MARKER)})
    assert loaded(store)["use"] == len(MARKER)
    assert fg.resume(graph, RUN, store=store, inputs={"key": SecretStr(MARKER)})["use"] == len(MARKER)


# -- what cannot be stored


class Socket:
    """No type that anything knows."""


@pytest.mark.parametrize("declared", [True, False])
def test_an_output_that_cannot_be_stored_fails_its_node_before_anything_below_is_called(declared: bool) -> None:
    below: list[Any] = []

    def give() -> Any:
        return Socket()

    if declared:
        give.__annotations__["return"] = Socket
    graph = fg.Graph("g")
    graph.add("give", give)
    graph.add("below", lambda give: below.append(give))
    graph.add("other", lambda: 1)
    run, store = begun(graph)
    assert below == [] and run["other"] == 1
    error = run.outcomes["give"].error
    assert type(error) is fg.NotStorable and "'give'" in str(error) and "Socket" in str(error)
    assert fg.run(graph).status is fg.Status.SUCCEEDED, "without a store all values pass"
    assert loaded(store).outcomes["give"].status is fg.Status.FAILED


def test_an_input_that_cannot_be_stored_is_refused_before_anything_starts() -> None:
    graph, store = fg.Graph("g"), MemoryStore()
    graph.input("socket", Any)
    graph.add("use", lambda socket: 1)
    with pytest.raises(fg.InputError, match=r"'socket'.*Socket"):
        fg.run(graph, {"socket": Socket()}, store=store)
    assert store.heads() == []


def test_large_values_are_stored_once() -> None:
    large = "x" * 50_000
    graph = fg.Graph("g")
    graph.input("text", str)
    graph.add("a", lambda text: text)
    graph.add("b", lambda a: a)
    graph.map("items", lambda item: item, each={"item": "parts"})
    graph.add("parts", lambda b: [b] * 5)
    run, store = begun(graph, {"text": large})
    stored = store.read(RUN)
    assert sum(map(len, stored.rows)) < 20_000
    assert sorted(map(len, stored.values.values()))[:1] == [50_002]
    assert sum(map(len, stored.values.values())) < 50_002 * 13, "the list, twice as parts and items, and the text"
    assert loaded(store)["items"] == run["items"] == [large] * 5


def test_journals_grow_with_the_work() -> None:
    def size(count: int) -> int:
        graph = fg.Graph("g")
        graph.add("n0", lambda: 0)
        for number in range(1, count):
            graph.add(f"n{number}", lambda value: value, bind={"value": f"n{number - 1}"})
        _, store = begun(graph)
        stored = store.read(RUN)
        return sum(map(len, [*stored.rows, *stored.values.values()]))

    assert size(100) < 2.5 * size(50)
