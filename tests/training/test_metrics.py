from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from unifilter.data import TASK_METRICS
from unifilter.training import all_scores, score

# Six rows of three classes; predictions 0, 2, 1, 1, 0, 2.
LOGITS = torch.tensor([[2.0, 0, 1], [0, 1, 3], [-1, 5, 0], [0, 2, 1], [4, 3, 2], [0, 0, 1]])
LABELS = torch.tensor([0, 2, 1, 2, 1, 2])


def test_accuracy_by_hand() -> None:
    assert score("accuracy", LOGITS, LABELS) == 4 / 6


def test_macro_f1_by_hand() -> None:
    # Class 0: one right of two predicted and one there; 1: one of two and two; 2: two of two and three.
    assert score("macro_f1", LOGITS, LABELS) == pytest.approx((2 / 3 + 1 / 2 + 4 / 5) / 3)


def test_macro_f1_is_over_all_known_classes() -> None:
    logits = torch.eye(4)[[0, 0, 1]]
    # Class 0 has F1 4/5, class 1 is predicted without being there, classes 2 and 3 are neither: each of them counts 0.
    assert score("macro_f1", logits, torch.tensor([0, 0, 0])) == pytest.approx((4 / 5) / 4)


def test_balanced_accuracy_is_the_mean_recall_of_the_classes_that_occur() -> None:
    labels = torch.tensor([0] * 9 + [1])
    always_zero = torch.tensor([[1.0, 0.0]]).repeat(10, 1)
    assert score("accuracy", always_zero, labels) == 0.9
    assert score("balanced_accuracy", always_zero, labels) == 0.5
    assert score("balanced_accuracy", LOGITS, LABELS) == pytest.approx(
        balanced_accuracy_score(LABELS.numpy(), LOGITS.argmax(dim=1).numpy())
    )


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
    assert set(all_scores(LOGITS, LABELS)) == {"accuracy", "balanced_accuracy", "macro_f1"}
    assert set(all_scores(LOGITS[:, :2], torch.tensor([0, 1, 1, 0, 1, 0]))) == set(TASK_METRICS["classification"])
    one_class = torch.zeros(6, dtype=torch.int64)
    assert set(all_scores(LOGITS[:, :2], one_class)) == {"accuracy", "balanced_accuracy", "macro_f1"}
    assert all_scores(LOGITS, LABELS)["accuracy"] == 4 / 6


def test_metrics_that_do_not_fit_are_refused() -> None:
    with pytest.raises(
        ValueError, match="metric must be one of 'accuracy', 'balanced_accuracy', 'macro_f1', 'roc_auc', not 'f1'"
    ):
        score("f1", LOGITS, LABELS)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="roc_auc needs two classes, but there are 3: use accuracy or macro_f1"):
        score("roc_auc", LOGITS, LABELS)
    with pytest.raises(ValueError, match="these 2 nodes are all of class 1: use accuracy, or another split"):
        score("roc_auc", LOGITS[:2, :2], torch.tensor([1, 1]))
