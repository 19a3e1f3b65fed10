"""How the built-in tools fail. A model reads the kind and the message.

::

    flowgraph_nodes.errors.ToolError
    └── BuiltinToolError
        ├── WorkspaceError          a path cannot be used as asked: missing, there already, a folder, not text …
        │   └── OutsideWorkspace    the path leaves the workspace
        ├── PatternError            a search pattern cannot be read
        ├── CommandRefused          a command is too long or on the blocklist
        └── ShellUnavailable        commands cannot be run here; says why and what to do
"""

from __future__ import annotations

from flowgraph_nodes.errors import ToolError


class BuiltinToolError(ToolError):
    """Base of the errors that built-in tools raise on purpose."""


class WorkspaceError(BuiltinToolError):
    """A path cannot be used as asked; the message names it, what is wrong, and what to do."""


class OutsideWorkspace(WorkspaceError):
    """The path leads out of the workspace and of every other root."""


class PatternError(BuiltinToolError):
    """A regular expression or a glob pattern cannot be read."""


class CommandRefused(BuiltinToolError):
    """A shell command is not run: it is too long, or looks like one of those that are never wanted."""


class ShellUnavailable(BuiltinToolError):
    """There is no sandbox to run commands in, and nobody said that they may run without one."""
