"""Graphs by name: `path/file.py:graph`, `package.module:graph`, or an agent of a description, `agents.yaml:writer`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from ..graph import Graph

_DESCRIPTIONS: Final = (".yaml", ".yml")


class TargetError(Exception):
    """A graph that cannot be found under the name that was given."""


def load_target(target: str) -> Graph:
    """The graph. Without `:name` it is the only graph of the module. Raises TargetError that says what there is.

    Loading runs the module, as importing it would; its folder is put first on the import path, as Python does.
    """
    place, name = _split(target)
    module = _module(place, "load_graphs")
    if not name:
        return _only_graph(module, place)
    found = _named(module, name)
    if isinstance(found, Graph):
        return found
    what = "nothing of that name" if found is None else f"a {type(found).__name__}, not a graph"
    raise TargetError(f"'{target}': {place} has {what}{_graphs_in(module)}")


def load_objects(target: str) -> dict[str, Any]:
    """What a target names, of whatever type, as `place:name`; without `:name` everything public in the module.

    Raises TargetError when there is no such module or name.
    """
    place, name = _split(target)
    module = _module(place, "load_agents")
    if not name:
        return {f"{place}:{key}": value for key, value in vars(module).items() if not key.startswith("_")}
    found = _named(module, name)
    if found is None:
        raise TargetError(f"'{target}': {place} has nothing of that name{_graphs_in(module)}")
    return {target: found}


def _split(target: str) -> tuple[str, str]:
    """Where the module is, and the name in it ("" for none)."""
    if ":" not in target or target.endswith((".py", *_DESCRIPTIONS)):
        return target, ""
    place, _, name = target.rpartition(":")
    return place, name


def _described(place: str, load: str) -> ModuleType:
    """The agents of a description as if it were a module: each by its id, as `load` gives them.

    What it names is imported from its own folder first, as with a file of Python.
    """
    path = Path(place)
    if not path.is_file():
        raise TargetError(f"there is no file '{path}'")
    sys.path.insert(0, str(path.resolve().parent))
    # By name, since the engine's package knows nothing of agents.
    described: Any = importlib.import_module("flowgraph_nodes.described")
    module = ModuleType(path.stem)
    vars(module).update(getattr(described, load)(path))
    return module


def _named(module: ModuleType, name: str) -> Any:
    if hasattr(module, name):
        return getattr(module, name)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _module(place: str, load: str) -> ModuleType:
    if place.endswith(_DESCRIPTIONS):
        return _described(place, load)
    if place.endswith(".py"):
        return _from_file(Path(place))
    if "/" in place or "\\" in place:
        raise TargetError(f"'{place}' is neither a Python file (file.py:graph) nor a module (package.module:graph)")
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is None or not place.startswith(error.name):
            raise  # the module is there, but what it imports is not
        raise TargetError(f"there is no module '{place}': give file.py:graph or package.module:graph") from None


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise TargetError(f"there is no file '{path}'")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"'{path}' cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # so that postponed annotations and pickled names resolve
    spec.loader.exec_module(module)
    return module


def _only_graph(module: ModuleType, place: str) -> Graph:
    graphs = [value for value in vars(module).values() if isinstance(value, Graph)]
    if len(graphs) == 1:
        return graphs[0]
    raise TargetError(f"say which graph of '{place}' you mean: '{place}:name'{_graphs_in(module)}")


def _graphs_in(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if isinstance(value, Graph)]
    return f" (it has {', '.join(names)})" if names else " (it has no graphs)"
