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

_CONSTANTS: Final = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}


class Expression:
    """A safe expression, parsed once. `names` are the values it asks for, in order of first appearance.

    Raises ValueError with a position when the text is not an expression or uses something that is not allowed.
    """

    __slots__ = ("_tree", "names", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except SyntaxError as error:
            raise ValueError(f"{text!r} is not an expression: {error.msg} at column {error.offset}") from None
        called = {
            node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        if unknown := sorted(called - FUNCTIONS.keys()):
            raise ValueError(f"{text!r} calls {unknown[0]}(), which is not among {', '.join(FUNCTIONS)}")
        bound = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        read = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        read.sort(key=lambda node: (node.lineno, node.col_offset))
        skip = bound | FUNCTIONS.keys() | _CONSTANTS.keys()
        self.names = tuple(dict.fromkeys(node.id for node in read if node.id not in skip))
        self._tree = tree.body

    def __call__(self, values: Mapping[str, Any]) -> Any:
        """The value of the expression. Raises whatever the operations raise."""
        from simpleeval import EvalWithCompoundTypes

        evaluator = EvalWithCompoundTypes(functions=FUNCTIONS, names={**_CONSTANTS, **values})
        return evaluator.eval(self.text, previously_parsed=self._tree)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"
