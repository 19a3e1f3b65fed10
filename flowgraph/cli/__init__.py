"""The command line: `flowgraph check|draw|run|resume|answer|fork|runs|show|explain|prune|demo|serve-mcp`."""

from .app import main

__all__ = ["main"]
