"""What tools cost: schemas, dispatch and search, each against a floor or a limit of its own."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import anyio
from pydantic import BaseModel, ConfigDict, create_model

from flowgraph_nodes import Toolbox, ToolCall, tool
from flowgraph_nodes.tools.search import ToolIndex
from tests.benchmarks.measuring import Row, fastest

_SYLLABLES = ["ba", "co", "di", "fu", "ge", "ha", "li", "mo", "nu", "pa", "ro", "si", "ta", "ve", "wi", "zo"]


def functions(count: int) -> list[Callable[..., Any]]:
    """Functions of four parameters, all different, each with a docstring."""
    made: list[Callable[..., Any]] = []
    for number in range(count):
        names: dict[str, Any] = {}
        exec(
            f"async def tool_{number}(city: str, days: int = {number}, tags: list[str] | None = None, "
            f"exact: bool = False) -> str:\n    '''Look something up, number {number}.'''\n    return ''\n",
            names,
        )
        made.append(names[f"tool_{number}"])
    return made


def schemas(repeat: int, count: int = 1000) -> Row:
    """Tools from functions, against pydantic models of the same fields and their schemas."""
    made = functions(count)

    def ours() -> object:
        return [tool(function).parameters for function in made]

    def floor() -> object:
        return [_bare_model(f"tool_{number}", number).model_json_schema() for number in range(count)]

    took, least = fastest([ours, floor], repeat)
    return Row(f"schemas of {count:,}", took / least, "x pydantic", 2.0, f"{took / count * 1e6:.0f} µs a tool")


def _bare_model(name: str, number: int) -> type[BaseModel]:
    fields: dict[str, Any] = {
        "city": (str, ...),
        "days": (int, number),
        "tags": (list[str] | None, None),
        "exact": (bool, False),
    }
    model: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
    return model


def dispatch(repeat: int, count: int = 100) -> Row:
    """Calls that do nothing, side by side, against a bare task group; a hundred rounds in one loop."""

    async def nothing(n: int = 0) -> None:
        await anyio.lowlevel.checkpoint()

    box = Toolbox([nothing], parallel=count)
    calls = [ToolCall(str(number), "nothing", '{"n": 1}') for number in range(count)]

    async def ours() -> None:
        for _ in range(100):
            assert len(await box.execute(calls)) == count

    async def floor() -> None:
        for _ in range(100):
            async with anyio.create_task_group() as group:
                for _ in calls:
                    group.start_soon(nothing)

    took, least = fastest([lambda: anyio.run(ours), lambda: anyio.run(floor)], repeat)
    remark = f"{took / count / 100 * 1e6:.1f} µs a call, bare {least / count / 100 * 1e6:.1f} µs"
    return Row(f"dispatch of {count}", took / least, "x bare", 3.0, remark)


def search(count: int = 5000) -> Row:
    """The slowest of fifty searches; the index is made once."""
    draw = random.Random(5)
    words = ["".join(draw.choices(_SYLLABLES, k=3)) for _ in range(2000)]

    def made(number: int) -> Any:
        name = "_".join(draw.choices(words, k=2)) + f"_{number}"
        properties = {draw.choice(words): {"type": "string", "description": _text(draw, words, 6)} for _ in range(3)}
        schema = {"properties": properties}
        return tool(_nothing, name=name, description=_text(draw, words, 25), schema=schema)

    tools = [made(number) for number in range(count)]
    begun = time.perf_counter()
    index = ToolIndex(tools)
    built = time.perf_counter() - begun
    times = []
    for _ in range(50):
        query = _text(draw, words, 6)
        begun = time.perf_counter()
        assert index.find(query)
        times.append(time.perf_counter() - begun)
    remark = f"slowest of 50; index made in {built * 1e3:.0f} ms"
    return Row(f"search of {count:,}", max(times) * 1e3, "ms", 20.0, remark)


def _text(draw: random.Random, words: list[str], length: int) -> str:
    return " ".join(draw.choices(words, k=length))


def _nothing(**given: Any) -> None: ...


def tool_rows(repeat: int) -> Iterator[Row]:
    """The lines of the table about tools."""
    yield schemas(min(repeat, 5))
    yield dispatch(repeat)
    yield search()
