"""Flows: loops, sequences, parallel branches, routes and teams of any nodes. No model needed."""

from .errors import FlowError, LoopExhausted
from .loop import LoopFlow
from .parallel import parallel
from .route import route
from .sequence import sequence
from .team import Assignment, Team

__all__ = ["Assignment", "FlowError", "LoopExhausted", "LoopFlow", "Team", "parallel", "route", "sequence"]
