"""Exit codes, and errors as short messages: never a traceback for what somebody called wrongly."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

import typer

from ..errors import FlowgraphError, GraphChanged, GraphError, RunBusy, RunCancelled
from .target import TargetError

FAILED: Final = 1
"""The run failed, or the graph has errors."""
WRONG: Final = 2
"""The call is wrong, or the store refused: nothing was begun."""
PAUSED: Final = 3
"""The run waits for people."""
INTERRUPTED: Final = 130


@contextlib.contextmanager
def usage_errors() -> Iterator[None]:
    """Turn what is wrong with the call into a message and an exit code."""
    try:
        yield
    except RunCancelled:
        raise typer.Exit(INTERRUPTED) from None
    except GraphError as error:
        raise refused(str(error), FAILED) from None
    except (TargetError, FlowgraphError, OSError, ValueError) as error:
        raise refused(said(error)) from None


def refused(message: str, code: int = WRONG) -> typer.Exit:
    """Say what is wrong, and what to raise then."""
    typer.echo(message, err=True)
    return typer.Exit(code)


def said(error: BaseException) -> str:
    """The message of an error, as somebody at a command line needs it."""
    if isinstance(error, GraphChanged):
        lines = "".join(f"\n  - {difference}" for difference in error.differences)
        return f"the graph is not the one that the run was begun with (--force goes on all the same):{lines}"
    if isinstance(error, RunBusy):
        return f"{error}; wait until it has ended, or stop that process"
    return str(error)
