"""Nodes and choices as the scheduler sees them: numbers and flags, nothing that could be called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .handle import Ref
from .policy import Join


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge per parent. required: a skipped parent skips the node. tolerant: whatever the parent ended with passes.

    data: some parameter reads the parent; control: it is the chooser of a choice that targets the node; awaited: by
    `after`, by the condition or as a chooser, so that a quorum does not start without it.
    """

    parent: int
    required: bool = False
    tolerant: bool = False
    data: bool = False
    control: bool = False
    awaited: bool = False


@dataclass(frozen=True, slots=True)
class Rejoin:
    """A node below the targets of a choice that is no target itself: see `rules.py`."""

    choice: int
    branch: tuple[int, ...]  # its parents at or below the targets
    independent: tuple[int, ...]  # its parents that are neither that, nor the chooser, nor above the chooser


@dataclass(frozen=True, slots=True)
class Target:
    """A node that a choice may take."""

    choice: int
    through: tuple[tuple[int, tuple[int, ...]], ...]  # parent → the other targets that it is, or lies below


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """A choice with its targets as numbers. cases: one tuple of targets a label, None where the branch ends."""

    chooser: int
    source: Ref
    labels: tuple[Any, ...]
    cases: tuple[tuple[int, ...] | None, ...]
    has_default: bool  # then the last of `cases` is the default's
    targets: tuple[int, ...]
    rejoins: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlanNode:
    """A node as the scheduler sees it."""

    name: str
    parents: tuple[Edge, ...] = ()
    children: tuple[int, ...] = ()
    chooses: tuple[int, ...] = ()
    targeted: tuple[Target, ...] = ()
    rejoins: tuple[Rejoin, ...] = ()
    needs: tuple[int, ...] | None = None
    join: Join = Join.ALL
    conditional: bool = False
    attempts: int = 1
    fallback: bool = False
