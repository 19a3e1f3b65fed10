"""Order in drawings: layers, the critical path, bands; all of them on long chains, too."""

from __future__ import annotations

from itertools import pairwise

from flowgraph.render.order import bands, critical_path, layers

CHAIN = [f"n{i}" for i in range(10_000)]
LINKS = list(pairwise(CHAIN))


def test_layers_count_the_longest_way() -> None:
    edges = [("a", "b"), ("b", "c"), ("a", "c"), ("a", "c")]
    assert layers(["a", "b", "c", "d"], edges) == {"a": 0, "b": 1, "c": 2, "d": 0}


def test_layers_put_cycles_last() -> None:
    assert layers(["a", "b", "c"], [("b", "c"), ("c", "b")]) == {"a": 0, "b": 1, "c": 1}


def test_layers_of_a_long_chain() -> None:
    assert layers(CHAIN, LINKS)["n9999"] == 9999


def test_critical_path_is_the_slowest_way_and_not_the_one_with_most_nodes() -> None:
    edges = [("in", "a"), ("a", "b"), ("b", "end"), ("in", "slow"), ("slow", "end")]
    seconds = {"a": 1.0, "b": 1.0, "slow": 5.0, "end": 0.5}
    assert critical_path(["in", "a", "b", "slow", "end"], edges, seconds) == ["slow", "end"]


def test_critical_path_leaves_out_what_did_not_run() -> None:
    edges = [("a", "skipped"), ("skipped", "c"), ("a", "c")]
    assert critical_path(["a", "skipped", "c"], edges, {"a": 1.0, "c": 1.0}) == ["a", "c"]
    assert critical_path(["a"], [], {}) == []


def test_critical_path_of_a_long_chain() -> None:
    assert critical_path(CHAIN, LINKS, dict.fromkeys(CHAIN, 0.1)) == CHAIN


def test_bands_hold_every_node_once_and_edges_between_them_go_down() -> None:
    names = [f"n{i}" for i in range(3_000)]
    edges = [(names[i // 2], names[i]) for i in range(1, 3_000)]
    found = bands(names, edges)
    assert sorted(name for band in found for name in band) == sorted(names)
    home = {name: number for number, band in enumerate(found) for name in band}
    assert all(home[source] <= home[target] for source, target in edges)
    assert len(found) <= 100


def test_bands_of_a_fan_keep_its_ends_apart() -> None:
    names = ["first", *CHAIN, "last"]
    edges = [pair for name in CHAIN for pair in (("first", name), (name, "last"))]
    assert [len(band) for band in bands(names, edges)] == [1, 10_000, 1]
