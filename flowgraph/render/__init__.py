"""Drawing: graphs and runs as SVG, DOT or Mermaid text.

build.py turns a spec, or a record, into a picture (picture.py: cards, clusters, edges, a legend); dot.py, mermaid.py
and svg.py write a picture out; engine.py and layout.py find and read the places for the SVG.
"""

from .drawing import Drawing, draw, format_of
from .engine import find as find_engine

__all__ = ["Drawing", "draw", "find_engine", "format_of"]
