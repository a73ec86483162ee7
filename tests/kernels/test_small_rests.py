from __future__ import annotations

import pytest
import torch

from unifilter import Graph
from unifilter._internal.checks import without_torch_notices
from unifilter.kernels.small_rests import _largest_dimensions

# A path of three nodes, a pair, and a node without edges.
GRAPH = Graph.from_edges(torch.tensor([[0, 1, 3], [1, 2, 4]]), num_nodes=6)
# On the path, on the pair, on the lone node, on path and pair, and nowhere.
SIGNALS = torch.zeros(6, 5)
SIGNALS[[0, 2, 3, 5, 0, 3], [0, 0, 1, 2, 3, 3]] = torch.tensor([1.0, 1.0, 2.0, 5.0, 1.0, 1.0])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("hops", "wanted"), [(10, [3, 2, 1, 5]), (2, [3, 2, 1, 3])])
def test_a_signal_spans_at_most_the_nodes_of_the_components_it_is_on(
    sparse: bool, hops: int, wanted: list[int]
) -> None:
    with without_torch_notices():
        x = SIGNALS.to_sparse_csc() if sparse else SIGNALS
    found = _largest_dimensions(GRAPH.compressed_rows, x, hops)
    assert found[:4].tolist() == wanted
