"""Calling built-in tools as an agent does: through a toolbox, with JSON arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flowgraph_nodes.messages import ToolCall
from flowgraph_nodes.tools import Toolbox, ToolResult
from flowgraph_nodes.tools.builtin import Executor, Workspace, builtin_tools
from flowgraph_nodes.tools.builtin.sandbox import bubblewrap

SANDBOX_PROBLEM = bubblewrap().problem
needs_sandbox = pytest.mark.skipif(bool(SANDBOX_PROBLEM), reason=f"needs a working bubblewrap: {SANDBOX_PROBLEM}")


class Tools:
    """The tools of one workspace. `text` gives what the model reads, `fails` the failure's kind and message."""

    def __init__(
        self, workspace: Workspace | Path, *, sandbox: bool = True, executor: Executor | None = None, ctx: Any = None
    ) -> None:
        self.box = Toolbox(builtin_tools(workspace, ["all", "run_bash"], sandbox=sandbox, executor=executor))
        self.ctx = ctx

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        return await self.box.run_call(ToolCall("1", name, json.dumps(arguments)), self.ctx)

    async def text(self, name: str, **arguments: Any) -> str:
        result = await self.call(name, **arguments)
        assert result.ok, result.text
        return result.text

    async def fails(self, name: str, **arguments: Any) -> str:
        result = await self.call(name, **arguments)
        assert result.failure is not None, result.text
        return f"{result.failure.kind}: {result.failure.message}"
