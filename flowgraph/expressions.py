"""Conditions: a callable, or a text in a small safe expression language, over the values that its names bind to.

The language is simpleeval's: comparisons, arithmetic, `and`/`or`/`not`, `in`, indexing, attributes that do not begin
with an underscore, and a few pure functions. Nothing is ever handed to `eval`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, Final

FUNCTIONS: Final[dict[str, Any]] = {
    "len": len,
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "abs": abs,
    "min": min,
    "max": max,
    "sum": sum,
    "any": any,
    "all": all,
    "lower": lambda text: str(text).lower(),
    "upper": lambda text: str(text).upper(),
}
"""What an expression may call."""

LONGEST: Final = 2000
"""Characters of an expression, at most."""

_CONSTANTS: Final = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}


class Expression:
    """A safe expression, parsed once. `names` are the values it asks for, in order of first appearance.

    Raises ValueError with a position when the text is not an expression or uses something that is not allowed.
    """

    __slots__ = ("_tree", "names", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > LONGEST:
            raise ValueError(f"an expression may have {LONGEST} characters, not {len(text)}: write a function")
        try:
            tree = ast.parse(text.strip(), mode="eval")
            names = _Names()
            names.visit(tree)
        except SyntaxError as error:
            raise ValueError(f"{text!r} is not an expression: {error.msg} at column {error.offset}") from None
        except RecursionError:
            raise ValueError(f"{text[:60]!r}… is nested too deeply for an expression: write a function") from None
        if names.refused:
            raise ValueError(f"{text!r} {names.refused[0]}; it may call {', '.join(FUNCTIONS)}")
        self.names = tuple(dict.fromkeys(name for name in names.free if name not in _CONSTANTS))
        self._tree = tree.body

    def __call__(self, values: Mapping[str, Any]) -> Any:
        """The value of the expression. Raises whatever the operations raise."""
        from simpleeval import EvalWithCompoundTypes

        evaluator = EvalWithCompoundTypes(functions=FUNCTIONS, names={**_CONSTANTS, **values})
        evaluator.operators[ast.Mod] = _modulo
        return evaluator.eval(self.text, previously_parsed=self._tree)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


class _Names(ast.NodeVisitor):
    """The names that an expression reads, in order, but for those that its own comprehensions bind; and what it must
    not do: a method of a value may change it, so only the functions that stand in `FUNCTIONS` are called."""

    def __init__(self) -> None:
        self.free: list[str] = []
        self.refused: list[str] = []
        self._bound: list[str] = []

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and node.id not in self._bound:
            self.free.append(node.id)

    def visit_Call(self, node: ast.Call) -> None:
        if not isinstance(node.func, ast.Name):
            self.refused.append(f"calls {ast.unparse(node.func)[:60]}(), a method of a value")
        elif node.func.id not in FUNCTIONS:
            self.refused.append(f"calls {node.func.id}()")
        for child in (*node.args, *node.keywords):
            self.visit(child)

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> None:
        before = len(self._bound)
        for part in node.generators:
            self.visit(part.iter)
            self._bound += [n.id for n in ast.walk(part.target) if isinstance(n, ast.Name)]
            for condition in part.ifs:
                self.visit(condition)
        self.visit(node.elt)
        del self._bound[before:]

    visit_GeneratorExp = visit_ListComp  # noqa: N815
    visit_SetComp = visit_ListComp  # noqa: N815


def _modulo(left: Any, right: Any) -> Any:
    """`%` of numbers; on text it would be a formatting language of its own."""
    if isinstance(left, str | bytes):
        raise TypeError("% is for numbers here, not for formatting text")
    return left % right
