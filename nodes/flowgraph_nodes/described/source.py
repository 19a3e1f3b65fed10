"""Where a description comes from: YAML, with the lines that its parts stand on."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from flowgraph_nodes.described.errors import DescriptionError

Place: TypeAlias = tuple[str | int, ...]
"""Keys and indexes, from the top down."""


@dataclass(frozen=True, slots=True)
class Source:
    """A description as it was read.

    name: the file, or what stands in its place in messages. data: its content. node: the same with lines; None when
    it did not come from a text.
    """

    name: str
    data: Any
    node: yaml.Node | None = None

    def at(self, place: Place, text: str) -> str:
        """A problem with its place and line: `line 7, agents[0].model: …`."""
        path = ""
        for part in place:
            path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
        line = None if self.node is None else _line(self.node, place)
        where = ", ".join(word for word in ("" if line is None else f"line {line}", path) if word)
        return f"{where}: {text}" if where else text


def read(source: str | Path | Mapping[str, Any]) -> Source:
    """Read a file (a Path, or a text of one line that ends in .yaml or .yml), a text of YAML, or ready data.

    Raises DescriptionError: the file cannot be read, is no YAML, or has a key twice.
    """
    if isinstance(source, Mapping):
        return Source("the description", source)
    if isinstance(source, str) and ("\n" in source or not source.strip().endswith((".yaml", ".yml"))):
        return _parsed("the description", source)
    try:
        return _parsed(str(source), Path(source).read_text(encoding="utf-8"))
    except OSError as error:
        raise DescriptionError(str(source), [f"it cannot be read: {error.strerror or error}"]) from None
    except UnicodeDecodeError as error:
        raise DescriptionError(str(source), [f"it is no text in UTF-8: {error}"]) from None


class _Loader(yaml.SafeLoader):
    """Plain data only, and no key twice: the second would silently take the place of the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"'{key.value}' is there twice", key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _parsed(name: str, text: str) -> Source:
    loader: _Loader | None = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        return Source(name, None if node is None else loader.construct_document(node), node)
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f"line {error.problem_mark.line + 1}: "
        raise DescriptionError(name, [f"{line}{error.problem or error.context or 'it is no YAML'}"]) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DescriptionError(name, [f"it is no YAML: {error}"]) from None
    finally:
        if loader is not None:
            loader.dispose()


def _line(node: yaml.Node, place: Place) -> int:
    """The line (from 1) of a part, or of the nearest thing around it."""
    found = node
    line = node.start_mark.line + 1
    for part in place:
        if isinstance(found, yaml.MappingNode):
            pair = next((pair for pair in found.value if pair[0].value == str(part)), None)
            if pair is None:
                break
            line, found = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(found, yaml.SequenceNode) and isinstance(part, int) and part < len(found.value):
            found = found.value[part]
            line = found.start_mark.line + 1
        else:
            break
    return line
