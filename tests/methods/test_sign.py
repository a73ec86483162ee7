from __future__ import annotations

import torch
from planted import awkward_problem
from torch_geometric.transforms import SIGN as PyGTransform

from unifilter.methods.sign import SIGNMethod


def test_the_powers_are_those_of_pyg_and_each_has_its_own_layer() -> None:
    problem = awkward_problem()
    learner = SIGNMethod(hops=2, hidden_channels=5).build(problem)
    learner.model.eval()
    data = PyGTransform(2)(problem.dataset.scaled("raw").to_data())
    state = learner.model.state_dict()
    hidden = torch.cat(
        [
            torch.relu(power @ state[f"branches.{k}.weight"].T + state[f"branches.{k}.bias"])
            for k, power in enumerate((data.x, data.x1, data.x2))
        ],
        dim=1,
    )
    expected = hidden @ state["output.weight"].T + state["output.bias"]
    assert torch.allclose(learner.forward(torch.arange(40)), expected, atol=1e-6)


def test_dropout_falls_on_the_hidden_layer() -> None:
    learner = SIGNMethod(hops=1, hidden_channels=200, dropout=0.25).build(awkward_problem())
    seen: list[torch.Tensor] = []
    learner.model.output.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))  # type: ignore[union-attr]
    nodes = torch.arange(40)
    for training in (False, True):
        learner.model.train(training)
        learner.forward(nodes)
    kept = seen[1][seen[0] > 0] > 0
    assert 0.7 < kept.float().mean() < 0.8
