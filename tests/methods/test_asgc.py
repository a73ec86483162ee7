from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from dense import propagation_matrix
from planted import awkward_problem, planted_problem
from sklearn.linear_model import LogisticRegression

from unifilter import Graph, factorize
from unifilter.estimators import fit
from unifilter.methods import Problem
from unifilter.methods.asgc import ASGCMethod, least_squares_filter
from unifilter.nn import ASGC
from unifilter.training import History


def powers_of(graph: Graph, x: np.ndarray, hops: int) -> np.ndarray:
    """``x, P x, ..., P^hops x`` of one column, ``[n, hops + 1]``, with a loop at every isolated node."""
    matrix = propagation_matrix(graph)
    matrix[graph.isolated.numpy(), graph.isolated.numpy()] = 1
    return np.stack([np.linalg.matrix_power(matrix, k) @ x for k in range(hops + 1)], axis=1)


def ridge_on_the_first(powers: np.ndarray, ridge: float) -> np.ndarray:
    """The n-sized least squares with one more row, which is the penalty."""
    row = np.zeros((1, powers.shape[1]))
    row[0, 0] = np.sqrt(len(powers) * ridge)
    target = np.append(powers[:, 0], 0.0)
    return np.linalg.lstsq(np.concatenate([powers, row]), target, rcond=None)[0]


@pytest.mark.parametrize("hops", [1, 2, 4])
@pytest.mark.parametrize("ridge", [1e-4, 1.0])
def test_small_matrices_solve_the_least_squares_of_all_nodes(hops: int, ridge: float) -> None:
    graph = awkward_problem().dataset.graph
    x = np.random.default_rng(0).standard_normal((40, 5))
    isolated = graph.isolated.numpy()
    assert isolated.sum() == 4
    beta = least_squares_filter(
        factorize(graph, x, hops).tridiagonal, 40 * ridge, torch.from_numpy((x[isolated] ** 2).sum(axis=0))
    )
    for channel in range(5):
        expected = ridge_on_the_first(powers_of(graph, x[:, channel], hops), ridge)
        assert np.allclose(beta[:, channel].numpy(), expected, rtol=1e-6, atol=1e-8)


def test_features_are_replaced_by_their_filtered_selves() -> None:
    problem = awkward_problem()
    learner = ASGCMethod(hops=4, ridge=0.05).build(problem)
    # Weights that read the features out one by one.
    state = learner.model.state_dict()
    state["linear.weight"].copy_(torch.eye(9)[:3])
    state["linear.bias"].zero_()
    logits = learner.forward(torch.arange(40)).detach().numpy()
    x = problem.workspace.features("raw").double().numpy()
    for channel in range(3):
        powers = powers_of(problem.dataset.graph, x[:, channel], 4)
        expected = powers @ ridge_on_the_first(powers, 0.05)
        assert np.allclose(logits[:, channel], expected, atol=1e-5)


def test_the_response_is_the_filter_of_each_feature() -> None:
    problem = planted_problem()
    assert not problem.dataset.graph.isolated.any()
    learner = ASGCMethod(hops=2, ridge=0.1).build(problem)
    lam = torch.linspace(0, 2, 5)
    response = learner.model.response(lam)
    assert response is not None
    x = problem.workspace.features("raw").double().numpy()
    for channel in range(12):
        beta = ridge_on_the_first(powers_of(problem.dataset.graph, x[:, channel], 2), 0.1)
        expected = sum(beta[k] * (1 - lam.numpy()) ** k for k in range(3))
        assert np.allclose(response[:, channel].numpy(), expected, atol=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_layer_says_what_the_logistic_regression_says(classes: int) -> None:
    problem = planted_problem()
    labels = problem.dataset.labels.numpy()
    train = problem.train[labels[problem.train] < classes]
    fitted = fit(ASGCMethod(), dataclasses.replace(problem, train=train))
    model = fitted.model.network
    assert isinstance(model, ASGC)
    inputs: list[torch.Tensor] = []
    model.linear.register_forward_pre_hook(lambda _, received: inputs.append(received[0]))
    fitted.model.logits(problem.dataset.graph, problem.dataset.features)
    probabilities = fitted.logits.softmax(dim=1).numpy()
    regression = LogisticRegression(max_iter=1000).fit(inputs[0][train].double(), labels[train])
    assert np.allclose(probabilities[:, :classes], regression.predict_proba(inputs[0].double()), atol=1e-5)
    # A class that no training node has is never predicted, and its probability is a number all the same.
    assert (probabilities[:, classes:] == 0).all()


def test_a_refit_learns_from_validation_nodes_after_they_were_scored() -> None:
    problem = planted_problem()
    once = ASGCMethod(hops=4, ridge=0.01)
    plain, again = fit(once, problem), fit(dataclasses.replace(once, refit=True), problem)
    assert again.history.val_score == plain.history.val_score
    assert again.history.val_loss == plain.history.val_loss
    both = Problem(problem.workspace, np.concatenate([problem.train, problem.val]), problem.val)
    assert not torch.allclose(again.logits, plain.logits, atol=1e-3)
    assert torch.allclose(again.logits, fit(once, both).logits, atol=1e-3)


def test_the_history_has_one_epoch_and_the_caller_hears_of_it() -> None:
    heard: list[History] = []
    fitted = fit(ASGCMethod(hops=4, ridge=0.01), planted_problem(), on_epoch=heard.append)
    assert heard == [fitted.history]
    assert (fitted.history.epochs, fitted.history.best_epoch, fitted.history.ended) == (1, 0, "epochs")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ridge": -1.0}, "ridge must not be negative, not -1.0"),
        ({"ridge": float("nan")}, "ridge must not be negative, not nan"),
        ({"inverse_regularization": 0.0}, "inverse_regularization must be positive, not 0.0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ASGCMethod.with_settings(settings).build(planted_problem())
