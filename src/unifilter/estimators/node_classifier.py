"""Any method with the conventions of scikit-learn: fit, predict, score, save, load."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from torch import Tensor
from typing_extensions import Self

from unifilter._internal.checks import as_node_mask, check_choice
from unifilter.data import Classes, NodeDataset, check_labelled, choose_nodes, features_digest, pack_features
from unifilter.estimators.fitting import Fitted, delete_checkpoints, fit
from unifilter.estimators.inputs import graph_and_features, is_data, labels_at, mask_of, node_column, pick
from unifilter.estimators.settings_signature import default_of
from unifilter.estimators.trained_model import TrainedModel
from unifilter.methods import Method, Problem, Workspace, find_method
from unifilter.training import score

_DTYPES = {"float32": torch.float32, "float64": torch.float64}


@dataclass(frozen=True)
class SweepRow:
    """One point of a sweep.

    Attributes:
        settings: What was set.
        val_score: What it reached on the validation nodes.
        epochs: How many epochs were trained.
    """

    settings: dict[str, Any]
    val_score: float
    epochs: int


class NodeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Node classification with any method.

    There are two ways to use it. ``fit(graph, x, y, train=..., val=...)`` takes the graph with the data. Where
    ``graph`` and ``x`` are given to the constructor instead, the estimator follows scikit-learn to the letter:
    ``fit(nodes, y)``, ``predict(nodes)`` and ``score(nodes, y)`` take node indices, so that ``GridSearchCV`` and
    ``cross_val_score`` work.

    A refit on the same graph and features reuses their factorization.

    Args:
        method: The name of a method (``unifilter.methods.METHODS`` has them all), or a
            :class:`unifilter.methods.Method` of your own.
        graph: A graph to work on, for use with scikit-learn; pass a :class:`unifilter.Graph`, so that clones share it.
        x: Its features.
        validation_fraction: Share of the training nodes held out where ``fit`` is given no validation nodes.
        device: Where to compute; by default the CPU.
        dtype: ``"float32"``, which features of any kind are converted to, or ``"float64"``.
        verbose: Show progress.
        settings: Hyper-parameters of the method, by name.

    Attributes:
        model_: The :class:`unifilter.TrainedModel`.
        classes_: The classes, in the order of the columns of :meth:`predict_proba`.
        weights_: Learned weights, one per hop or per hop and channel; ``None`` for a method that has none.
        tau_, homophily_: The mixture and the homophily that were used, or learned; ``None`` where the method has none.
        chosen_: The value of every setting that was left open.
        history_: Losses and scores, epoch by epoch, of what was kept.
        data_: The training data as a :class:`unifilter.data.NodeDataset`.
        n_features_in_: Number of features.

    Example:
        >>> from unifilter import NodeClassifier
        >>> from unifilter.datasets import load_dataset
        >>> karate = load_dataset("karate")
        >>> clf = NodeClassifier("gprgnn", epochs=100)
        >>> clf.fit(karate.graph, karate.features, karate.labels, train=range(0, 34, 2)).predict([1, 33])
        array([0, 1])
    """

    # What an estimator adds to the settings of its method, with the defaults.
    _options: ClassVar[dict[str, Any]] = {
        "graph": None,
        "x": None,
        "validation_fraction": 0.2,
        "device": None,
        "dtype": "float32",
        "verbose": False,
    }

    def __init__(
        self,
        method: str | Method | type[Method] = "unifilter",
        *,
        graph: Any = None,
        x: Any = None,
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
        return {field.name: default_of(field) for field in dataclasses.fields(self._family)}

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
        """Change parameters. Another method starts from its own defaults, and keeps what was changed before.

        Where a name is refused, nothing is changed.
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
        x: Any = None,
        y: Any = None,
        train: Any = None,
        val: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from the labels of the training nodes.

        Args:
            graph: A :class:`unifilter.Graph`, a networkx graph, a scipy sparse adjacency, an edge list
                ``[2, num_edges]``, or a PyG ``Data`` that has everything: ``x``, ``y``, ``train_mask``, ``val_mask``.
            x: Features ``[num_nodes, channels]``, dense or sparse.
            y: A class for each node, of any kind; -1, ``None`` and NaN mean unknown.
            train: Nodes to learn from, a mask or indices; by default all that have a class.
            val: Nodes for early stopping; by default ``validation_fraction`` of each class of the training nodes.
            checkpoint: A file that the state is saved to, and that an interrupted fit goes on from.

        Where the graph was given to the constructor, call ``fit(nodes, y)`` with node indices and their classes.
        """
        if self.graph is not None:
            nodes, labels = node_column(graph), x if y is None else y
            if labels is None or (x is not None and y is not None):
                raise ValueError(
                    "the graph was given to the constructor, so fit takes nodes and their classes: fit(nodes, y)"
                )
            graph, x = graph_and_features(self.graph, self.x)
            y, train = labels_at(nodes, labels, graph.num_nodes), nodes
        elif is_data(graph):
            y = getattr(graph, "y", None) if y is None else y
            train, val = mask_of(graph, "train", train), mask_of(graph, "val", val)
        known_graph, x = graph_and_features(graph, x)
        if x is None or y is None:
            raise ValueError("fit needs the features x and the classes y: fit(graph, x, y, train=..., val=...)")
        check_choice("dtype", self.dtype, tuple(_DTYPES))
        method = self.build_method()
        classes, labels = Classes.encode(y, known_graph.num_nodes)
        train_nodes, val_nodes = choose_nodes(classes, labels, train, val, self.validation_fraction, method.seed)
        features = pack_features(x, _DTYPES[self.dtype])
        dataset = NodeDataset("fit", known_graph, features, torch.from_numpy(labels), classes.names)
        problem = Problem(self._workspace_for(dataset), train_nodes, val_nodes)
        saved = None if checkpoint is None else Path(checkpoint)
        fitted = fit(
            method,
            problem,
            label="fit",
            verbose=self.verbose,
            checkpoint=saved,
            fingerprint=_fingerprint(method, problem),
        )
        # From here on nothing can fail: an estimator never is half of one fit and half of another.
        self._adopt(fitted, problem, classes.values)
        if saved is not None:
            delete_checkpoints(method, saved)
        return self

    def sweep(self, **settings: Iterable[Any]) -> list[SweepRow]:
        """Fit every combination of some settings on the data of the last :meth:`fit`.

        The graph is not touched again for other values of ``tau``, ``homophily`` or ``basis``, and factored once for
        all values of ``hops``. The combination with the best validation score is kept: this estimator becomes it.

        Args:
            settings: Values to try, by the name of the setting: ``sweep(tau=[0.2, 0.5], hops=[5, 10])``.
        """
        self._check_fitted()
        if self._nodes is None or self.data_ is None:
            raise ValueError("a loaded model has no training data to sweep on: call fit first")
        values = {name: list(some) for name, some in settings.items()}
        problem = Problem(self._workspace_for(self.data_), *self._nodes)
        problem.workspace.expect_hops(0, *values.get("hops", ()))
        rows: list[SweepRow] = []
        best: tuple[Fitted, SweepRow] | None = None
        for combination in itertools.product(*values.values()):
            given = dict(zip(values, combination, strict=True))
            method = self._family.with_settings({**self.build_method().settings(), **given})
            label = " ".join(f"{name}={value}" for name, value in given.items())
            fitted = fit(method, problem, verbose=self.verbose, label=label)
            row = SweepRow(given, fitted.history.best_score, fitted.history.epochs)
            rows.append(row)
            # A fit that diverged at once has no score, and any other is better.
            if best is None or row.val_score > best[1].val_score or math.isnan(best[1].val_score):
                best = fitted, row
        if best is None or not values:
            raise ValueError("there is nothing to try: pass at least one value of some setting, sweep(tau=[0.2, 0.5])")
        self.set_params(**best[1].settings)
        self._adopt(best[0], problem, self.classes_)
        return rows

    def predict_proba(self, nodes: Any = None, *, graph: Any = None, x: Any = None) -> np.ndarray:
        """Probability of each class, ``[nodes, classes]``.

        Args:
            nodes: A mask or indices; by default all nodes. A PyG ``Data`` is taken as the graph.
            graph: Another graph, for instance one that has grown, in any form that :meth:`fit` takes; what was learned
                is applied to it.
            x: Its features; a PyG ``Data`` brings its own.
        """
        probabilities: np.ndarray = torch.softmax(self._logits(nodes, graph, x), dim=1).numpy()
        return probabilities

    def predict(self, nodes: Any = None, *, graph: Any = None, x: Any = None) -> np.ndarray:
        """The most probable class of each node; see :meth:`predict_proba`."""
        indices = self._logits(nodes, graph, x).argmax(dim=1).numpy()
        predicted: np.ndarray = self.classes_[indices]
        return predicted

    def score(self, y: Any, nodes: Any = None, *, graph: Any = None, x: Any = None) -> float:
        """The estimator's metric on some nodes, by default on all that have a class in ``y``.

        Args:
            y: A class for each node of the graph; -1, ``None`` and NaN mean unknown. A PyG ``Data`` brings its graph,
                features and classes, and its ``test_mask`` where it has one.
            nodes: A mask or indices; all of them must have a class.
            graph: Another graph than the one of :meth:`fit`.
            x: Its features.

        Where the graph was given to the constructor, call ``score(nodes, y)``, as scikit-learn does.
        """
        self._check_fitted()
        if is_data(y):
            graph, nodes = y, mask_of(y, "test", nodes)
            y = y.y
        logits = self._logits(None, graph, x)
        if self.graph is not None and graph is None:
            nodes, y = node_column(y), labels_at(node_column(y), nodes, len(logits))
        labels = Classes(self.classes_).indices_of(y, len(logits))
        chosen = labels >= 0 if nodes is None else as_node_mask(nodes, len(logits), "nodes")
        check_labelled(labels, chosen, "nodes")
        if not chosen.any():
            raise ValueError("there is nothing to score: name some nodes, and pass their classes in y")
        mask = torch.from_numpy(chosen)
        return score(self.model_.method.metric, logits[mask], torch.from_numpy(labels)[mask])

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
        """Write the model to a file: numbers and settings only, nothing of the training graph."""
        self._check_fitted()
        self.model_.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """A model from a file that :meth:`save` wrote; it predicts on any graph with the same features."""
        model = TrainedModel.load(path)
        clf = cls._for(model, path)
        clf._take(model)
        return clf

    @classmethod
    def _for(cls, model: TrainedModel, path: str | os.PathLike[str]) -> Self:
        """An estimator with the settings of a model."""
        return cls(model.method.name, dtype=model.precision, **model.requested.settings())

    def _take(self, model: TrainedModel) -> None:
        self.model_, self.classes_ = model, model.classes
        self.weights_ = None if model.weights is None else model.weights.numpy().copy()
        self.tau_, self.homophily_, self.chosen_ = model.tau, model.homophily, model.chosen
        self.n_features_in_ = model.shape.in_channels
        self.data_: NodeDataset | None = None
        self._logits_: Tensor | None = None
        self._nodes: tuple[np.ndarray, np.ndarray] | None = None

    def _adopt(self, fitted: Fitted, problem: Problem, classes: np.ndarray) -> None:
        self._take(dataclasses.replace(fitted.model, classes=classes))
        self.data_, self.history_ = problem.dataset, fitted.history
        self._logits_, self._nodes = fitted.logits, (problem.train, problem.val)

    def _workspace_for(self, dataset: NodeDataset) -> Workspace:
        """The workspace of the last fit where graph and features are the same, with its factorizations."""
        device = self.device or "cpu"
        key = (dataset.graph.checksum, features_digest(dataset.features), str(dataset.features.dtype), device)
        # Clones of an estimator that was given its graph share the graph, and so what is kept there.
        known_key, known = (
            getattr(self, "_workspace", (None, None))
            if self.graph is None
            else dataset.graph.cache.get("workspace", (None, None))
        )
        workspace = known.with_labels(dataset) if known is not None and known_key == key else Workspace(dataset, device)
        if self.graph is None:
            self._workspace = key, workspace
        else:
            dataset.graph.cache["workspace"] = key, workspace
        return workspace

    def _logits(self, nodes: Any, graph: Any, x: Any) -> Tensor:
        self._check_fitted()
        if is_data(nodes):
            nodes, graph = None, nodes
        if graph is not None:
            graph, x = graph_and_features(graph, x)
        if (graph is None) != (x is None):
            raise ValueError("another graph comes with its features: pass both graph and x")
        if graph is None and self._logits_ is None:
            raise ValueError("a loaded model has no graph of its own: pass one, predict(graph=graph, x=features)")
        logits = self._logits_ if graph is None else self.model_.logits(graph, x)
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
        # scikit-learn would copy the graph and its features; clones share them, and so what was computed from them.
        return type(self)(**self.get_params(deep=False))

    def __getstate__(self) -> dict[str, Any]:
        # The workspace holds factorizations, which are large and computed again when they are needed.
        state: dict[str, Any] = {**super().__getstate__()}
        state.pop("_workspace", None)
        return state


def _fingerprint(method: Method, problem: Problem) -> str:
    """What a checkpoint must be of: the settings, the data and the nodes."""
    digest = hashlib.sha256(f"{method.settings()} {problem.dataset.checksum}\n".encode())
    for nodes in (problem.train, problem.val):
        digest.update(f"{nodes.tolist()}\n".encode())
    return digest.hexdigest()
