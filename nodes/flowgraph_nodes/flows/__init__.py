"""Flows: loops, sequences, parallel branches and routes over any nodes. No model needed."""

from .errors import FlowError, LoopExhausted
from .loop import LoopFlow
from .parallel import parallel
from .route import route
from .sequence import sequence

__all__ = ["FlowError", "LoopExhausted", "LoopFlow", "parallel", "route", "sequence"]
