"""Built-in tools: files, search, shell and talking to the user, all in one workspace."""

from flowgraph_nodes.tools.builtin.collection import builtin_tools
from flowgraph_nodes.tools.builtin.errors import (
    BuiltinToolError,
    CommandRefused,
    OutsideWorkspace,
    PatternError,
    ShellUnavailable,
    WorkspaceError,
)
from flowgraph_nodes.tools.builtin.executors import Executor, Limits, LocalExecutor
from flowgraph_nodes.tools.builtin.process import Capture, Ended
from flowgraph_nodes.tools.builtin.sandbox import SandboxExecutor
from flowgraph_nodes.tools.builtin.workspace import Workspace

__all__ = [
    "BuiltinToolError",
    "Capture",
    "CommandRefused",
    "Ended",
    "Executor",
    "Limits",
    "LocalExecutor",
    "OutsideWorkspace",
    "PatternError",
    "SandboxExecutor",
    "ShellUnavailable",
    "Workspace",
    "WorkspaceError",
    "builtin_tools",
]
