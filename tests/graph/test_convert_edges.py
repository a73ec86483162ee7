"""A graph that was sorted on the disk is the one that is built in memory."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import killed_at

from unifilter import Graph, edge_homophily, factorize
from unifilter._internal import array_files
from unifilter._internal.locks import folder_lock
from unifilter.graph import EdgeBlock, convert_edges
from unifilter.graph.convert_edges import _divide, _Listed

pytestmark = pytest.mark.usefixtures("small_process")

FRESH = iter(range(10**9))


def in_blocks(edges: np.ndarray, weights: np.ndarray | None, size: int) -> Iterator[EdgeBlock]:
    for start in range(0, edges.shape[1], size):
        part = slice(start, start + size)
        yield EdgeBlock(edges[0, part], edges[1, part], None if weights is None else weights[part])


def same(one: Graph, other: Graph) -> bool:
    weights = (one.weights is None) == (other.weights is None) and (
        one.weights is None or torch.equal(one.weights, other.weights)
    )
    return (
        weights
        and torch.equal(one.row_start, other.row_start)
        and torch.equal(one.neighbors, other.neighbors)
        and one.edge_facts == other.edge_facts
        and one.checksum == other.checksum
        and repr(one) == repr(other)
    )


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several ranges of nodes, although the graphs are tiny."""
    module = sys.modules[convert_edges.__module__]
    monkeypatch.setattr(module, "_NODES_PER_BIN", 2)
    monkeypatch.setattr(module, "_divide", lambda listed, limit: np.array([0, 3, 5, 8, listed.num_nodes]))
    monkeypatch.setattr(module, "_EDGES_AT_ONCE", 4)


@st.composite
def lists(draw: st.DrawFn) -> tuple[int, np.ndarray, np.ndarray | None]:
    nodes = draw(st.integers(9, 14))
    edges = draw(st.lists(st.tuples(*[st.integers(0, nodes - 1)] * 2), max_size=50))
    # Sums of these are exact in any order.
    weight = st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.0]), min_size=len(edges), max_size=len(edges))
    weights = draw(st.none() | weight)
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return nodes, ends, None if weights is None else np.array(weights, dtype)


@given(lists(), st.sampled_from(["remove", "add", "keep"]), st.sampled_from(["sum", "max"]))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_is_the_graph_of_from_edges(
    tmp_path: Path, small_parts: None, listed: Any, self_loops: Any, duplicates: Any
) -> None:
    nodes, edges, weights = listed
    rules = {"self_loops": self_loops, "duplicates": duplicates}
    blocks = list(in_blocks(edges, weights, 7)) or [EdgeBlock(edges[0], edges[1], weights)]
    written = convert_edges(blocks, tmp_path / str(next(FRESH)), num_nodes=nodes, **rules)
    assert same(written, Graph.from_edges(edges, nodes, weights, **rules))


