"""A trained model on its own: bases and methods of every origin, stored and found again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from small_estimator import SMALL, refit
from torch import Tensor

from unifilter import NodeClassifier, TrainedModel, UniFilterClassifier, register_basis, register_method
from unifilter.bases import BASES, Jacobi, PolynomialBasis
from unifilter.bases.base import Multiply
from unifilter.data import NodeDataset
from unifilter.methods import METHODS, ModelShape
from unifilter.methods.mlp import MLPMethod
from unifilter.nn import MLP
from unifilter.training import DivergedWarning


class Powers(PolynomialBasis):
    """Powers of P, each multiplied by a factor."""

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def sequence(self, multiply: Multiply, start: Tensor, hops: int) -> Iterator[Tensor]:
        yield start
        for _ in range(hops):
            start = self.factor * multiply(start)
            yield start


@dataclass(frozen=True, kw_only=True)
class Linear(MLPMethod):
    """A linear map of the features."""

    name: ClassVar[str] = "linear"

    def network(self, shape: ModelShape) -> MLP:
        return MLP(shape.in_channels, 8, shape.num_outputs, num_layers=1)


@pytest.fixture(autouse=True)
def registries_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for registry in (BASES, METHODS):
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))


def logits(model: TrainedModel, data: NodeDataset) -> Tensor:
    return model.logits(data.graph, data.features)


def test_it_says_what_it_is(fitted: UniFilterClassifier, data: NodeDataset) -> None:
    model = fitted.model_
    assert repr(model) == "TrainedModel(method='unifilter', features=6, classes=3)"
    assert model.weights is not None
    assert not model.weights.requires_grad
    np.testing.assert_array_equal(model.weights, fitted.weights_)
    assert model.tridiagonal is not None
    assert (model.tridiagonal.hops, model.tridiagonal.channels) == (3, 6)
    assert repr(model.basis) == f"Uni(tau={model.tau}, homophily={model.homophily}, formulation='paper')"
    assert (model.dtype, model.chosen) == (torch.float32, {})
    found = logits(model, data)
    assert not found.requires_grad
    np.testing.assert_array_equal(
        fitted.model_.probabilities(found), fitted.predict_proba(graph=data.graph, x=data.features)
    )


def test_what_was_left_open_is_chosen(data: NodeDataset, tmp_path: Path) -> None:
    clf = refit(data, dropout=None, lr=None, epochs=2)
    assert set(clf.model_.chosen) == {"dropout", "lr"}
    assert clf.model_.chosen == {name: getattr(clf.model_.method, name) for name in ("dropout", "lr")}
    clf.model_.save(tmp_path / "m")
    assert TrainedModel.load(tmp_path / "m").chosen == clf.model_.chosen


def test_a_basis_with_parameters_is_stored_as_data(data: NodeDataset, tmp_path: Path) -> None:
    clf = refit(data, basis=Jacobi(a=1, b=0))
    clf.save(tmp_path / "m")
    model, loaded = TrainedModel.load(tmp_path / "m"), UniFilterClassifier.load(tmp_path / "m")
    assert repr(model.basis) == repr(loaded.basis) == repr(Jacobi(a=1, b=0))
    assert torch.equal(logits(model, data), logits(clf.model_, data))
    lam = torch.linspace(0, 2, 7)
    assert torch.equal(model.response(lam), clf.model_.response(lam))
    loaded.fit(data.graph, data.features, data.labels)
    np.testing.assert_array_equal(loaded.predict_proba(), clf.predict_proba())


def test_a_basis_that_could_not_be_found_again_is_not_stored(data: NodeDataset, tmp_path: Path) -> None:
    clf = refit(data, basis=Powers(0.5))
    message = (
        r"the basis Powers\(factor=0.5\) cannot be stored, because its class has no registered name: register the "
        r'class first, register_basis\("powers", Powers\)'
    )
    with pytest.raises(ValueError, match=message):
        clf.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("basis", [Powers(0.5), Powers, "powers"], ids=["built", "class", "name"])
def test_a_registered_basis_is_stored(data: NodeDataset, tmp_path: Path, basis: Any) -> None:
    register_basis("powers", Powers)
    clf = refit(data, basis=basis)
    clf.save(tmp_path / "m")
    loaded = UniFilterClassifier.load(tmp_path / "m")
    assert repr(loaded.model_.basis) == repr(Powers(0.5) if isinstance(basis, Powers) else Powers())
    np.testing.assert_array_equal(
        loaded.predict_proba(graph=data.graph, x=data.features), clf.predict_proba(graph=data.graph, x=data.features)
    )
    loaded.fit(data.graph, data.features, data.labels)
    np.testing.assert_array_equal(loaded.predict_proba(), clf.predict_proba())
    del BASES._entries["powers"]
    with pytest.raises(ValueError, match="there is no basis 'powers'"):
        UniFilterClassifier.load(tmp_path / "m").fit(data.graph, data.features, data.labels)


def test_a_method_of_your_own_is_stored_once_it_is_registered(data: NodeDataset, tmp_path: Path) -> None:
    clf = NodeClassifier(Linear, epochs=2).fit(data.graph, data.features, data.labels)
    with pytest.raises(
        ValueError, match=r"the method 'linear' cannot be stored, .*: register it first, register_method\(Linear\)"
    ):
        clf.save(tmp_path / "m")
    assert register_method(Linear) is Linear
    clf.save(tmp_path / "m")
    loaded = NodeClassifier.load(tmp_path / "m")
    assert isinstance(loaded.model_.method, Linear)
    assert torch.equal(logits(loaded.model_, data), logits(clf.model_, data))
    by_name = NodeClassifier("linear", epochs=2).fit(data.graph, data.features, data.labels)
    np.testing.assert_array_equal(by_name.predict_proba(), clf.predict_proba())
    del METHODS._entries["linear"]
    with pytest.raises(ValueError, match=r"contains a model of the unknown method 'linear': import the package"):
        NodeClassifier.load(tmp_path / "m")


def test_features_of_another_kind_are_refused(fitted: UniFilterClassifier, data: NodeDataset) -> None:
    model = fitted.model_
    for value in (float("nan"), float("inf")):
        broken = data.features.clone()
        broken[3, 2] = value
        for x in (broken, broken.to_sparse_coo(), broken.numpy()):
            with pytest.raises(ValueError, match="the features contain NaN or infinity: impute or drop"):
                model.logits(data.graph, x)
    with pytest.raises(ValueError, match="x has 5 feature columns, but the model was trained on 6: pass the same"):
        model.logits(data.graph, data.features[:, :5])
    with pytest.raises(ValueError, match="the graph has 60 nodes but the features have 59 rows: pass one row per node"):
        model.logits(data.graph, data.features[:59])


def test_loading_and_predicting_draw_no_random_numbers(
    fitted: UniFilterClassifier, data: NodeDataset, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "m")
    before = torch.get_rng_state()
    logits(TrainedModel.load(tmp_path / "m"), data)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("features", ["raw", "row", "l2"])
def test_features_are_scaled_as_in_training(data: NodeDataset, features: str) -> None:
    clf = NodeClassifier("mlp", epochs=2, features=features).fit(data.graph, data.features, data.labels)
    scaled = data.scaled(features).features
    expected = clf.model_.network(scaled)
    torch.testing.assert_close(logits(clf.model_, data), expected.detach(), rtol=0, atol=0)


def test_settings_may_be_numbers_of_numpy(data: NodeDataset, tmp_path: Path) -> None:
    clf = UniFilterClassifier(**{**SMALL, "hops": np.int64(3), "tau": np.float32(0.5)})
    clf.fit(data.graph, data.features, data.labels).save(tmp_path / "m")
    loaded = UniFilterClassifier.load(tmp_path / "m")
    assert (type(loaded.hops), type(loaded.tau)) == (int, float)


def test_an_output_that_is_not_finite_is_an_error(data: NodeDataset) -> None:
    model = refit(data).model_
    with torch.no_grad():
        next(model.network.parameters()).fill_(float("nan"))
    with pytest.raises(ValueError, match="the model's output for node 0 is not finite .*scale the features.*in all"):
        logits(model, data)


def test_a_fit_whose_outputs_are_not_finite_has_no_score(data: NodeDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    forward = MLP.forward
    monkeypatch.setattr(MLP, "forward", lambda self, *inputs: forward(self, *inputs) * float("nan"))
    with pytest.raises(ValueError, match="output for node 0 is not finite"), pytest.warns(DivergedWarning):
        NodeClassifier(Linear(epochs=1)).fit(data.graph, data.features, data.labels)
