from __future__ import annotations

import numpy as np
import pytest
import torch
from dense import propagation_matrix
from planted import awkward_problem, planted_problem
from torch_geometric.nn import SGConv

from unifilter.estimators import fit
from unifilter.methods import Learner
from unifilter.methods.sgc import SGCMethod
from unifilter.nn import SGC


def model_of(learner: Learner) -> SGC:
    assert isinstance(learner.model, SGC)
    return learner.model


@pytest.mark.parametrize("hops", [1, 2, 5])
def test_it_computes_what_pyg_computes(hops: int) -> None:
    problem = awkward_problem()
    learner = SGCMethod(hops=hops).build(problem)
    data = problem.dataset.scaled("row").to_data()
    reference = SGConv(data.x.shape[1], 3, K=hops)
    reference.lin.load_state_dict(model_of(learner).linear.state_dict())
    expected = reference(data.x, data.edge_index)
    assert torch.allclose(learner.forward(torch.arange(40)), expected, atol=1e-6)


def test_the_response_belongs_to_the_graph_with_loops() -> None:
    problem = planted_problem()
    learner = SGCMethod(hops=3, features="raw").build(problem)
    values, vectors = np.linalg.eigh(np.eye(48) - propagation_matrix(problem.workspace.graph("add")))
    response = model_of(learner).response(torch.from_numpy(values))
    x = problem.workspace.features("raw").double().numpy()
    filtered = vectors @ (response.numpy() * (vectors.T @ x))
    with torch.no_grad():
        expected = model_of(learner).linear(torch.from_numpy(filtered).float())
    assert torch.allclose(learner.forward(torch.arange(48)), expected, atol=1e-5)


def test_the_last_weights_count_unless_there_is_a_window() -> None:
    problem = planted_problem()
    # With a rate this high the validation loss is lowest long before the end.
    to_the_end = fit(SGCMethod(epochs=60, lr=5.0), problem).history
    assert (to_the_end.epochs, to_the_end.best_epoch) == (60, 59)
    stopped = fit(SGCMethod(epochs=60, lr=5.0, window=5), problem).history
    assert stopped.epochs < 60
    assert stopped.best_epoch == int(np.argmin(stopped.val_loss))


def test_dropout_falls_on_the_features_in_training_alone() -> None:
    learner = SGCMethod(dropout=0.5).build(planted_problem())
    nodes = torch.arange(48)
    learner.model.train()
    assert not torch.equal(learner.forward(nodes), learner.forward(nodes))
    learner.model.eval()
    assert torch.equal(learner.forward(nodes), learner.forward(nodes))
    with pytest.raises(ValueError, match="dropout must be below 1"):
        SGCMethod(dropout=1.0).build(planted_problem())
