"""Several networks as one."""

from __future__ import annotations

import pytest
import torch

from unifilter import Graph
from unifilter.data import ArrayPreparation
from unifilter.nn import MLP, Member, Mixture, SparseRows

GRAPH = Graph.from_edges(torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 4, 2]]), 6)


def test_members_scale_features_themselves() -> None:
    x = torch.rand(6, 4)
    network = MLP(4, 8, 2)
    scaled = Mixture([Member(network, ArrayPreparation(4, "row"))]).eval()
    wanted = torch.log_softmax(network.eval()(x / x.sum(dim=1, keepdim=True)), dim=1)
    torch.testing.assert_close(scaled(x, GRAPH), wanted)
    torch.testing.assert_close(scaled(x, torch.tensor([[0, 1], [1, 2]])), wanted)
    with pytest.raises(ValueError, match="prepared for one network: pass them as a tensor"):
        scaled(SparseRows(x.to_sparse_csr()), GRAPH)


def test_a_mixture_has_members() -> None:
    with pytest.raises(ValueError, match="a mixture has no members: pass at least one"):
        Mixture([])
    first = Mixture([Member(MLP(4, 8, 2)), Member(MLP(4, 8, 2))])
    before = first.state_dict()["members.1.network.layers.0.weight"].clone()
    first.reset_parameters()
    assert not torch.equal(first.state_dict()["members.1.network.layers.0.weight"], before)
    assert first.num_nodes is None
    assert not first.takes_directed
