from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from dense import propagation_matrix
from planted import planted_problem

from unifilter.estimators import Fitted, fit
from unifilter.methods import Problem
from unifilter.methods.specformer import SpecformerMethod
from unifilter.nn.specformer import EigenvalueTransformer, Specformer


def fitted_on(problem: Problem, **settings: object) -> Fitted:
    return fit(SpecformerMethod.with_settings({"epochs": 30, "lr": 0.02, "hidden_channels": 8, **settings}), problem)


def response_at(fitted: Fitted, lam: torch.Tensor) -> torch.Tensor:
    response = fitted.model.response(lam)
    assert response is not None
    return response


def test_the_response_filters_one_channel_per_class() -> None:
    problem = planted_problem()
    fitted = fitted_on(problem, heads=2)
    values, vectors = np.linalg.eigh(np.eye(48) - propagation_matrix(problem.dataset.graph))
    model = fitted.model.network
    assert isinstance(model, Specformer)
    response = response_at(fitted, torch.from_numpy(values)).numpy()
    assert np.ptp(response, axis=0).min() > 0.1
    with torch.no_grad():
        unfiltered = model.output(torch.relu(model.input(problem.workspace.features("row")))).double().numpy()
    expected = vectors @ (response * (vectors.T @ unfiltered))
    assert np.allclose(fitted.logits.numpy(), expected, atol=1e-3)


def test_between_eigenvalues_the_response_is_a_line_and_beyond_them_constant() -> None:
    fitted = fitted_on(planted_problem())
    values = torch.from_numpy(np.linalg.eigvalsh(np.eye(48) - propagation_matrix(planted_problem().dataset.graph)))
    low, high = values[10], values[11]
    at = response_at(fitted, torch.stack([low, 0.75 * low + 0.25 * high, high]))
    assert torch.allclose(at[1], 0.75 * at[0] + 0.25 * at[2], atol=1e-4)
    beyond = response_at(fitted, torch.tensor([values[-1], 2.0, 7.0]))
    assert torch.allclose(beyond[0], beyond[2], atol=1e-4)


def test_new_eigenvalues_do_not_depend_on_the_order_of_the_old() -> None:
    torch.manual_seed(0)
    transformer = EigenvalueTransformer(8, 2, 0.0).eval()
    values = torch.rand(20) * 2
    order = torch.randperm(20)
    assert torch.allclose(transformer(values[order]), transformer(values)[order], atol=1e-6)
    # They do depend on each other: that is what attention is for.
    assert not torch.allclose(transformer(values[:10]), transformer(values)[:10], atol=1e-6)


def test_linear_layers_start_small_and_filters_add_everything_up() -> None:
    torch.manual_seed(0)
    model = Specformer(50, 32, 5, num_layers=2, heads=4)
    assert abs(model.input.weight.std() - 0.01) < 0.001
    assert not model.input.bias.any()
    assert [tuple(weights.shape) for weights in model.filter_weights] == [(5, 5), (5, 5)]
    assert all((weights == 1).all() for weights in model.filter_weights)
    normed = Specformer(50, 32, 5, num_layers=1, heads=4, norm="layer")
    assert tuple(normed.filter_weights[0].shape) == (5, 32)
    assert normed.filter_weights[0].abs().max() < 0.1


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_with_a_norm_one_filter_has_a_response_and_two_have_none(norm: str) -> None:
    problem = planted_problem()
    one = fitted_on(problem, norm=norm, num_layers=1, epochs=2)
    assert response_at(one, torch.linspace(0, 2, 4)).shape == (4, 8)
    two = SpecformerMethod.with_settings({"norm": norm, "num_layers": 2}).build(problem)
    assert two.model.response(torch.linspace(0, 2, 4)) is None


def test_ends_of_the_spectrum_are_enough_to_build_on(tmp_path: Path) -> None:
    learner = SpecformerMethod(ends=(5, 3)).build(planted_problem())
    assert learner.shape.facts == {"eigenvalues": 8}
    assert learner.forward(torch.arange(48)).shape == (48, 3)
    # The decomposition is kept, and read the next time.
    assert len(list((tmp_path / "cache" / "eigenpairs").glob("*-5-3.npz"))) == 1


@pytest.mark.parametrize(("width", "heads"), [(9, 1), (8, 3)])
def test_widths_that_do_not_divide_are_refused(width: int, heads: int) -> None:
    with pytest.raises(ValueError, match=f"even and a multiple of heads, and {width} with heads={heads} is not"):
        SpecformerMethod(hidden_channels=width, heads=heads).build(planted_problem())


def test_it_waits_for_the_loss_and_keeps_the_epoch_with_the_best_score() -> None:
    score, loss = (
        fitted_on(planted_problem(), keep=keep, epochs=200, patience=15, lr=0.05, dropout=0.0).history
        for keep in ("score", "loss")
    )
    assert score.val_loss == loss.val_loss
    lowest = int(np.argmin(loss.val_loss))
    assert loss.best_epoch == lowest
    assert score.best_epoch == int(np.argmax(score.val_score)) != lowest
    assert (score.ended, score.epochs) == ("patience", lowest + 1 + 15)
