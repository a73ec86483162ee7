"""Each form that an alias names works, and public signatures name the aliases."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

from unifilter import NodeClassifier, NodeRegressor, factorize
from unifilter.data import Table
from unifilter.datasets import load_dataset

Form = Callable[[Any], Any]


def clf_on(x: Form = lambda x: x, y: Form = lambda y: y, train: Form = lambda nodes: nodes) -> list[int]:
    karate = load_dataset("karate")
    clf = NodeClassifier("sgc", epochs=5)
    clf.fit(karate.graph, x(karate.features.to_dense()), y(karate.labels), train=train(np.arange(0, 34, 2)))
    return [int(one) for one in clf.predict(train(np.arange(0, 34, 2)))]


@pytest.mark.parametrize("form", [np.asarray, lambda x: x.to_sparse(), sparse.csr_array, sparse.coo_matrix])
def test_forms_of_features(form: Form) -> None:
    assert clf_on(x=form) == clf_on()


def test_tables_as_features() -> None:
    def frame(x: torch.Tensor) -> pd.DataFrame:
        return pd.DataFrame({"a": x[:, 0].numpy(), "b": np.where(x[:, 1] > 0, "yes", "no")})

    assert clf_on(x=frame) == clf_on(x=lambda x: Table.from_frame(frame(x)))


@pytest.mark.parametrize("form", [torch.as_tensor, list, pd.Series, lambda nodes: np.isin(np.arange(34), nodes)])
def test_forms_of_nodes(form: Form) -> None:
    assert clf_on(train=form) == clf_on()


@pytest.mark.parametrize("form", [np.asarray, lambda y: y.tolist(), lambda y: pd.Series(y.numpy())])
def test_forms_of_labels(form: Form) -> None:
    assert clf_on(y=form) == clf_on()


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (NodeClassifier.fit, {"x": "FeatureLike", "y": "Labels", "train": "NodeIndex", "val": "NodeIndex"}),
        (NodeRegressor.predict, {"nodes": "NodeIndex", "x": "FeatureLike"}),
        (NodeClassifier.predict_proba, {"nodes": "NodeIndex", "x": "FeatureLike"}),
        (factorize, {"x": "FeatureLike"}),
    ],
)
def test_signatures_say_what_they_take(function: Callable[..., Any], names: dict[str, str]) -> None:
    parameters = inspect.signature(function).parameters
    for name, alias in names.items():
        assert alias in parameters[name].annotation
