"""Scores of class predictions, with the majority class as baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np

from unifilter._internal.plain import plain
from unifilter.evaluation.calibration import Reliability, reliability
from unifilter.evaluation.inputs import as_class_indices, as_distributions, as_names
from unifilter.evaluation.ratios import f1_score, mean_of_defined, ratio, roc_auc
from unifilter.evaluation.text_table import Cell, text_table


@dataclass(frozen=True)
class ClassScores:
    """Scores of one class.

    Attributes:
        name: Name of the class.
        precision: Share of correct ones among the nodes predicted as this class; ``None`` if there are none.
        recall: Share of the nodes of this class that are predicted as such; ``None`` if there are none.
        f1: Harmonic mean of precision and recall; 0 if the class has neither nodes nor predictions.
        support: Number of nodes of this class.
        predicted: Number of nodes predicted as this class.
    """

    name: str
    precision: float | None
    recall: float | None
    f1: float
    support: int
    predicted: int


@dataclass(frozen=True, eq=False)
class ClassificationReport:
    """Result of :func:`classification_report`.

    Attributes:
        nodes: Number of nodes scored.
        accuracy: Share of correct predictions.
        balanced_accuracy: Mean recall of the classes that occur in the labels.
        macro_f1: Mean F1 of all classes. A class with neither nodes nor predictions counts as 0, so that scores of
            different subsets of nodes average over the same classes.
        roc_auc: Area under the ROC curve, if there are two classes and both occur; otherwise ``None``.
        log_loss: Mean of ``-log p`` of the true class. ``p`` is at least 2.2e-16, so that a single confident mistake
            does not make the loss infinite.
        majority_class: Class that the baseline predicts.
        majority_accuracy: Accuracy of the baseline.
        per_class: Scores of each class.
        confusion: Numbers of nodes ``[C, C]``, true classes in rows, predicted classes in columns.
        missing: Classes without a node.
        only_class: The predicted class, if it is the same for every node.
        calibration: Reliability diagram and calibration error.
    """

    nodes: int
    accuracy: float
    balanced_accuracy: float
    macro_f1: float
    roc_auc: float | None
    log_loss: float
    majority_class: str
    majority_accuracy: float
    per_class: tuple[ClassScores, ...]
    confusion: np.ndarray
    missing: tuple[str, ...]
    only_class: str | None
    calibration: Reliability

    def to_dict(self) -> dict[str, Any]:
        """A JSON-serializable dictionary. Undefined values are ``None``."""
        figures = {**asdict(self), "confusion": self.confusion.tolist()}
        return {name: plain(value) for name, value in figures.items()}

    def __str__(self) -> str:
        header: list[Cell] = ["", "precision", "recall", "F1", "support", "predicted"]
        summary: list[list[Cell]] = [
            ["nodes", self.nodes],
            ["accuracy", self.accuracy],
            [f"accuracy of always {self.majority_class}", self.majority_accuracy],
            ["balanced accuracy", self.balanced_accuracy],
            ["macro F1", self.macro_f1],
            ["ROC AUC", self.roc_auc],
            ["log loss", self.log_loss],
            ["calibration error", self.calibration.error],
        ]
        remarks = []
        if self.missing:
            remarks.append(f"No node is of class {', '.join(self.missing)}.")
        if self.only_class is not None:
            remarks.append(f"Every prediction is {self.only_class}.")
        parts = [text_table([header, *map(astuple, self.per_class)]), text_table(summary), "\n".join(remarks)]
        return "\n\n".join(part for part in parts if part)


def classification_report(
    probabilities: Any, labels: Any, class_names: Sequence[str], majority: int | None = None
) -> ClassificationReport:
    """Score class predictions. The prediction is the most probable class, the first one in a tie.

    Args:
        probabilities: Class probabilities ``[n, C]``.
        labels: Class indices ``[n]``, without unknown labels.
        class_names: Names of the classes.
        majority: Index of the class that the baseline predicts: pass the most frequent class of the training nodes.
            Default: the most frequent one of ``labels``, which a model cannot know beforehand.

    Example:
        >>> report = classification_report([[0.9, 0.1], [0.75, 0.25], [0.5, 0.5]], [0, 0, 1], ["cat", "dog"])
        >>> print(report)
             precision  recall      F1  support  predicted
        cat     0.6667  1.0000  0.8000        2          3
        dog          -  0.0000  0.0000        1          0
        <BLANKLINE>
        nodes                        3
        accuracy                0.6667
        accuracy of always cat  0.6667
        balanced accuracy       0.5000
        macro F1                0.4000
        ROC AUC                 1.0000
        log loss                0.3621
        calibration error       0.2833
        <BLANKLINE>
        Every prediction is cat.
    """
    values = as_distributions(probabilities)
    n, C = values.shape
    truth = as_class_indices(labels, n, C)
    names = as_names(class_names, C, "class_names", "classes")
    confusion = np.bincount(truth * C + values.argmax(axis=1), minlength=C * C).reshape(C, C)
    hits, support, predicted = confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)
    per_class = tuple(
        ClassScores(
            name=names[k],
            precision=ratio(hits[k], predicted[k]),
            recall=ratio(hits[k], support[k]),
            f1=f1_score(hits[k], support[k], predicted[k]),
            support=int(support[k]),
            predicted=int(predicted[k]),
        )
        for k in range(C)
    )
    most = int(support.argmax()) if majority is None else _check_majority(majority, C)
    top = int(predicted.argmax())
    return ClassificationReport(
        nodes=n,
        accuracy=float(hits.sum() / n),
        # There is at least one node, so at least one class has a defined recall.
        balanced_accuracy=mean_of_defined(scores.recall for scores in per_class) or 0.0,
        macro_f1=sum(scores.f1 for scores in per_class) / C,
        roc_auc=roc_auc(values[:, 1], truth == 1) if C == 2 else None,
        log_loss=_log_loss(values[np.arange(n), truth]),
        majority_class=names[most],
        majority_accuracy=float(support[most] / n),
        per_class=per_class,
        confusion=confusion,
        missing=tuple(names[k] for k in range(C) if support[k] == 0),
        only_class=names[top] if predicted[top] == n else None,
        calibration=reliability(values, truth),
    )


def _log_loss(at_truth: np.ndarray) -> float:
    return float(-np.log(np.clip(at_truth, np.finfo(np.float64).eps, 1.0)).mean())


def _check_majority(majority: int, classes: int) -> int:
    whole = isinstance(majority, (int, np.integer)) and not isinstance(majority, bool)
    if not whole or not 0 <= majority < classes:
        raise ValueError(
            f"majority must be a class index from 0 to {classes - 1}, not {majority!r}: "
            "pass the most frequent class of the training nodes, or None"
        )
    return int(majority)
