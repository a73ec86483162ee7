from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.datasets import KarateClub
from torch_geometric.transforms import Compose, NormalizeFeatures

from unifilter import Graph, estimate_homophily, factorize
from unifilter.transforms import UniBasis


def karate() -> Data:
    return KarateClub()[0]


def test_writes_one_tensor_with_nodes_first() -> None:
    data = karate()
    before = set(data.keys())
    transform = UniBasis(hops=3, tau=0.7, homophily=0.4)
    out = transform(data)
    assert set(out.keys()) - before == {"basis"}
    # A transform works on a copy, as PyG's do.
    assert set(data.keys()) == before
    expected = factorize(Graph.from_data(data), data.x, 3).basis("uni", tau=0.7, homophily=0.4)
    assert torch.equal(out.basis, expected.transpose(0, 1))
    assert out.is_node_attr("basis")
    assert torch.equal(out.subgraph(torch.tensor([4, 2])).basis, expected[:, [4, 2]].transpose(0, 1))
    assert repr(transform) == "UniBasis(hops=3, tau=0.7, homophily=0.4, formulation='paper')"


def test_fits_its_angle_on_training_labels_alone() -> None:
    data = karate()
    data.train_mask[:20] = True
    estimate = estimate_homophily(Graph.from_data(data), data.y, data.train_mask)
    fitted = UniBasis(2, tau=0.5)(data).basis
    assert torch.equal(fitted, UniBasis(2, tau=0.5, homophily=estimate)(data).basis)
    data.y = torch.where(data.train_mask, data.y, 0)
    assert torch.equal(fitted, UniBasis(2, tau=0.5)(data).basis)


def test_composes_and_has_a_functional_name() -> None:
    out = Compose([NormalizeFeatures(), UniBasis(2, 1.0, homophily=0.5)])(karate())
    assert out.basis.shape == (34, 3, 34)


@pytest.mark.parametrize("missing", ["train_mask", "y"])
def test_needs_labels_or_a_homophily(missing: str) -> None:
    data = karate()
    del data[missing]
    with pytest.raises(ValueError, match=r"one of them is missing: set both, or pass UniBasis\(..., homophily=0.5\)"):
        UniBasis(2, 0.5)(data)


def test_other_mistakes() -> None:
    data = karate()
    data.train_mask = torch.ones(34, 10, dtype=torch.bool)
    with pytest.raises(ValueError, match="has 10 splits: select one"):
        UniBasis(2, 0.5)(data)
    with pytest.raises(ValueError, match="no features: set data.x first"):
        UniBasis(2, 0.5)(Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=2))
    with pytest.raises(ValueError, match="no edge_index"):
        UniBasis(2, 0.5, homophily=0.1)(Data(x=torch.ones(2, 1)))
    with pytest.raises(ValueError, match="hops must be"):
        UniBasis(0, 0.5)
    with pytest.raises(ValueError, match="tau must lie"):
        UniBasis(2, 1.5)
