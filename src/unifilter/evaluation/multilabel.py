"""Scores of multilabel predictions, with the more frequent value of each label as baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np

from unifilter._internal.plain import plain
from unifilter.evaluation.inputs import as_binary_targets, as_names, as_probabilities
from unifilter.evaluation.ratios import f1_score, mean_of_defined, ratio, roc_auc
from unifilter.evaluation.text_table import Cell, text_table


@dataclass(frozen=True)
class LabelScores:
    """Scores of one label, on the nodes where it is known.

    Attributes:
        name: Name of the label.
        precision: Share of correct ones among the nodes predicted to have the label; ``None`` if there are none.
        recall: Share of the nodes with the label that are predicted to have it; ``None`` if there are none.
        f1: Harmonic mean of precision and recall; 0 if there are neither nodes with the label nor predictions of it.
        roc_auc: Area under the ROC curve; ``None`` unless both values occur.
        accuracy: Share of correct values; ``None`` if no value is known.
        baseline_accuracy: Accuracy of always predicting the majority value.
        known: Number of nodes with a known value.
        support: Number of nodes with the label.
        predicted: Number of nodes predicted to have the label.
    """

    name: str
    precision: float | None
    recall: float | None
    f1: float
    roc_auc: float | None
    accuracy: float | None
    baseline_accuracy: float | None
    known: int
    support: int
    predicted: int


@dataclass(frozen=True)
class MultilabelReport:
    """Result of :func:`multilabel_report`.

    Attributes:
        nodes: Number of rows, including rows without any known label.
        complete: Number of rows where all labels are known.
        subset_accuracy: Share of the complete rows where every label is correct; ``None`` if there are none.
        baseline_subset_accuracy: Subset accuracy of the baseline.
        accuracy: Share of the known values that are correct.
        baseline_accuracy: Accuracy of always predicting the majority value of each label.
        micro_f1: F1 over all known values; 0 if there are neither labels nor predictions.
        macro_f1: Mean F1 of all labels. A label that no node has and that is never predicted counts as 0.
        roc_auc: Mean over the labels for which both values occur; ``None`` if there are none.
        per_label: Scores of each label.
    """

    nodes: int
    complete: int
    subset_accuracy: float | None
    baseline_subset_accuracy: float | None
    accuracy: float
    baseline_accuracy: float
    micro_f1: float
    macro_f1: float
    roc_auc: float | None
    per_label: tuple[LabelScores, ...]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-serializable dictionary. Undefined values are ``None``."""
        return {name: plain(value) for name, value in asdict(self).items()}

    def __str__(self) -> str:
        header: list[Cell] = ["", "precision", "recall", "F1", "ROC AUC", "accuracy", "baseline"]
        header += ["known", "support", "predicted"]
        summary: list[list[Cell]] = [
            ["nodes", self.nodes],
            ["nodes with all labels known", self.complete],
            ["subset accuracy", self.subset_accuracy],
            ["subset accuracy of the baseline", self.baseline_subset_accuracy],
            ["accuracy", self.accuracy],
            ["accuracy of the baseline", self.baseline_accuracy],
            ["micro F1", self.micro_f1],
            ["macro F1", self.macro_f1],
            ["ROC AUC", self.roc_auc],
        ]
        return f"{text_table([header, *map(astuple, self.per_label)])}\n\n{text_table(summary)}"


def multilabel_report(probabilities: Any, targets: Any, names: Sequence[str], majority: Any = None) -> MultilabelReport:
    """Score multilabel predictions. A label is predicted if its probability is above 0.5.

    Args:
        probabilities: Probability of each label, ``[n, L]``.
        targets: Booleans, or zeros and ones, ``[n, L]``. NaN means unknown; unknown entries are ignored.
        names: Names of the labels.
        majority: The value that the baseline predicts for each label, booleans ``[L]``: pass the more frequent
            value among the training nodes. Default: the more frequent value in ``targets``, which a model cannot
            know beforehand; false in a tie.

    Example:
        >>> report = multilabel_report([[0.9, 0.2], [0.6, 0.7]], [[1, 0], [0, float("nan")]], ["red", "round"])
        >>> report.subset_accuracy, report.accuracy, report.micro_f1
        (1.0, 0.6666666666666666, 0.6666666666666666)
    """
    values = as_probabilities(probabilities)
    L = values.shape[1]
    target = as_binary_targets(targets, values.shape)
    label_names = as_names(names, L, "names", "labels")
    known = ~np.isnan(target)
    truth = target == 1
    chosen = known & (values > 0.5)
    known_count, support, predicted = (mask.sum(axis=0) for mask in (known, truth, chosen))
    hits = (truth & chosen).sum(axis=0)
    baseline = 2 * support > known_count if majority is None else _as_majority(majority, L)
    right, baseline_right = known & (chosen == truth), known & (baseline == truth)
    right_count, baseline_right_count = right.sum(axis=0), baseline_right.sum(axis=0)
    complete = int(known.all(axis=1).sum())
    per_label = tuple(
        LabelScores(
            name=label_names[j],
            precision=ratio(hits[j], predicted[j]),
            recall=ratio(hits[j], support[j]),
            f1=f1_score(hits[j], support[j], predicted[j]),
            roc_auc=roc_auc(values[known[:, j], j], truth[known[:, j], j]),
            accuracy=ratio(right_count[j], known_count[j]),
            baseline_accuracy=ratio(baseline_right_count[j], known_count[j]),
            known=int(known_count[j]),
            support=int(support[j]),
            predicted=int(predicted[j]),
        )
        for j in range(L)
    )
    return MultilabelReport(
        nodes=len(values),
        complete=complete,
        subset_accuracy=ratio(right.all(axis=1).sum(), complete),
        baseline_subset_accuracy=ratio(baseline_right.all(axis=1).sum(), complete),
        accuracy=float(right_count.sum() / known_count.sum()),
        baseline_accuracy=float(baseline_right_count.sum() / known_count.sum()),
        micro_f1=f1_score(hits.sum(), support.sum(), predicted.sum()),
        macro_f1=sum(scores.f1 for scores in per_label) / L,
        roc_auc=mean_of_defined(scores.roc_auc for scores in per_label),
        per_label=per_label,
    )


def _as_majority(majority: Any, labels: int) -> np.ndarray:
    array = np.asarray(majority)
    if array.shape != (labels,) or array.dtype != bool:
        raise ValueError(
            f"majority must be {labels} booleans, one per label, not {array.dtype} of shape {list(array.shape)}: "
            "pass the more frequent value of each label among the training nodes, or None"
        )
    return array
