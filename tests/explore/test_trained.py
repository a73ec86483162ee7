from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from explore.small_sessions import karate

from unifilter.estimators import fit
from unifilter.explanation.curves import GRID
from unifilter.explore.trained import Trained, keep
from unifilter.methods import Problem, find_method


def trained(name: str, **settings: object) -> Trained:
    opened = karate()
    split = opened.dataset.split("60")
    method = find_method(name).with_settings({"epochs": 3, **settings})
    return keep(1, fit(method, Problem(opened.workspace, split.train, split.val)), opened.workspace, split)


@pytest.mark.parametrize("name", ["unifilter", "homfilter", "hetfilter", "ortfilter"])
def test_the_filter_that_is_compared_is_the_one_that_is_explained(name: str) -> None:
    found = trained(name, hops=5)
    assert found.explanation is not None
    assert found.explanation.homophily_from == "of the model"
    assert found.response is not None
    # Single against double precision; where a signal has no energy its polynomials are large.
    np.testing.assert_allclose(found.response, found.explanation.curves.response, rtol=1e-3, atol=1e-3)


def test_a_weight_per_channel_is_explained_too() -> None:
    found = trained("unifilter", weights="channel")
    assert found.explanation is not None
    assert found.explanation.weights is not None
    assert found.explanation.weights.shape == (1, 11, 34)


def test_other_filters_are_compared_and_explained_by_their_response() -> None:
    found = trained("sgc", hops=2)
    assert found.response is not None
    np.testing.assert_allclose(found.response, (1 - GRID) ** 2, atol=1e-6)
    assert found.explanation is not None
    np.testing.assert_array_equal(found.explanation.curves.response, found.response)
    without = trained("mlp")
    assert (without.response, without.explanation) == (None, None)


def test_the_page_gets_plain_json_even_of_what_is_no_number() -> None:
    found = trained("unifilter", hops=2)
    record = {**found.record, "test_accuracy": float("nan")}
    response = np.where(GRID > 1, np.inf, found.response)
    sent = json.loads(json.dumps(Trained(1, record, response, None).to_dict(), allow_nan=False))
    assert (sent["test"], sent["explained"], sent["method"], sent["metric"]) == (None, False, "unifilter", "accuracy")
    assert [value is None for value in sent["response"]] == (GRID > 1).tolist()
    assert sent["val"] == pytest.approx(found.record["val_accuracy"])


def test_it_keeps_no_model() -> None:
    assert not any(isinstance(value, torch.nn.Module) for value in vars(trained("mlp")).values())
