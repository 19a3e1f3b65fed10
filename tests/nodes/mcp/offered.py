"""Graphs and an agent for `flowgraph serve-mcp`; they print where they should not, and read what is not theirs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import anyio
from pydantic import BaseModel

import flowgraph as fg
from flowgraph_nodes import ReactAgent, ScriptedModel, call

print("printed while loading")


class Place(BaseModel):
    name: str
    height: int = 0


greeting = fg.Graph("greeting", title="Greets somebody.")
greeting.input("who", Place, title="whom to greet")
greeting.input("times", int, default=1)


@greeting.node
def words(who: Place, times: int) -> str:
    print("printed in a node")
    subprocess.run([sys.executable, "-c", "print('printed by a process')"], check=True)
    assert sys.stdin.read() == ""
    return f"Hello {who.name}! " * times


@greeting.node
async def letter(words: str) -> dict[str, str]:
    return {"text": words.strip()}


broken = fg.Graph("broken")


@broken.node
def fuse() -> str:
    raise ValueError("the fuse is gone, and api_key=abcdefgh12345678 with it")


endless = fg.Graph("endless")
endless.input("marks", str)


@endless.node
async def forever(marks: str) -> None:
    Path(marks).write_text("began")
    try:
        await anyio.sleep_forever()
    finally:
        Path(marks).write_text("cancelled")


def look(where: str) -> str:
    return f"looked {where}"


helper = ReactAgent(
    model=ScriptedModel(lambda request: "done" if len(request.messages) > 2 else call("look", where="here")),
    tools=[look],
    name="the helper",
    description="Helps.",
)
