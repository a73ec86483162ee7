from __future__ import annotations

import pytest
import torch
from planted import awkward_problem
from torch_geometric.nn import ChebConv

from unifilter.methods.chebnet import ChebNetMethod


@pytest.mark.parametrize("hops", [1, 2, 3, 6])
def test_two_layers_of_pyg_give_the_same(hops: int) -> None:
    problem = awkward_problem()
    learner = ChebNetMethod(hops=hops, hidden_channels=8).build(problem)
    learner.model.eval()
    data = problem.dataset.scaled("row").to_data()
    layers = [ChebConv(9, 8, K=hops + 1), ChebConv(8, 3, K=hops + 1)]
    state = learner.model.state_dict()
    for name, layer in zip(("first", "second"), layers, strict=True):
        with torch.no_grad():
            layer.bias.copy_(torch.randn_like(layer.bias))
            state[f"{name}.bias"].copy_(layer.bias)
            for k in range(hops + 1):
                layer.lins[k].weight.copy_(state[f"{name}.weight"][k].T)
    expected = layers[1](torch.relu(layers[0](data.x, data.edge_index)), data.edge_index)
    assert torch.allclose(learner.forward(torch.arange(40)), expected, atol=1e-5)


def test_weights_start_as_those_of_pyg() -> None:
    torch.manual_seed(0)
    state = ChebNetMethod(hops=2, hidden_channels=400).build(awkward_problem()).model.state_dict()
    reference = ChebConv(9, 400, K=3)
    assert (state["first.bias"] == reference.bias).all()
    for k in range(3):
        ours, theirs = state["first.weight"][k], reference.lins[k].weight
        assert abs(ours.abs().max() - theirs.abs().max()) < 0.01 * theirs.abs().max()
        assert abs(ours.std() - theirs.std()) < 0.05 * theirs.std()
