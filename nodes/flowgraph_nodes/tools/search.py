"""Finding tools by words: BM25 over names, descriptions and parameters, by SQLite's full-text index.

Why SQLite's (https://www.sqlite.org/fts5.html): it comes with Python, so it is no dependency; it stems, weighs columns,
and indexes 5,000 tools in a twentieth of a second. See docs/decisions/0012-tool-search-by-sqlite.md.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from flowgraph_nodes.errors import ToolError
from flowgraph_nodes.tools.tool import Tool

_WEIGHTS: Final = (4.0, 1.0, 0.5)
"""Of a word in the name, the description, the parameters."""
_COMMON: Final = frozenset(
    {"a", "an", "and", "as", "at", "by", "can", "for", "from", "i", "in", "is", "it", "of", "on", "the", "to"}
)
_TABLE: Final = "CREATE VIRTUAL TABLE tools USING fts5(name, about, input, tokenize='porter unicode61')"
_MOST_WORDS: Final = 64
_WORD: Final = re.compile(r"\w+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_")


@dataclass(frozen=True, slots=True)
class Found:
    """A tool that a search found. score: the higher the better, comparable within one search only."""

    tool: Tool
    score: float


class ToolIndex:
    """An index of tools. May be searched from several threads.

    Raises:
        ToolError: this Python's SQLite has no full-text search.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        import sqlite3  # only who searches needs it

        self.tools = tuple(tools)
        self._lock = threading.Lock()
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._database.close)  # Python warns of connections that nobody closed
        try:
            self._database.execute(_TABLE)
        except sqlite3.OperationalError as error:
            raise ToolError(f"tools cannot be searched, for SQLite was built without FTS5: {error}") from None
        rows = ((number, *_texts(tool)) for number, tool in enumerate(self.tools))
        self._database.executemany("INSERT INTO tools(rowid, name, about, input) VALUES (?, ?, ?, ?)", rows)

    def covers(self, tools: Iterable[Tool]) -> bool:
        """Whether it is an index of just these tools."""
        return self.tools == tuple(tools)

    def find(self, query: str, limit: int = 5, min_score_ratio: float = 0.0) -> list[Found]:
        """The tools that fit the query best, the best first.

        min_score_ratio: leaves out what scores less than this share of the best.
        """
        words = [word for word in _words(query) if word not in _COMMON] or _words(query)
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(words[:_MOST_WORDS]))
        if not match or limit < 1:
            return []
        with self._lock:
            rows = self._database.execute(
                "SELECT rowid, -bm25(tools, ?, ?, ?) FROM tools WHERE tools MATCH ? ORDER BY 2 DESC, rowid LIMIT ?",
                (*_WEIGHTS, match, limit),
            ).fetchall()
        return [Found(self.tools[row], score) for row, score in rows if score >= rows[0][1] * min_score_ratio]


def _texts(tool: Tool) -> tuple[str, str, str]:
    return _apart(tool.name), _apart(tool.description), _apart(" ".join(_docs(tool.parameters)))


def _docs(schema: Any) -> Iterator[str]:
    """The names and descriptions of parameters, of nested ones too."""
    if isinstance(schema, Mapping):
        if isinstance(about := schema.get("description"), str):
            yield about
        if isinstance(properties := schema.get("properties"), Mapping):
            yield from properties
        for part in schema.values():
            yield from _docs(part)
    elif isinstance(schema, Sequence) and not isinstance(schema, str):
        for part in schema:
            yield from _docs(part)


def _words(text: str) -> list[str]:
    """The words of a query, in lower case."""
    return _WORD.findall(_apart(text).lower())


def _apart(text: str) -> str:
    """`createFile` and `create_file` as two words each."""
    return _HUMP.sub(" ", text)
