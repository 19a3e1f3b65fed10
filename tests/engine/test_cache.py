"""Outputs that are remembered: by place, version and inputs, in a run and from run to run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import SecretStr

import flowgraph as fg
from flowgraph.stores import MemoryStore
from flowgraph.testing import run_jumping


class Square:
    """A node that counts its calls."""

    def __init__(self, wait: float = 0.0) -> None:
        self.calls: list[int] = []
        self.wait = wait

    async def __call__(self, x: int) -> int:
        self.calls.append(x)
        await anyio.sleep(self.wait)
        return x * x


def mapped(square: Square, cache: fg.Cache | None = None, version: str = "") -> fg.Graph:
    graph = fg.Graph("g")
    graph.input("xs", list[int])
    graph.map("m", square, each={"x": "xs"}, policy=fg.Policy(cache=cache or fg.Cache()), version=version)
    return graph


def test_equal_calls_of_a_run_are_made_once_also_those_at_the_same_time() -> None:
    square = Square(wait=0.002)
    run = fg.run(mapped(square), {"xs": [3, 3, 2, 3]})
    assert (run["m"], sorted(square.calls)) == ([9, 9, 4, 9], [2, 3])


def test_a_later_run_takes_what_an_earlier_one_made(tmp_path: Path) -> None:
    square, store = Square(), tmp_path / "runs.db"
    fg.run(mapped(square), {"xs": [1, 2]}, store=store)
    run = fg.run(mapped(square), {"xs": [2, 4]}, store=store)
    assert (run["m"], square.calls) == ([4, 16], [1, 2, 4])


def test_another_version_or_another_place_is_another_thing() -> None:
    square, store = Square(), MemoryStore()
    fg.run(mapped(square), {"xs": [2]}, store=store)
    fg.run(mapped(square, version="2"), {"xs": [2]}, store=store)
    graph = fg.Graph("g")
    graph.add("other", square, values={"x": 2}, policy=fg.Policy(cache=fg.Cache()))
    fg.run(graph, store=store)
    assert square.calls == [2, 2, 2]


def test_what_is_too_old_is_made_again() -> None:
    square, graph = Square(), fg.Graph("g")
    policy = fg.Policy(cache=fg.Cache(max_age=60))

    async def often(ctx: fg.Context) -> list[int]:
        found = []
        for pause in (0, 50, 50):
            await anyio.sleep(pause)
            found.append(await ctx.call(square, {"x": 2}, policy=policy, name="square"))
        return found

    graph.add("often", often)
    assert run_jumping(graph)["often"] == [4, 4, 4]
    assert square.calls == [2, 2]


def test_a_failure_is_not_remembered() -> None:
    tries: list[int] = []

    def broken() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("no")
        return 5

    graph = fg.Graph("g", policy=fg.Policy(retry=fg.Retry(attempts=3), cache=fg.Cache()))
    graph.add("n", broken)
    assert fg.run(graph)["n"] == 5
    assert len(tries) == 2


def test_secrets_are_not_remembered_beyond_the_run(tmp_path: Path) -> None:
    calls: list[int] = []

    def login() -> SecretStr:
        calls.append(1)
        return SecretStr("marker-of-a-secret")

    graph = fg.Graph("g", policy=fg.Policy(cache=fg.Cache()))
    graph.add("login", login)
    for _ in range(2):
        assert fg.run(graph, store=tmp_path / "runs.db")["login"].get_secret_value() == "marker-of-a-secret"
    assert len(calls) == 2
    assert not any(b"marker-of-a-secret" in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_typed_outputs_come_back_as_they_were(tmp_path: Path) -> None:
    def pair(x: int) -> tuple[int, bytes]:
        return x, b"\xff"

    graph = fg.Graph("g")
    graph.add("pair", pair, values={"x": 1}, policy=fg.Policy(cache=fg.Cache()))
    assert [fg.run(graph, store=tmp_path / "runs.db")["pair"] for _ in range(2)] == [(1, b"\xff")] * 2


def test_the_record_says_where_an_output_is_from() -> None:
    square, store = Square(), MemoryStore()
    runs = [fg.run(mapped(square), {"xs": [2]}, store=store) for _ in range(2)]
    decided = [[e.detail for e in run.events if getattr(e, "what", "") == "cached"] for run in runs]
    assert decided[0] == []
    assert decided[1][0].startswith("made 20")


@pytest.mark.parametrize("wrong", [3600, {"max_age": 1}])
def test_something_else_than_a_cache_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="write cache=Cache"):
        fg.Policy(cache=wrong)
