from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import connected_graph, graphs

from unifilter import Graph
from unifilter._internal import memory
from unifilter.graph import two_hop, two_hop_graph


def pairs_two_hops_apart(graph: Graph) -> set[tuple[int, int]]:
    """By sets of neighbors, node by node."""
    edges = graph.edges()[0].T.tolist()
    around: list[set[int]] = [set() for _ in range(graph.num_nodes)]
    for u, v in edges:
        around[u].add(v)
        around[v].add(u)
    found = set()
    for node, neighbors in enumerate(around):
        reached = set().union(*(around[other] for other in neighbors))
        found |= {(node, other) for other in reached - neighbors if other > node}
    return found


def pairs(graph: Graph) -> set[tuple[int, int]]:
    return {(u, v) for u, v in graph.edges()[0].T.tolist()}


@given(graph=graphs(), at_once=st.sampled_from([1, 7, 40, 1 << 23]))
def test_it_joins_the_nodes_two_hops_apart(graph: Graph, at_once: int) -> None:
    """However many rows are computed at once; with and without weights, loops and isolated nodes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(two_hop, "_AT_ONCE", at_once)
        found = two_hop_graph(graph)
    assert pairs(found) == pairs_two_hops_apart(graph)
    assert (found.num_nodes, found.weights, found.self_loops) == (graph.num_nodes, None, "remove")
    assert found.neighbors.dtype == torch.int32
    dense = found.adjacency().to_dense()
    assert torch.equal(dense, dense.T)
    # Sorted rows of 0 and 1 alone, as of a graph that was built from its edges.
    again = Graph.from_edges(found.edges()[0], graph.num_nodes)
    assert torch.equal(found.row_start, again.row_start)
    assert torch.equal(found.neighbors, again.neighbors)


@pytest.mark.parametrize("common", [255, 256])
def test_any_number_of_common_neighbors(common: int) -> None:
    """Which small integers would count as none."""
    others = np.arange(2, common + 2)
    ends = np.stack([np.concatenate([0 * others, 0 * others + 1]), np.concatenate([others, others])])
    found = two_hop_graph(Graph.from_edges(ends))
    assert (0, 1) in pairs(found)
    assert found.num_edges == 1 + common * (common - 1) // 2


def test_it_is_found_once_for_a_graph() -> None:
    graph = connected_graph()
    assert two_hop_graph(graph) is two_hop_graph(graph)


def test_of_a_large_graph_it_is_kept_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNIFILTER_CACHE", str(tmp_path))
    first = two_hop_graph(connected_graph())
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(two_hop, "_LONG", 0)
    graph = connected_graph()
    assert pairs(two_hop_graph(graph)) == pairs(first)
    assert [path.name for path in (tmp_path / "two-hop").iterdir()] == [f"{graph.checksum}.npz"]
    monkeypatch.setattr(two_hop, "_two_hop_rows", None)  # whoever computes it again calls nothing
    assert pairs(two_hop_graph(connected_graph())) == pairs(first)
    # Another graph has a file of its own.
    with pytest.raises(TypeError):
        two_hop_graph(connected_graph(seed=1))


def test_what_does_not_fit_is_refused_before_all_of_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = connected_graph(200)
    entries = 2 * two_hop_graph(connected_graph(200)).num_edges
    monkeypatch.setattr(memory, "available_bytes", lambda: 4.0 * entries)
    monkeypatch.setattr(two_hop, "_AT_ONCE", 50)
    with pytest.raises(
        ValueError,
        match=r"^the two-hop graph of 200 nodes would need about [\d.]+ kB, and [\d.]+ kB of memory are free: use a "
        "method that needs only direct neighbors, such as acm-gcn$",
    ):
        two_hop_graph(graph)
    monkeypatch.setattr(memory, "available_bytes", lambda: 40.0 * entries)
    two_hop_graph(graph)
