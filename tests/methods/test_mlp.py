from __future__ import annotations

import numpy as np
import torch
from planted import planted_problem, problem_of

from unifilter import Graph
from unifilter.estimators import fit
from unifilter.methods.mlp import MLPMethod


def test_it_does_not_see_the_graph() -> None:
    problem = planted_problem()
    edgeless = Graph.from_edges(np.zeros((2, 0), dtype=np.int64), num_nodes=48)
    other = problem_of(edgeless, problem.dataset.features.numpy(), problem.dataset.labels.numpy())
    method = MLPMethod(epochs=5)
    assert torch.equal(fit(method, problem).logits, fit(method, other).logits)


def test_it_is_the_perceptron_of_the_polynomial_papers() -> None:
    learner = MLPMethod(hidden_channels=5, dropout=0.5).build(planted_problem())
    shapes = {name: tuple(value.shape) for name, value in learner.model.named_parameters()}
    assert shapes == {
        "layers.0.weight": (5, 12),
        "layers.0.bias": (5,),
        "layers.1.weight": (3, 5),
        "layers.1.bias": (3,),
    }
    assert (MLPMethod.version, MLPMethod().num_layers, MLPMethod().hidden_channels) == (2, 2, 64)
    # Dropout on the features too: what the first layer gives differs from call to call.
    seen: list[torch.Tensor] = []
    learner.model.get_submodule("layers.0").register_forward_hook(lambda *called: seen.append(called[2]))
    for _ in range(2):
        learner.forward(torch.arange(48))
    assert not torch.equal(seen[0], seen[1])
