from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from unifilter.data import METRICS
from unifilter.training import all_scores, score

# Six rows of three classes; predictions 0, 2, 1, 1, 0, 2.
LOGITS = torch.tensor([[2.0, 0, 1], [0, 1, 3], [-1, 5, 0], [0, 2, 1], [4, 3, 2], [0, 0, 1]])
LABELS = torch.tensor([0, 2, 1, 2, 1, 2])


def test_accuracy_by_hand() -> None:
    assert score("accuracy", LOGITS, LABELS) == 4 / 6


def test_macro_f1_by_hand() -> None:
    # Class 0: one right of two predicted and one there; 1: one of two and two; 2: two of two and three.
    assert score("macro_f1", LOGITS, LABELS) == pytest.approx((2 / 3 + 1 / 2 + 4 / 5) / 3)


def test_a_class_that_is_only_predicted_counts_and_one_that_never_occurs_does_not() -> None:
    logits = torch.eye(4)[[0, 0, 1]]
    # Class 0 has F1 1, class 1 is predicted once without being there; classes 2 and 3 do not occur.
    assert score("macro_f1", logits, torch.tensor([0, 0, 0])) == pytest.approx((4 / 5 + 0) / 2)


def test_roc_auc_by_hand() -> None:
    # Five of the six pairs of a positive and a negative are in the right order.
    margin = torch.tensor([-1.0, 2.0, 0.5, 1.0, 3.0])
    logits = torch.stack([torch.full((5,), 7.0), 7 + margin], dim=1)
    assert score("roc_auc", logits, torch.tensor([0, 1, 0, 0, 1])) == 1.0
    assert score("roc_auc", logits, torch.tensor([0, 1, 1, 0, 1])) == pytest.approx(5 / 6)


@given(st.integers(2, 60), st.integers(0, 999))
def test_roc_auc_ranks_by_probability(rows: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, 2, generator=generator)
    labels = torch.randint(2, (rows,), generator=generator)
    labels[:2] = torch.tensor([0, 1])
    probability = torch.softmax(logits.double(), dim=1)[:, 1]
    assert score("roc_auc", logits, labels) == pytest.approx(float(roc_auc_score(labels, probability)))


def test_confident_logits_are_still_ranked() -> None:
    # In float32 both probabilities are 1: their order is in the logits alone.
    logits = torch.tensor([[0.0, 60.0], [0.0, 50.0], [0.0, 55.0]])
    assert score("roc_auc", logits, torch.tensor([1, 0, 1])) == 1.0


def test_all_scores_are_those_that_are_defined() -> None:
    assert set(all_scores(LOGITS, LABELS)) == {"accuracy", "macro_f1"}
    assert set(all_scores(LOGITS[:, :2], torch.tensor([0, 1, 1, 0, 1, 0]))) == set(METRICS)
    assert set(all_scores(LOGITS[:, :2], torch.zeros(6, dtype=torch.int64))) == {"accuracy", "macro_f1"}
    assert all_scores(LOGITS, LABELS)["accuracy"] == 4 / 6


def test_metrics_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="metric must be one of 'accuracy', 'macro_f1', 'roc_auc', not 'f1'"):
        score("f1", LOGITS, LABELS)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="roc_auc is for two classes, and there are 3: use accuracy or macro_f1"):
        score("roc_auc", LOGITS, LABELS)
    with pytest.raises(ValueError, match="these 2 nodes are all of class 1: use accuracy, or another split"):
        score("roc_auc", LOGITS[:2, :2], torch.tensor([1, 1]))
