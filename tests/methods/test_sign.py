from __future__ import annotations

import pytest
import torch
from planted import awkward_problem
from torch import nn
from torch_geometric.transforms import SIGN as PyGTransform

from unifilter.methods.sign import SIGNMethod


def pyg_powers() -> list[torch.Tensor]:
    data = PyGTransform(2)(awkward_problem().dataset.scaled("raw").to_data())
    return [data.x, data.x1, data.x2]


def test_the_released_network_is_three_layers_on_the_powers_of_pyg() -> None:
    learner = SIGNMethod(hops=2, hidden_channels=5, dropout=0.0).build(awkward_problem())
    state = learner.model.state_dict()
    assert SIGNMethod.version == 2
    expected = torch.cat(pyg_powers(), dim=1)
    for layer, norm in (("first", 0), ("second", 1)):
        hidden = expected @ state[f"head.{layer}.weight"].T + state[f"head.{layer}.bias"]
        spread = (hidden.var(dim=0, correction=0) + 1e-5).sqrt()
        scale, shift = state[f"head.norms.{norm}.weight"], state[f"head.norms.{norm}.bias"]
        expected = torch.relu((hidden - hidden.mean(dim=0)) / spread * scale + shift)
    expected = expected @ state["head.output.weight"].T + state["head.output.bias"]
    torch.testing.assert_close(learner.forward(torch.arange(40)), expected, atol=1e-5, rtol=1e-5)


def test_in_the_paper_each_power_has_its_own_layer() -> None:
    learner = SIGNMethod(hops=2, hidden_channels=5, head="paper").build(awkward_problem())
    learner.model.eval()
    state = learner.model.state_dict()
    hidden = torch.cat(
        [
            torch.relu(power @ state[f"head.branches.{k}.weight"].T + state[f"head.branches.{k}.bias"])
            for k, power in enumerate(pyg_powers())
        ],
        dim=1,
    )
    expected = hidden @ state["head.output.weight"].T + state["head.output.bias"]
    assert torch.allclose(learner.forward(torch.arange(40)), expected, atol=1e-6)


@pytest.mark.parametrize(("head", "layers"), [("released", ["second", "output"]), ("paper", ["output"])])
def test_dropout_falls_on_the_hidden_layers(head: str, layers: list[str]) -> None:
    method = SIGNMethod.with_settings({"hops": 1, "hidden_channels": 200, "dropout": 0.25, "head": head})
    learner = method.build(awkward_problem())
    seen: dict[str, list[torch.Tensor]] = {layer: [] for layer in layers}
    for layer in layers:
        module = learner.model.get_submodule(f"head.{layer}")
        module.register_forward_pre_hook(lambda _, inputs, layer=layer: seen[layer].append(inputs[0]))
    for norm in learner.model.modules():
        if isinstance(norm, nn.BatchNorm1d):
            norm.momentum = 1.0  # evaluation normalizes as the step before it
    learner.model.train()
    learner.forward(torch.arange(40))
    for layer in layers:
        # ReLU leaves about half of them, and dropout three quarters of these.
        assert 0.3 < float((seen[layer][0] > 0).float().mean()) < 0.45
    learner.model.eval()
    learner.forward(torch.arange(40))
    for layer in layers:
        assert 0.42 < float((seen[layer][1] > 0).float().mean()) < 0.6


def test_another_head_is_refused() -> None:
    with pytest.raises(ValueError, match="head must be one of 'released', 'paper', not 'both'"):
        SIGNMethod.with_settings({"head": "both"}).build(awkward_problem())
