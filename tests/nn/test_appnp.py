"""APPNP, GNN-LF and GNN-HF: the polynomial is what the steps give, and what they tend to."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from dense import propagation_matrix
from hypothesis import given
from hypothesis import strategies as st
from strategies import connected_graph

from unifilter.nn import APPNP, GNNHF, GNNLF, RestartFilter
from unifilter.nn.appnp import restart_weights
from unifilter.nn.gprgnn import pagerank_weights

NODES = 30
GRAPH = connected_graph(NODES)
P = torch.from_numpy(propagation_matrix(GRAPH.with_self_loops("add")))
LOW, HIGH = torch.eye(NODES, dtype=torch.float64), torch.eye(NODES, dtype=torch.float64) - P


def logits_and_hidden(model: RestartFilter) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(NODES, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    model = model.double().eval()
    with torch.no_grad():
        return model(x, GRAPH), model.transform(x)


def iterate(start: torch.Tensor, factor: float, alpha: float, steps: int) -> torch.Tensor:
    current = start
    for _ in range(steps):
        current = factor * P @ current + alpha * start
    return current


@pytest.mark.parametrize("steps", [1, 2, 10])
def test_the_steps_are_those_of_the_papers(steps: int) -> None:
    alpha, mu, beta = 0.2, 0.7, 1.3
    logits, hidden = logits_and_hidden(APPNP(6, 3, steps, alpha))
    torch.testing.assert_close(logits, iterate(hidden, 1 - alpha, alpha, steps), rtol=1e-5, atol=1e-6)

    logits, hidden = logits_and_hidden(GNNLF(6, 3, steps, alpha, mu))
    scale = 1 + alpha * mu - alpha
    expected = iterate(
        (mu * hidden + (1 - mu) * P @ hidden) / scale, (1 - 2 * alpha + mu * alpha) / scale, alpha, steps
    )
    torch.testing.assert_close(logits, expected, rtol=1e-5, atol=1e-6)

    logits, hidden = logits_and_hidden(GNNHF(6, 3, steps, alpha, beta))
    scale = alpha * beta + 1
    expected = iterate((hidden + beta * HIGH @ hidden) / scale, (alpha * beta + 1 - alpha) / scale, alpha, steps)
    torch.testing.assert_close(logits, expected, rtol=1e-5, atol=1e-6)


def test_many_steps_are_the_closed_forms() -> None:
    alpha, mu, beta, steps = 0.3, 0.6, 0.8, 90
    logits, hidden = logits_and_hidden(APPNP(6, 3, steps, alpha))
    torch.testing.assert_close(logits, alpha * torch.linalg.solve(LOW - (1 - alpha) * P, hidden), rtol=1e-5, atol=1e-6)

    logits, hidden = logits_and_hidden(GNNLF(6, 3, steps, alpha, mu))
    matrix = (1 + alpha * mu - alpha) * LOW + (2 * alpha - alpha * mu - 1) * P
    expected = alpha * torch.linalg.solve(matrix, (mu * LOW + (1 - mu) * P) @ hidden)
    torch.testing.assert_close(logits, expected, rtol=1e-5, atol=1e-6)

    logits, hidden = logits_and_hidden(GNNHF(6, 3, steps, alpha, beta))
    matrix = alpha * LOW + (alpha * beta + 1 - alpha) * HIGH
    expected = alpha * torch.linalg.solve(matrix, (LOW + beta * HIGH) @ hidden)
    torch.testing.assert_close(logits, expected, rtol=1e-5, atol=1e-6)


@given(alpha=st.floats(0, 1), steps=st.integers(1, 20))
def test_all_three_contain_pagerank(alpha: float, steps: int) -> None:
    pagerank = pagerank_weights(alpha, steps)
    assert torch.allclose(restart_weights([1.0], 1 - alpha, alpha, steps), pagerank, atol=1e-6)
    lam = torch.linspace(0, 2, 9)
    expected = APPNP(2, 2, steps, alpha).response(lam)
    torch.testing.assert_close(GNNLF(2, 2, steps, alpha, mu=1.0).response(lam), expected)
    torch.testing.assert_close(GNNHF(2, 2, steps, alpha, beta=0.0).response(lam), expected)


@pytest.mark.parametrize("model", [APPNP(6, 3), GNNLF(6, 3), GNNHF(6, 3)], ids=lambda model: type(model).__name__)
def test_the_response_is_the_filter(model: RestartFilter) -> None:
    logits, hidden = logits_and_hidden(model)
    values, vectors = np.linalg.eigh(HIGH.numpy())
    response = model.response(torch.from_numpy(values)).numpy()
    expected = vectors @ (response * (vectors.T @ hidden.numpy()))
    np.testing.assert_allclose(logits.numpy(), expected, atol=1e-6)


def test_in_the_end_a_constant_stays_as_it_is() -> None:
    for kind in (APPNP, GNNLF, GNNHF):
        assert float(kind(6, 3, hops=200).response(torch.zeros(1))) == pytest.approx(1, abs=1e-5)


def test_the_filter_is_no_parameter_and_the_perceptron_has_no_bias() -> None:
    model = APPNP(6, 3, hidden_channels=5)
    assert [tuple(weight.shape) for weight in model.parameters()] == [(5, 6), (3, 5)]
    assert model.hop_weights is None
    assert set(model.state_dict()) == {"layers.0.weight", "layers.1.weight"}
    (group,) = model.parameter_groups(0.1, 0.2, 0.3, 0.4)
    assert (group["lr"], group["weight_decay"], len(group["params"])) == (0.1, 0.2, 2)


def test_settings_that_make_no_sense_are_refused() -> None:
    for kind in (APPNP, GNNLF, GNNHF):
        with pytest.raises(ValueError, match="alpha must lie in \\[0, 1\\], not 1.5"):
            kind(4, 2, alpha=1.5)
    with pytest.raises(ValueError, match="mu must lie in \\[0.5, 1\\], not 0.4: below, the steps need not converge"):
        GNNLF(4, 2, mu=0.4)
    with pytest.raises(ValueError, match="beta must be a number of at least 0, not -1: the authors use 0.9"):
        GNNHF(4, 2, beta=-1)
