"""The command line: `flowgraph check|run|draw|demo`."""

from .app import main

__all__ = ["main"]
