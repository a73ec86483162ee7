"""Node classification and multilabel classification with any method, following scikit-learn's conventions."""

from __future__ import annotations

import math
import os
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from sklearn.base import ClassifierMixin

from unifilter._internal.checks import check_choice
from unifilter._internal.type_aliases import FeatureLike, NodeIndex
from unifilter.data import Classes, balanced_weights
from unifilter.estimators.node_estimator import NodeEstimator
from unifilter.estimators.targets import Answers, labels_per_node
from unifilter.estimators.trained_model import TrainedModel
from unifilter.evaluation import prediction_sets
from unifilter.methods import Method
from unifilter.training import Classification, MultiLabel, Task


class NodeClassifier(ClassifierMixin, NodeEstimator):  # type: ignore[misc]
    """Node classification with any method.

    There are two ways to use it. ``fit(graph, x, y, train=..., val=...)`` takes the graph with the data. If ``graph``
    and ``x`` are passed to the constructor instead, the estimator follows scikit-learn's interface exactly:
    ``fit(nodes, y)``, ``predict(nodes)`` and ``score(nodes, y)`` take node indices, so that ``GridSearchCV`` and
    ``cross_val_score`` work.

    If ``y`` is a matrix of 0 and 1, a node can have several labels, and ``predict`` returns a boolean matrix.

    Refitting on the same graph and features reuses their factorization.

    Args:
        method: The name of a method (``unifilter.methods.METHODS`` lists all), or a :class:`unifilter.methods.Method`.
        class_weight: ``"balanced"`` gives every class the same weight in the loss, however many nodes it has; a dict
            gives the weight of each class.
        graph: A graph, for use with scikit-learn; pass a :class:`unifilter.Graph`, so that clones share it.
        x: Its features.
        validation_fraction: Share of the training nodes to hold out if ``fit`` gets no validation nodes.
        device: Device to compute on. Default: the CPU.
        dtype: Precision that features are converted to, ``"float32"`` or ``"float64"``.
        verbose: Whether to show progress.
        settings: Hyperparameters of the method, by name.

    Attributes:
        model_: The :class:`unifilter.TrainedModel`.
        classes_: The classes, in the order of the columns of :meth:`predict_proba`.
        weights_: Learned weights, one per hop or per hop and channel; ``None`` for a method without such weights.
        tau_, homophily_: The tau and homophily that were used or learned; ``None`` if the method has none.
        chosen_: The value of every setting that was left open.
        history_: Losses and scores of each epoch, for the model that was kept.
        data_: The training data as a :class:`unifilter.data.NodeDataset`.
        n_features_in_: Number of features.
        feature_names_in_: Names of the columns, if ``x`` was a DataFrame.

    Example:
        >>> from unifilter import NodeClassifier
        >>> from unifilter.datasets import load_dataset
        >>> karate = load_dataset("karate")
        >>> clf = NodeClassifier("gprgnn", epochs=100)
        >>> clf.fit(karate.graph, karate.features, karate.labels, train=range(0, 34, 2)).predict([1, 33])
        array([0, 1])
    """

    _options: ClassVar[dict[str, Any]] = {"class_weight": None, **NodeEstimator._options}

    def __init__(
        self,
        method: str | Method | type[Method] = "unifilter",
        *,
        class_weight: Literal["balanced"] | dict[Any, float] | None = None,
        graph: Any = None,
        x: FeatureLike | None = None,
        validation_fraction: float = 0.2,
        device: str | None = None,
        dtype: Literal["float32", "float64"] = "float32",
        verbose: bool = False,
        **settings: Any,
    ) -> None:
        self.class_weight = class_weight
        super().__init__(
            method,
            graph=graph,
            x=x,
            validation_fraction=validation_fraction,
            device=device,
            dtype=dtype,
            verbose=verbose,
            **settings,
        )

    def predict_proba(
        self,
        nodes: NodeIndex | None = None,
        *,
        graph: Any = None,
        x: FeatureLike | None = None,
        memory_limit: str | int | None = None,
    ) -> np.ndarray:
        """Probability of each class, ``[nodes, classes]``, calibrated on the validation nodes.

        Args:
            nodes: A mask or indices. Default: all nodes. A PyG ``Data`` is treated as ``graph``.
            graph: A graph other than that of :meth:`fit`, for example a larger one, in any form accepted by
                :meth:`fit`.
            x: Its features; not needed for a PyG ``Data``.
            memory_limit: As in :meth:`predict`.
        """
        logits = self._logits(nodes, graph, x, memory_limit)
        return self.model_.probabilities(logits)

    def predict_set(
        self, alpha: float = 0.1, nodes: NodeIndex | None = None, *, graph: Any = None, x: FeatureLike | None = None
    ) -> list[tuple[Any, ...]]:
        """For each node, a set of classes that contains the true one with probability ``1 - alpha``, on average.

        These are split-conformal sets from the validation nodes. The guarantee holds for nodes exchangeable with those.
        Sets are larger where the model is less certain, and never empty.

        Args:
            alpha: Allowed error rate, in (0, 1).
            nodes: A mask or indices. Default: all nodes.
            graph: A graph other than that of :meth:`fit`.
            x: Its features.

        Returns:
            A tuple of classes for each node, the most probable first.

        Example:
            >>> from unifilter import NodeClassifier
            >>> from unifilter.datasets import load_dataset
            >>> digits = load_dataset("digits")
            >>> clf = NodeClassifier("sgc", epochs=20).fit(digits.graph, digits.features, digits.labels)
            >>> all(len(found) >= 1 for found in clf.predict_set(alpha=0.05))
            True
        """
        logits = self._logits(nodes, graph, x)
        if self.model_.task != "classification":
            raise ValueError(
                "predict_set needs one class per node, but this model has several labels: use predict_proba"
            )
        scores = self.model_.calibration.scores
        if len(scores) == 0:
            raise ValueError(
                "the model was refitted on its validation nodes, so its sets cannot be calibrated: "
                "fit it with refit=False"
            )
        probabilities = self.model_.probabilities(logits)
        order = np.argsort(-probabilities, axis=1, kind="stable")
        inside = prediction_sets(probabilities, scores, alpha)
        classes = self.model_.classes.tolist()
        return [tuple(classes[one] for one in ranked if held[one]) for ranked, held in zip(order, inside, strict=True)]

    # scikit-learn's mixin comes first and defines its own score.
    score = NodeEstimator.score

    def _answers(self, y: Any, num_nodes: int) -> Answers:
        found = labels_per_node(y, num_nodes)
        if found is not None:
            matrix, names = found
            known = ~np.isnan(matrix).all(axis=1)
            fields = {"task": "multilabel", "targets": torch.from_numpy(matrix), "target_names": names}
            return Answers(fields, np.array(names), np.where(known, 0, -1))
        classes, labels = Classes.encode(y, num_nodes)
        return Answers({"labels": torch.from_numpy(labels), "class_names": classes.names}, classes.values, labels)

    def _weights(self, weights: np.ndarray | None, answers: Answers, train: np.ndarray) -> np.ndarray | None:
        if self.class_weight is None:
            return weights
        if "targets" in answers.fields:
            raise ValueError("class_weight needs one class per node: pass sample_weight if nodes have several labels")
        labels, classes = answers.strata, answers.names.tolist()
        if isinstance(self.class_weight, dict):
            per_class = _given_weights(self.class_weight, classes)
        else:
            check_choice("class_weight", self.class_weight, ("balanced",))
            per_class = balanced_weights(labels[train], len(classes))
        of_nodes = np.where(labels >= 0, per_class[np.maximum(labels, 0)], 0.0)
        return of_nodes if weights is None else weights * of_nodes

    def _task(self, y: Any, num_nodes: int) -> Task:
        if self.model_.task == "multilabel":
            found, wanted = labels_per_node(y, num_nodes), len(self.model_.classes)
            if found is None or found[0].shape[1] != wanted:
                raise ValueError(f"y must have one column per label, shape [{num_nodes}, {wanted}]: pass 0, 1 or NaN")
            return MultiLabel(torch.from_numpy(found[0]))
        labels = Classes(self.model_.classes).indices_of(y, num_nodes)
        return Classification(torch.from_numpy(labels), len(self.model_.classes))

    def _take(self, model: TrainedModel) -> None:
        super()._take(model)
        self.classes_ = model.classes

    @classmethod
    def _check_task(cls, model: TrainedModel, path: str | os.PathLike[str]) -> None:
        if model.task == "regression":
            raise ValueError(f"{path} contains a regressor: load it with NodeRegressor.load")


def _given_weights(given: dict[Any, Any], classes: list[Any]) -> np.ndarray:
    for name, weight in given.items():
        if name not in classes:
            raise ValueError(
                f"class_weight contains {name!r}, which is not a class: the classes are {', '.join(map(repr, classes))}"
            )
        if not (isinstance(weight, Real) and 0 <= float(weight) < math.inf):
            raise ValueError(f"class_weight gives {name!r} the weight {weight!r}: pass a finite, non-negative number")
    return np.array([float(given.get(name, 1.0)) for name in classes])
