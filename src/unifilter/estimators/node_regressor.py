"""Numbers with any method and the conventions of scikit-learn."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import RegressorMixin

from unifilter._internal.type_aliases import FeatureLike, NodeIndex
from unifilter.data import TaskName
from unifilter.estimators.node_estimator import Answers, NodeEstimator
from unifilter.estimators.targets import numbers_per_node
from unifilter.estimators.trained_model import TrainedModel
from unifilter.evaluation import interval_halfwidth
from unifilter.training import Regression, Task


class NodeRegressor(RegressorMixin, NodeEstimator):  # type: ignore[misc]
    """Predict a number, or several, for every node, with any method.

    It is used as :class:`unifilter.NodeClassifier` is. Targets are standardized over the training nodes, and the
    squared error is minimized. The homophily that sets the angle of UniFilter's basis is that of values, see
    :func:`unifilter.graph.value_homophily`; it is our extension of the paper.

    Args:
        method: The name of a method, or a :class:`unifilter.methods.Method` of your own.
        graph: A graph to work on, for use with scikit-learn; pass a :class:`unifilter.Graph`, so that clones share it.
        x: Its features.
        validation_fraction: Share of the training nodes held out where ``fit`` is given no validation nodes.
        device: Where to compute; by default the CPU.
        dtype: ``"float32"``, which features of any kind are converted to, or ``"float64"``.
        verbose: Show progress.
        settings: Hyper-parameters of the method, by name. By default ``metric`` is ``"r2"``, ``features`` is
            ``"standard"``, and there is no dropout.

    Attributes:
        model_: The :class:`unifilter.TrainedModel`.
        weights_: Learned weights, one per hop or per hop and channel; ``None`` for a method that has none.
        tau_, homophily_: The mixture and the homophily that were used, or learned; ``None`` where the method has none.
        chosen_: The value of every setting that was left open.
        history_: Losses and scores, epoch by epoch, of what was kept.
        data_: The training data as a :class:`unifilter.data.NodeDataset`.
        n_features_in_: Number of features.
        feature_names_in_: Names of the columns, where ``x`` was a DataFrame.

    Example:
        >>> from unifilter import NodeRegressor
        >>> from unifilter.datasets import load_dataset
        >>> digits = load_dataset("digits")
        >>> ink = digits.features.sum(dim=1)  # how much is drawn
        >>> reg = NodeRegressor("gprgnn", epochs=50).fit(digits.graph, digits.features, ink, train=range(0, 1797, 2))
        >>> reg.predict([1, 33]).shape, reg.predict_interval(alpha=0.2).shape
        ((2,), (1797, 2))
    """

    _learns: ClassVar[TaskName] = "regression"

    def predict_interval(
        self, alpha: float = 0.1, nodes: NodeIndex | None = None, *, graph: Any = None, x: FeatureLike | None = None
    ) -> np.ndarray:
        """An interval for each node that holds the true number with probability ``1 - alpha``, on average.

        These are split-conformal intervals from the validation nodes, all of one width: they hold for nodes drawn as
        those were. With too few validation nodes for ``alpha`` they are infinite.

        Args:
            alpha: Share of nodes whose number may be missed, in (0, 1).
            nodes: A mask or indices; by default all nodes.
            graph: Another graph than the one of :meth:`fit`.
            x: Its features.

        Returns:
            Lower and upper ends ``[nodes, 2]``.
        """
        logits = self._logits(nodes, graph, x)
        if len(self.model_.classes) != 1:
            raise ValueError(
                f"intervals are for one target, and there are {len(self.model_.classes)}: fit a regressor for each"
            )
        middle = self.model_.answers(logits)
        width = interval_halfwidth(self.model_.calibration.scores, alpha)
        return np.stack([middle - width, middle + width], axis=1)

    # scikit-learn's mixin comes first and has one of its own.
    score = NodeEstimator.score

    def _answers(self, y: Any, num_nodes: int) -> Answers:
        matrix, names = numbers_per_node(y, num_nodes)
        fields = {
            "task": "regression",
            "targets": torch.from_numpy(matrix),
            "target_names": names,
            "metric": self.metric,
        }
        return Answers(fields, np.array(names), np.where(np.isnan(matrix).all(axis=1), -1, 0))

    def _task(self, y: Any, num_nodes: int) -> Task:
        matrix, _ = numbers_per_node(y, num_nodes)
        wanted = len(self.model_.classes)
        if matrix.shape[1] != wanted:
            raise ValueError(f"y must have one number per target, shape [{num_nodes}, {wanted}]: pass all of them")
        center, scale = self.model_.target_center, self.model_.target_scale
        return Regression(torch.from_numpy(matrix), torch.as_tensor(center), torch.as_tensor(scale))

    @classmethod
    def _check_task(cls, model: TrainedModel, path: str | os.PathLike[str]) -> None:
        if model.task != "regression":
            raise ValueError(f"{path} holds a classifier: load it with NodeClassifier.load")
