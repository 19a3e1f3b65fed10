"""Checks: everything that is wrong with a graph, found before it runs."""

from __future__ import annotations

from .errors import GraphError, Problem
from .graph import Graph
from .plan import Plan, plan_of


def check(graph: Graph) -> list[Problem]:
    """Everything that is wrong or doubtful in a graph: errors first, then warnings, in declared order."""
    problems = list(plan_of(graph).problems)
    if plan_of(graph).cyclic:
        problems.append(Problem("", "there is a cycle"))
    return sorted(problems, key=lambda problem: problem.severity)


def checked(graph: Graph) -> Plan:
    """The plan of a graph that has no errors. Raises GraphError with all of them."""
    if errors := [problem for problem in check(graph) if problem.severity == "error"]:
        raise GraphError(graph.name, errors)
    return plan_of(graph)
