from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from small_estimator import SMALL, refit, refit_on

from unifilter import UniFilterClassifier
from unifilter.data import NodeDataset
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.training import DivergedWarning, TrainingInterrupted, trainer


def test_a_loss_that_is_not_a_number_keeps_finite_weights(data: NodeDataset) -> None:
    with pytest.warns(DivergedWarning, match="a learning rate .* is too high"):
        clf = refit(data, lr=1e30, epochs=50)
    assert clf.history_.ended == "diverged"
    assert np.isfinite(clf.predict_proba()).all()


@contextmanager
def interrupted_after(epochs: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    original = trainer._validate
    calls = iter(range(1, 1000))

    def then_interrupt(*arguments: Any) -> tuple[float, float]:
        if next(calls) == epochs:
            signal.raise_signal(signal.SIGINT)
        return original(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(trainer, "_validate", then_interrupt)
        yield


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupted_fit_goes_on_from_its_checkpoint(
    data: NodeDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "state.pt"
    undisturbed = refit(data)
    clf = UniFilterClassifier(**SMALL)
    with interrupted_after(3, monkeypatch), pytest.raises(TrainingInterrupted, match="stopped after 3 epochs"):
        clf.fit(data.graph, data.features, data.labels, checkpoint=file)
    with pytest.raises(NotFittedError):
        clf.predict()
    with pytest.raises(ValueError, match="belongs to a run with other settings or other data"):
        clone(clf).set_params(tau=0.1).fit(data.graph, data.features, data.labels, checkpoint=file)
    clf.fit(data.graph, data.features, data.labels, checkpoint=file)
    np.testing.assert_array_equal(clf.predict_proba(), undisturbed.predict_proba())
    assert clf.history_.loss == undisturbed.history_.loss
    assert not file.exists()


@pytest.mark.filterwarnings("ignore:val has no node of class")
@pytest.mark.usefixtures("ctrl_c")
def test_checkpoints_tell_sets_of_nodes_apart(
    data: NodeDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also sets of as many nodes with the same sum."""
    file = tmp_path / "state.pt"
    with interrupted_after(2, monkeypatch), pytest.raises(TrainingInterrupted):
        refit_on(data, data.labels, train=range(10, 40), val=[1, 4], checkpoint=file)
    with pytest.raises(ValueError, match="belongs to a run with other settings or other data"):
        refit_on(data, data.labels, train=range(10, 40), val=[2, 3], checkpoint=file)


@pytest.mark.usefixtures("ctrl_c")
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(data: NodeDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    clf = refit(data)
    before = clf.predict_proba()
    smaller = contextual_sbm(num_nodes=20, num_classes=2, average_degree=4, num_features=6)
    with interrupted_after(2, monkeypatch), pytest.raises(TrainingInterrupted):
        clf.fit(smaller.graph, smaller.features, ["x", "y"] * 10)
    np.testing.assert_array_equal(clf.predict_proba(), before)
    assert clf.classes_.tolist() == [0, 1, 2]
