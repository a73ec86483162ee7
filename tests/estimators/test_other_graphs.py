from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from dense import propagation_matrix
from small_estimator import grown, refit

from unifilter.bases import Jacobi
from unifilter.data import NodeDataset


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"basis": "homophily", "features": "l2", "self_loops": "add"},
        {"basis": "orthonormal", "weights": "channel"},
        {"basis": Jacobi(0.5, -0.5), "batch_norm": True},
        {"tau": "learn", "theta": "learn"},
        {"formulation": "released"},
    ],
    ids=str,
)
def test_on_the_training_graph_the_recurrence_gives_what_the_rows_gave(
    data: NodeDataset, settings: dict[str, Any]
) -> None:
    clf = refit(data, **settings)
    np.testing.assert_allclose(
        clf.predict_proba(graph=data.graph, x=data.features), clf.predict_proba(), rtol=0, atol=1e-4
    )


def test_on_a_grown_graph_the_polynomial_is_the_same(data: NodeDataset) -> None:
    """The learned response, evaluated on a dense eigendecomposition of the grown graph, then the perceptron."""
    clf = refit(data, tau=0.3, features="raw")
    graph, x = grown(data)
    mu, vectors = np.linalg.eigh(propagation_matrix(graph))
    response = clf.filter_response(1 - mu).astype(np.float64)
    filtered = vectors @ (response * (vectors.T @ x.double().numpy()))
    with torch.no_grad():
        logits = clf.model_.network.mlp(torch.from_numpy(filtered).float())
    expected = torch.softmax(logits / clf.model_.calibration.temperature, dim=1).numpy()
    found = clf.predict_proba(graph=graph, x=x)
    assert found.shape == (70, 3)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    np.testing.assert_array_equal(clf.predict([65, 1], graph=graph, x=x), found.argmax(axis=1)[[65, 1]])
    assert clf.score([0] * 70, [0, 1], graph=graph, x=x) == np.mean(found.argmax(axis=1)[:2] == 0)


def test_settings_changed_after_a_fit_do_not_change_its_predictions(data: NodeDataset) -> None:
    clf = refit(data, features="l2", self_loops="add")
    graph, x = grown(data)
    before = clf.predict_proba(graph=graph, x=x)
    clf.set_params(features="raw", self_loops="remove")
    np.testing.assert_array_equal(clf.predict_proba(graph=graph, x=x), before)
