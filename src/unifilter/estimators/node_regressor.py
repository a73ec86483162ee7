"""Node regression with any method, following scikit-learn's conventions."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import RegressorMixin

from unifilter._internal.type_aliases import FeatureLike, NodeIndex
from unifilter.data import TaskName
from unifilter.estimators.node_estimator import NodeEstimator
from unifilter.estimators.targets import Answers, numbers_per_node
from unifilter.estimators.trained_model import TrainedModel
from unifilter.evaluation import interval_halfwidth
from unifilter.training import Regression, Task


class NodeRegressor(RegressorMixin, NodeEstimator):  # type: ignore[misc]
    """Node regression with any method, for one or several targets per node.

    It is used like :class:`unifilter.NodeClassifier`. Targets are standardized over the training nodes, and the squared
    error is minimized. The angle of UniFilter's basis is set by :func:`unifilter.graph.value_homophily`, which is our
    extension of the paper.

    Args:
        method: The name of a method, or a :class:`unifilter.methods.Method`.
        graph: A graph, for use with scikit-learn; pass a :class:`unifilter.Graph`, so that clones share it.
        x: Its features.
        validation_fraction: Share of the training nodes to hold out if ``fit`` gets no validation nodes.
        device: Device to compute on. Default: the CPU.
        dtype: Precision that features are converted to, ``"float32"`` or ``"float64"``.
        verbose: Whether to show progress.
        settings: Hyperparameters of the method, by name. Default: ``metric`` is ``"r2"``, ``features`` is
            ``"standard"``, and there is no dropout.

    Attributes:
        model_: The :class:`unifilter.TrainedModel`.
        weights_: Learned weights, one per hop or per hop and channel; ``None`` for a method without such weights.
        tau_, homophily_: The tau and homophily that were used or learned; ``None`` if the method has none.
        chosen_: The value of every setting that was left open.
        history_: Losses and scores of each epoch, for the model that was kept.
        data_: The training data as a :class:`unifilter.data.NodeDataset`.
        n_features_in_: Number of features.
        feature_names_in_: Names of the columns, if ``x`` was a DataFrame.

    Example:
        >>> from unifilter import NodeRegressor
        >>> from unifilter.datasets import load_dataset
        >>> digits = load_dataset("digits")
        >>> ink = digits.features.sum(dim=1)  # amount of ink
        >>> reg = NodeRegressor("gprgnn", epochs=50).fit(digits.graph, digits.features, ink, train=range(0, 1797, 2))
        >>> reg.predict([1, 33]).shape, reg.predict_interval(alpha=0.2).shape
        ((2,), (1797, 2))
    """

    _learns: ClassVar[TaskName] = "regression"

    def predict_interval(
        self, alpha: float = 0.1, nodes: NodeIndex | None = None, *, graph: Any = None, x: FeatureLike | None = None
    ) -> np.ndarray:
        """An interval for each node that contains the true number with probability ``1 - alpha``, on average.

        These are split-conformal intervals from the validation nodes, all of the same width. The guarantee holds for
        nodes exchangeable with those. With too few validation nodes for ``alpha`` the intervals are infinite.

        Args:
            alpha: Allowed error rate, in (0, 1).
            nodes: A mask or indices. Default: all nodes.
            graph: A graph other than that of :meth:`fit`.
            x: Its features.

        Returns:
            Lower and upper ends ``[nodes, 2]``.
        """
        logits = self._logits(nodes, graph, x)
        if len(self.model_.classes) != 1:
            raise ValueError(
                f"intervals need a single target, but there are {len(self.model_.classes)}: fit a regressor for each"
            )
        middle = self.model_.answers(logits)
        width = interval_halfwidth(self.model_.calibration.scores, alpha)
        return np.stack([middle - width, middle + width], axis=1)

    # scikit-learn's mixin comes first and defines its own score.
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
            raise ValueError(f"{path} contains a classifier: load it with NodeClassifier.load")
