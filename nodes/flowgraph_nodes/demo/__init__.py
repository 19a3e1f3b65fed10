"""The demo of `flowgraph demo`: a folder of messages becomes one page, on a model that runs on this machine."""

from flowgraph_nodes.demo.pipeline import demo, digest

__all__ = ["demo", "digest"]
