"""The command line: `flowgraph check|run|draw|demo|serve-mcp`."""

from .app import main

__all__ = ["main"]
