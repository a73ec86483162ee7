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
