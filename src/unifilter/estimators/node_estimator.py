"""Base class of classifiers and regressors: settings of a method, fit, sweep, predictions, save and load."""

from __future__ import annotations

import dataclasses
import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from torch import Tensor
from typing_extensions import Self

from unifilter._internal.checks import as_node_mask, check_choice
from unifilter._internal.type_aliases import FeatureLike, Labels, NodeIndex
from unifilter.data import NodeDataset, TableEncoder, TaskName, check_labeled, choose_nodes, pack_features
from unifilter.estimators.findings import NothingLearnedWarning
from unifilter.estimators.fitting import Fitted, delete_checkpoints, fit, run_fingerprint
from unifilter.estimators.inputs import (
    answers_at,
    as_table,
    fit_arguments,
    graph_and_features,
    is_data,
    mask_of,
    node_column,
    node_weights,
    pick,
)
from unifilter.estimators.keyed_workspace import KeyedWorkspace
from unifilter.estimators.settings_signature import default_of
from unifilter.estimators.streamed_outputs import can_stream
from unifilter.estimators.sweeping import SweepRow, sweep
from unifilter.estimators.targets import Answers
from unifilter.estimators.trained_model import TrainedModel
from unifilter.methods import Method, Problem, Storage, Workspace, find_method
from unifilter.training import History, Task

_DTYPES = {"float32": torch.float32, "float64": torch.float64}