def test_a_mapped_graph_does_what_any_graph_does(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    edges, x = rng.integers(0, 300, (2, 2000)), torch.from_numpy(rng.standard_normal((300, 20)))
    built = Graph.from_edges(edges, 300, rng.random(2000))
    built.save(tmp_path / "graph")
    opened = Graph.open(tmp_path / "graph")
    assert same(opened, built)
    assert opened.folder == tmp_path / "graph"
    assert str(tmp_path / "graph" / "neighbors.npy") in Path("/proc/self/maps").read_text()
    labels = torch.from_numpy(rng.integers(0, 3, 300))
    assert edge_homophily(opened, labels) == edge_homophily(built, labels)
    assert torch.equal(factorize(opened, x, 4).vectors, factorize(built, x, 4).vectors)
    added = opened.with_self_loops("add")
    assert added.checksum == built.with_self_loops("add").checksum
    assert added.num_edges == opened.num_edges


def test_blocks_of_edges_are_all_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = np.random.default_rng(1).integers(0, 40, (2, 200))
    for direction in ("undirected", "out", "in"):
        graph = Graph.from_edges(edges, 45, direction=direction, self_loops="keep")
        whole, digest = graph.edges()[0], graph.checksum
        with monkeypatch.context() as patch:
            patch.setattr("unifilter.graph.edge_blocks.ENTRIES_AT_ONCE", 7)
            again = Graph.from_edges(edges, 45, direction=direction, self_loops="keep")
            assert len(list(again.edge_blocks())) > 10
            assert torch.equal(again.edges()[0], whole)
            assert again.checksum == digest


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (np.array([0, -1, 2]), "edge 1 names the node -1, which does not exist"),
        (np.array([0, 1, 7]), "edge 2 names the node 7.*nodes are 0 to 6"),
        (np.array([0.0, 1.0, 2.0]), "whole numbers.*not float64"),
    ],
)
def test_ids_that_do_not_exist(tmp_path: Path, source: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        convert_edges([EdgeBlock(source, np.array([1, 2, 3]))], tmp_path / "g", num_nodes=7)
    assert list(tmp_path.iterdir()) == []


def test_ids_beyond_32_bits_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="names the node 2147483648.*number the nodes 0, 1, 2"):
        convert_edges([EdgeBlock(np.array([1]), np.array([2**31]))], tmp_path / "g")


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([EdgeBlock(np.array([0]), np.array([1]), np.array([-1.0]))], r"edge 0 \(0 -> 1\) is -1.0"),
        ([EdgeBlock(np.array([0]), np.array([1]), np.array([np.nan]))], "finite"),
        ([EdgeBlock(np.array([0]), np.array([1])), EdgeBlock(np.array([0]), np.array([1]), np.ones(1))], "or none"),
        ([], "the graph is empty"),
        (
            [EdgeBlock(np.zeros(2, int), np.ones(2, int), np.full(2, 3e38, np.float32))],
            "edge 0 -> 1, which is listed more than once.*float64",
        ),
    ],
)
def test_bad_edge_lists_are_refused(tmp_path: Path, blocks: list[EdgeBlock], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        convert_edges(blocks, tmp_path / "g")
    assert list(tmp_path.iterdir()) == []


def test_too_little_memory_is_refused_with_the_minimum(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"needs at least .* of memory, and memory_limit is 10.0 MB: raise it"):
        convert_edges([EdgeBlock(np.array([0]), np.array([1]))], tmp_path / "g", memory_limit="10MB")
    with pytest.raises(ValueError, match="memory_limit must be a size such as '4GB'"):
        convert_edges([EdgeBlock(np.array([0]), np.array([1]))], tmp_path / "g", memory_limit="much")


def test_ranges_hold_what_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[convert_edges.__module__]
    monkeypatch.setattr(module, "resident_bytes", lambda: 0)
    entries = np.random.default_rng(2).integers(0, 100_000, 4000)
    listed = _Listed(Path(), np.dtype([("source", "<i4")]), int(entries.sum()), 0, 4000 * 256, entries)
    bounds = _divide(listed, 1_000_000_000)
    assert (bounds[0], bounds[-1]) == (0, listed.num_nodes)
    sizes = [entries[a // 256 : b // 256].sum() for a, b in pairwise(bounds)]
    assert len(sizes) > 5
    assert max(sizes) * module._BYTES_PER_KEY < 1_000_000_000


def test_a_folder_is_not_written_twice(tmp_path: Path) -> None:
    blocks = [EdgeBlock(np.array([0]), np.array([1]))]
    convert_edges(blocks, tmp_path / "g")
    with pytest.raises(ValueError, match="exists already"):
        convert_edges(blocks, tmp_path / "g")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        convert_edges(blocks, tmp_path / "no" / "g")


@pytest.mark.parametrize("name", ["neighbors.npy", "row_start.npy", "graph.json"])
@pytest.mark.parametrize("damage", ["flip", "truncate", "delete"])
def test_damage_is_found(tmp_path: Path, name: str, damage: str) -> None:
    Graph.from_edges(np.array([[0, 1, 2], [1, 2, 3]])).save(tmp_path / "g")
    path = tmp_path / "g" / name
    content = bytearray(path.read_bytes())
    if damage == "delete":
        path.unlink()
    else:
        content[-20] ^= 1
        path.write_bytes(content if damage == "flip" else content[:-4])
    with pytest.raises((ValueError, FileNotFoundError), match=name.partition(".")[0]):
        Graph.open(tmp_path / "g")


def test_numbers_that_lead_nowhere_are_refused_even_with_right_checksums(tmp_path: Path) -> None:
    Graph.from_edges(np.array([[0, 1, 2], [1, 2, 3]])).save(tmp_path / "g")
    path = tmp_path / "g" / "neighbors.npy"
    manifest = array_files.read_manifest(tmp_path / "g" / "graph.json")
    manifest["files"]["neighbors.npy"] = array_files.write_array(path, np.full(6, 10**6, np.int32))
    array_files.write_manifest(tmp_path / "g" / "graph.json", manifest)
    with pytest.raises(ValueError, match="lead to nodes that do not exist"):
        Graph.open(tmp_path / "g")


def test_a_folder_of_another_format_is_refused(tmp_path: Path) -> None:
    Graph.from_edges(np.array([[0], [1]])).save(tmp_path / "g")
    manifest = array_files.read_manifest(tmp_path / "g" / "graph.json")
    array_files.write_manifest(tmp_path / "g" / "graph.json", {**manifest, "format": 99})
    with pytest.raises(ValueError, match="has the format 99"):
        Graph.open(tmp_path / "g")
    with pytest.raises(FileNotFoundError, match=r"not the folder of a graph \(it has no graph.json\)"):
        Graph.open(tmp_path)


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(array_files.ArrayWriter, "write", full)
    with pytest.raises(ValueError, match="the disk of .* is full.*make room"):
        convert_edges([EdgeBlock(np.array([0]), np.array([1]))], tmp_path / "g")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("method", "number"), [("write", 2), ("finish", 1)])
def test_what_a_kill_leaves_is_never_a_graph(tmp_path: Path, method: str, number: int) -> None:
    target, many = tmp_path / "g", EdgeBlock(np.arange(50), np.arange(50)[::-1].copy())
    ended = killed_at(array_files.ArrayWriter, method, number, lambda: convert_edges([many], target))
    assert ended == signal.SIGKILL
    assert not target.exists()
    assert os.listdir(tmp_path) == [".g.part"]
    graph = convert_edges([EdgeBlock(np.array([0]), np.array([1]))], target)
    assert graph.num_nodes == 2
    assert os.listdir(tmp_path) == ["g"]


def test_two_processes_do_not_write_the_same_folder(tmp_path: Path) -> None:
    part = tmp_path / ".g.part"
    part.mkdir()
    with folder_lock(part), pytest.raises(ValueError, match="another process is writing to .*wait"):
        convert_edges([EdgeBlock(np.array([0]), np.array([1]))], tmp_path / "g")


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    blocks = [EdgeBlock(np.arange(9), np.arange(9) + 1)]
    convert_edges(blocks, tmp_path / "g", on_progress=lambda what, share: told.append((what, share)))
    assert [what for what, _ in told] == ["read 9 edges", "divide", "sort", "checksum"]
    assert told[1][1] == told[2][1] == 1.0
    assert json.loads((tmp_path / "g" / "graph.json").read_text())["content"]["edge_facts"]["given"] == 9