class NodeEstimator(BaseEstimator):  # type: ignore[misc]
    """Base class of :class:`unifilter.NodeClassifier` and :class:`unifilter.NodeRegressor`.

    A subclass converts ``y`` in :meth:`_answers`.
    """

    # Options that the estimator adds to the settings of its method, with defaults.
    _options: ClassVar[dict[str, Any]] = {
        "graph": None,
        "x": None,
        "validation_fraction": 0.2,
        "device": None,
        "dtype": "float32",
        "verbose": False,
    }
    # The task, which determines defaults of settings.
    _learns: ClassVar[TaskName] = "classification"

    def __init__(
        self,
        method: str | Method | type[Method] = "unifilter",
        *,
        graph: Any = None,
        x: FeatureLike | None = None,
        validation_fraction: float = 0.2,
        device: str | None = None,
        dtype: Literal["float32", "float64"] = "float32",
        verbose: bool = False,
        **settings: Any,
    ) -> None:
        self.method = method
        self.graph, self.x = graph, x
        self.validation_fraction = validation_fraction
        self.device, self.dtype, self.verbose = device, dtype, verbose
        self._set_settings({**self._defaults(), **settings})

    @property
    def _family(self) -> type[Method]:
        """The class of the method."""
        if isinstance(self.method, Method):
            return type(self.method)
        if isinstance(self.method, type) and issubclass(self.method, Method):
            return self.method
        return find_method(self.method)

    def _defaults(self) -> dict[str, Any]:
        if isinstance(self.method, Method):
            return self.method.settings()
        family = self._family
        return {field.name: default_of(field) for field in dataclasses.fields(family)} | family.task_defaults(
            self._learns
        )

    def _set_settings(self, settings: dict[str, Any]) -> None:
        known = self._defaults()
        for name, value in settings.items():
            if name not in known:
                raise ValueError(
                    f"{self._family.name} has no setting {name!r}: it has {', '.join(known)}; "
                    f"the estimator has {', '.join(self._options)}"
                )
            setattr(self, name, value)

    def _setting_names(self) -> list[str]:
        return [field.name for field in dataclasses.fields(self._family)]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The method, the estimator's own parameters, and every setting of the method."""
        own = {"method": self.method, **{name: getattr(self, name) for name in self._options}}
        return {**own, **{name: getattr(self, name) for name in self._setting_names()}}

    def set_params(self, **params: Any) -> Self:
        """Change parameters. A new method starts with its own defaults, and keeps settings changed before.

        If a name is invalid, nothing is changed.
        """
        before = {**vars(self)}
        try:
            if "method" in params:
                changed = {
                    name: getattr(self, name)
                    for name, default in self._defaults().items()
                    if getattr(self, name) is not default and getattr(self, name) != default
                }
                self.method = params.pop("method")
                self._set_settings({**self._defaults(), **changed})
            for name in [name for name in params if name in self._options]:
                setattr(self, name, params.pop(name))
            self._set_settings(params)
        except ValueError:
            self.__dict__ = before
            raise
        return self

    def build_method(self) -> Method:
        """The method with the settings of this estimator."""
        return self._family.with_settings({name: getattr(self, name) for name in self._setting_names()})

    def fit(
        self,
        graph: Any,
        x: FeatureLike | Labels | None = None,
        y: Labels | None = None,
        train: NodeIndex | None = None,
        val: NodeIndex | None = None,
        *,
        sample_weight: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        on_epoch: Callable[[History], object] | None = None,
        memory_limit: str | int | None = None,
        store: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train on the targets of the training nodes.

        Args:
            graph: A :class:`unifilter.Graph`, a networkx graph, a scipy sparse adjacency, an edge list
                ``[2, num_edges]``, or a PyG ``Data`` with ``x``, ``y`` and, optionally, ``train_mask`` and
                ``val_mask``.
            x: Features ``[num_nodes, channels]``, dense or sparse, or a pandas DataFrame with one row per node. Columns
                of a DataFrame are encoded by type (numbers, dates, categories) with statistics of the training nodes,
                and new data is matched by column name.
            y: The target of each node. For classification, classes of any type; -1, ``None`` and NaN mean unknown. For
                several labels per node, a matrix of 0 and 1, NaN if unknown. For a regressor, numbers, NaN if unknown.
            train: Training nodes, a mask or indices. Default: all nodes with a known target.
            val: Validation nodes for early stopping. Default: ``validation_fraction`` of the training nodes.
            sample_weight: Weight of each node in the loss, ``[num_nodes]``.
            checkpoint: File to save the state to, from which an interrupted fit resumes.
            on_epoch: Called with the :class:`unifilter.training.History` after every epoch, such as a
                :class:`unifilter.training.TensorBoardLog`. If it returns ``True``, training stops and the best weights
                are kept.
            memory_limit: Maximum memory of this process, such as ``"4GB"``. A factorization that exceeds it is stored
                on disk, which UniFilter and its variants support. Default: everything is in memory, and a factorization
                that does not fit raises an error.
            store: Folder that keeps the factorization for later. Default: it is deleted with the estimator.

        If the graph was passed to the constructor, call ``fit(nodes, y)`` with node indices and their targets;
        ``sample_weight`` then has one number for each of these nodes.
        """
        known_graph, x, y, nodes, train, val = fit_arguments(self.graph, self.x, graph, x, y, train, val)
        check_choice("dtype", self.dtype, tuple(_DTYPES))
        method = self.build_method()
        found = self._answers(y, known_graph.num_nodes)
        classes = None if "targets" in found.fields else found.names.tolist()
        train_nodes, val_nodes = choose_nodes(classes, found.strata, train, val, self.validation_fraction, method.seed)
        dataset = self._dataset(known_graph, x, found)
        weights = node_weights(sample_weight, nodes, known_graph.num_nodes)
        problem = Problem(
            self._workspace_for(dataset, Storage.of(memory_limit, store)),
            train_nodes,
            val_nodes,
            self._weights(weights, found, train_nodes),
        )
        saved = None if checkpoint is None else Path(checkpoint)
        fitted = fit(
            method,
            problem,
            label="fit",
            verbose=self.verbose,
            checkpoint=saved,
            fingerprint=run_fingerprint(method, problem),
            on_epoch=on_epoch,
        )
        # Nothing can fail from here on, so that the estimator never mixes the state of two fits.
        self._adopt(fitted, problem, found.names)
        if saved is not None:
            delete_checkpoints(method, saved)
        if self.model_.nothing_learned:
            warnings.warn(self.model_.nothing_learned, NothingLearnedWarning, stacklevel=2)
        return self

    @abstractmethod
    def _answers(self, y: Any, num_nodes: int) -> Answers:
        """Convert ``y`` to targets."""

    def _weights(self, weights: np.ndarray | None, answers: Answers, train: np.ndarray) -> np.ndarray | None:
        """Weight of each node in the loss."""
        return weights

    def _dataset(self, graph: Any, x: Any, answers: Answers) -> NodeDataset:
        table = as_table(x)
        matrix = x if table is None else TableEncoder.fit(table).encode(table).matrix
        fields = {"labels": torch.full((graph.num_nodes,), -1), **answers.fields}
        return NodeDataset("fit", graph, pack_features(matrix, _DTYPES[self.dtype]), table=table, **fields)

    def sweep(self, **settings: Iterable[Any]) -> list[SweepRow]:
        """Fit every combination of some settings on the data of the last :meth:`fit`.

        Other values of ``tau``, ``homophily`` or ``basis`` reuse the factorization, which is computed once for all
        values of ``hops``. The combination with the best validation score is kept: its settings and model become those
        of this estimator.

        Args:
            settings: Values to try, by name of the setting: ``sweep(tau=[0.2, 0.5], hops=[5, 10])``.
        """
        self._check_fitted()
        if self._nodes is None or self.data_ is None:
            raise ValueError("a loaded model has no training data to sweep on: call fit first")
        values = {name: list(some) for name, some in settings.items()}
        problem = Problem(self._workspace_for(self.data_, self._storage), *self._nodes, self._node_weights)
        found = sweep(self.build_method(), problem, values, self.verbose)
        self.set_params(**found.best.settings)
        self._adopt(found.fitted, problem, self.model_.classes)
        return found.rows

    def predict(
        self,
        nodes: NodeIndex | None = None,
        *,
        graph: Any = None,
        x: FeatureLike | None = None,
        memory_limit: str | int | None = None,
    ) -> np.ndarray:
        """Predict the most probable class of each node, its labels as ``bool [nodes, labels]``, or a number.

        Args:
            nodes: A mask or indices. Default: all nodes. A PyG ``Data`` is treated as ``graph``.
            graph: A graph other than that of :meth:`fit`, for example a larger one, in any form accepted by
                :meth:`fit`.
            x: Its features; not needed for a PyG ``Data``.
            memory_limit: Memory for another graph, as in :meth:`fit`. Default: that of :meth:`fit`, if there was one.
        """
        logits = self._logits(nodes, graph, x, memory_limit)
        return self.model_.answers(logits)

    def score(
        self, y: Any, nodes: NodeIndex | Labels | None = None, *, graph: Any = None, x: FeatureLike | None = None
    ) -> float:
        """The estimator's metric on some nodes.

        Args:
            y: The target of each node of the graph, as in :meth:`fit`. From a PyG ``Data``, graph, features, targets
                and ``test_mask``, if there is one, are used.
            nodes: A mask or indices of nodes with a known target. Default: all of them.
            graph: A graph other than that of :meth:`fit`.
            x: Its features.

        If the graph was passed to the constructor, call ``score(nodes, y)``, as in scikit-learn.
        """
        task, logits, chosen = self._asked(y, nodes, graph, x)
        return task.score(self.model_.method.metric, logits[chosen], chosen)

    def evaluate(
        self, y: Any, nodes: NodeIndex | Labels | None = None, *, graph: Any = None, x: FeatureLike | None = None
    ) -> Any:
        """A report on some nodes: all scores, the score of a constant prediction, and details by class or target.

        Args:
            y: As in :meth:`score`.
            nodes: As in :meth:`score`.
            graph: As in :meth:`score`.
            x: As in :meth:`score`.

        Returns:
            A :class:`unifilter.evaluation.ClassificationReport`, ``MultilabelReport`` or ``RegressionReport``.
        """
        from unifilter.estimators.reporting import report_of

        task, logits, chosen = self._asked(y, nodes, graph, x)
        return report_of(self.model_, task, logits, chosen)

    def _asked(self, y: Any, nodes: Any, graph: Any, x: Any) -> tuple[Task, Tensor, Tensor]:
        """The task with the targets in ``y``, the outputs for all nodes, and the node indices."""
        self._check_fitted()
        if is_data(y):
            graph, nodes = y, mask_of(y, "test", nodes)
            y = y.y
        logits = self._logits(None, graph, x)
        if self.graph is not None and graph is None:
            nodes, y = node_column(y), answers_at(node_column(y), nodes, len(logits))
        task = self._task(y, len(logits))
        known = task.known.numpy()
        chosen = known if nodes is None else as_node_mask(nodes, len(logits), "nodes")
        check_labeled(np.where(known, 0, -1), chosen, "nodes")
        if not chosen.any():
            raise ValueError("there is nothing to score: pass nodes with a known target, and their targets in y")
        return task, logits, torch.from_numpy(np.flatnonzero(chosen))

    @abstractmethod
    def _task(self, y: Any, num_nodes: int) -> Task:
        """The task of the trained model with the targets in ``y``."""

    def filter_response(self, lam: Any) -> np.ndarray:
        """The learned filter at Laplacian eigenvalues in [0, 2], ``[*lam.shape, channels]``.

        Args:
            lam: Eigenvalues, such as ``np.linspace(0, 2, 100)``.
        """
        self._check_fitted()
        response = self.model_.response(lam)
        if response is None:
            raise ValueError(
                f"{self.model_.method.name} learns no filter that is a function of the eigenvalues: use a polynomial "
                "method, such as unifilter, bernnet or gprgnn"
            )
        values: np.ndarray = response.numpy()
        return values

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file. It contains parameters and settings, but nothing of the training graph."""
        self._check_fitted()
        self.model_.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a model from a file written by :meth:`save`. It predicts on any graph with the same features."""
        model = TrainedModel.load(path)
        cls._check_task(model, path)
        clf = cls._for(model, path)
        clf._take(model)
        return clf

    @classmethod
    def _check_task(cls, model: TrainedModel, path: str | os.PathLike[str]) -> None:
        """Reject a model of another task."""

    @classmethod
    def _for(cls, model: TrainedModel, path: str | os.PathLike[str]) -> Self:
        """An estimator with the settings of a model."""
        return cls(model.method.name, dtype=model.precision, **model.requested.settings())

    def _take(self, model: TrainedModel) -> None:
        self.model_ = model
        self.weights_ = None if model.weights is None else model.weights.numpy().copy()
        self.tau_, self.homophily_, self.chosen_ = model.tau, model.homophily, model.chosen
        self.leaderboard_ = model.leaderboard
        columns = model.preparation.columns_in
        self.n_features_in_ = len(columns) if columns is not None else model.shape.in_channels
        if columns is not None:
            self.feature_names_in_ = np.array(columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.data_: NodeDataset | None = None
        self._logits_: Tensor | None = None
        self._nodes: tuple[np.ndarray, np.ndarray] | None = None
        self._node_weights: np.ndarray | None = None
        self._storage: Storage | None = None

    def _adopt(self, fitted: Fitted, problem: Problem, names: np.ndarray) -> None:
        self._take(dataclasses.replace(fitted.model, classes=names))
        self.data_, self.history_ = problem.dataset, fitted.history
        self._logits_, self._nodes, self._node_weights = fitted.logits, (problem.train, problem.val), problem.weights
        self._storage = problem.workspace.storage

    def _workspace_for(self, dataset: NodeDataset, storage: Storage | None) -> Workspace:
        """The workspace of the last fit with its factorizations, if graph and features are the same."""
        # Clones of an estimator with a graph share the graph, and therefore its cache.
        own = self.graph is None
        last = getattr(self, "_workspace", None) if own else dataset.graph.cache.get("workspace")
        latest = KeyedWorkspace.of(dataset, self.device or "cpu", storage, last)
        if own:
            self._workspace = latest
        else:
            dataset.graph.cache["workspace"] = latest
        return latest.workspace

    def _logits(self, nodes: Any, graph: Any, x: Any, memory_limit: str | int | None = None) -> Tensor:
        self._check_fitted()
        if is_data(nodes):
            nodes, graph = None, nodes
        if graph is not None:
            graph, x = graph_and_features(graph, x)
        if (graph is None) != (x is None):
            raise ValueError("graph and x belong together: pass both")
        if graph is None and self._logits_ is None:
            raise ValueError("a loaded model has no graph: pass one, predict(graph=graph, x=features)")
        if memory_limit is None and self._storage is not None and can_stream(self.model_):
            memory_limit = self._storage.memory_limit
        logits = self._logits_ if graph is None else self.model_.logits(graph, x, memory_limit=memory_limit)
        if logits is None:
            raise NotFittedError("this estimator is not fitted yet: call fit first")
        if self.graph is not None and nodes is not None:
            nodes = node_column(nodes)
        return logits[pick(nodes, len(logits))]

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first, or load a model")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_clone__(self) -> Self:
        # scikit-learn would copy the graph and its features; clones share them and everything cached on them.
        return type(self)(**self.get_params(deep=False))

    def __getstate__(self) -> dict[str, Any]:
        # The workspace contains factorizations, which are large and can be computed again.
        state: dict[str, Any] = {**super().__getstate__()}
        state.pop("_workspace", None)
        if "_storage" in state:
            state["_storage"] = None
        return state
