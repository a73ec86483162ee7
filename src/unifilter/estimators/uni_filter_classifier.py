"""UniFilter with the habits of scikit-learn: fit, predict, score, save, load."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from torch import Tensor

from unifilter._internal.checks import as_node_mask
from unifilter.bases import Basis
from unifilter.data import (
    Classes,
    FeatureScaling,
    NodeDataset,
    check_labelled,
    choose_nodes,
    features_digest,
    pack_features,
)
from unifilter.estimators.model_file import StoredModel
from unifilter.graph import Graph
from unifilter.methods import Fitted, Problem, Workspace, delete_checkpoints, fit
from unifilter.methods.uni_filter import UniFilterMethod
from unifilter.training import score
from unifilter.training.metrics import Metric
from unifilter.training.stopping import Monitor

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True)
class SweepRow:
    """One point of a sweep: what was set, and what it reached on the validation nodes."""

    tau: float | str | None
    homophily: float | None
    val_score: float
    epochs: int


class UniFilterClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Node classification with UniFilter.

    A refit with another tau, homophily or basis on the same graph and features reuses their factorisation.

    How much a perceptron should be held back differs from graph to graph. Where ``batch_norm``, ``dropout``,
    ``basis_dropout``, ``lr`` and ``weight_decay`` are ``None``, five kinds of training are tried one after the other,
    four without batch normalisation and one with, and the best on the validation nodes is kept: see ``chosen_``.
    What is given is used by all of them; give all five to train once.

    Args:
        hops: Number of hops K.
        tau: Share of the homophily basis in [0, 1]; ``None`` takes the homophily, and ``"learn"`` starts there.
        homophily: The graph's homophily; ``None`` estimates it from the training labels.
        theta: ``"learn"`` learns the angle too, starting at the one that belongs to the homophily.
        basis: ``"uni"``, the name of another basis, or a :class:`unifilter.bases.Basis`.
        formulation: ``"paper"`` or ``"released"``.
        weights: ``"hop"`` learns a weight per hop, ``"channel"`` one per hop and channel.
        features: ``"raw"``, or rows divided by the sum of their absolute values (``"row"``) or length (``"l2"``).
        self_loops: ``"remove"`` or ``"add"``.
        hidden_channels, num_layers: The perceptron.
        dropout, batch_norm, lr, weight_decay: Of the perceptron; see above for ``None``.
        basis_dropout: Dropout on the basis elements; see above for ``None``.
        filter_lr, filter_weight_decay: Of the filter's weights (and of tau and theta where they are learned).
        epochs, patience: At most so many, and how long to wait for an improvement on the validation nodes.
        monitor: Whether to wait for a better validation ``"score"`` or ``"loss"``.
        metric: ``"accuracy"``, ``"macro_f1"`` or ``"roc_auc"``.
        optimizer: ``"adam"`` or ``"adamw"``.
        batch_size: Rows per step; ``None`` takes all at once.
        validation_fraction: Share of the training nodes held out where ``fit`` is given no validation nodes.
        seed: Of the initial weights, masks and batches: the same seed gives the same model.
        device: Where to compute; by default the CPU.
        verbose: Show progress.

    Attributes:
        classes_: The classes, in the order of the columns of :meth:`predict_proba`.
        weights_: Learned weight of each hop, or of each hop and channel.
        tau_, homophily_: The mixture and the homophily that were used, or learned; ``None`` where the basis has none.
        chosen_: The value of every setting that was left open.
        history_: Losses and scores, epoch by epoch, of what was kept.
        n_features_in_: Number of features.

    Example:
        >>> from unifilter import UniFilterClassifier
        >>> from unifilter.datasets import load_dataset
        >>> karate = load_dataset("karate")
        >>> clf = UniFilterClassifier(hops=4, epochs=50, monitor="loss")  # steadier where few nodes validate
        >>> clf.fit(karate.graph, karate.features, karate.labels, train=range(0, 34, 2)).predict([1, 33])
        array([0, 1])
    """

    def __init__(
        self,
        hops: int = 10,
        tau: float | Literal["learn"] | None = None,
        homophily: float | None = None,
        theta: Literal["learn"] | None = None,
        basis: str | Basis | type[Basis] = "uni",
        formulation: str = "paper",
        weights: Literal["hop", "channel"] = "hop",
        features: FeatureScaling = "row",
        self_loops: Literal["remove", "add"] = "remove",
        hidden_channels: int = 128,
        num_layers: int = 3,
        dropout: float | None = None,
        basis_dropout: float | None = None,
        batch_norm: bool | None = None,
        lr: float | None = None,
        weight_decay: float | None = None,
        filter_lr: float = 0.01,
        filter_weight_decay: float = 5e-4,
        epochs: int = 1000,
        patience: int = 200,
        monitor: Monitor = "score",
        metric: Metric = "accuracy",
        optimizer: Literal["adam", "adamw"] = "adam",
        batch_size: int | None = None,
        validation_fraction: float = 0.2,
        seed: int = 0,
        device: str | None = None,
        verbose: bool = False,
    ) -> None:
        self.hops = hops
        self.tau = tau
        self.homophily = homophily
        self.theta = theta
        self.basis = basis
        self.formulation = formulation
        self.weights = weights
        self.features = features
        self.self_loops = self_loops
        self.hidden_channels = hidden_channels
        self.num_layers = num_layers
        self.dropout = dropout
        self.basis_dropout = basis_dropout
        self.batch_norm = batch_norm
        self.lr = lr
        self.weight_decay = weight_decay
        self.filter_lr = filter_lr
        self.filter_weight_decay = filter_weight_decay
        self.epochs = epochs
        self.patience = patience
        self.monitor = monitor
        self.metric = metric
        self.optimizer = optimizer
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.seed = seed
        self.device = device
        self.verbose = verbose

    def fit(
        self,
        graph: Graph | Data,
        x: Any = None,
        y: Any = None,
        train: Any = None,
        val: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> UniFilterClassifier:
        """Learn from the labels of the training nodes.

        Args:
            graph: The graph, or a PyG ``Data`` that has everything: ``x``, ``y``, ``train_mask``, ``val_mask``.
            x: Features ``[num_nodes, channels]``, dense or sparse.
            y: A class for each node, of any kind; -1, ``None`` and NaN mean unknown.
            train: Nodes to learn from, a mask or indices; by default all that have a class.
            val: Nodes to stop by; by default ``validation_fraction`` of each class of the training nodes.
            checkpoint: A file that the state is saved to, and that an interrupted fit goes on from.
        """
        if not isinstance(graph, Graph):
            y = getattr(graph, "y", None) if y is None else y
            train, val = _mask_of(graph, "train", train), _mask_of(graph, "val", val)
            graph, x = _graph_and_features(graph, x)
        if x is None or y is None:
            raise ValueError("fit needs the features x and the classes y: fit(graph, x, y, train=..., val=...)")
        classes, labels = Classes.encode(y, graph.num_nodes)
        train_nodes, val_nodes = choose_nodes(classes, labels, train, val, self.validation_fraction, self.seed)
        dataset = NodeDataset("fit", graph, pack_features(x), torch.from_numpy(labels), classes.names)
        problem = Problem(self._workspace_for(dataset), train_nodes, val_nodes)
        method = self._method()
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

    def sweep(
        self,
        tau: Iterable[float | Literal["learn"] | None] | None = None,
        homophily: Iterable[float | None] | None = None,
    ) -> list[SweepRow]:
        """Fit every combination on the data of the last :meth:`fit`, without touching the graph again.

        The combination with the best validation score is kept: this estimator becomes it.

        Args:
            tau: Values to try, ``None`` for the homophily; by default the estimator's own.
            homophily: Values to try, ``None`` for the estimate; by default the estimator's own.
        """
        self._check_fitted()
        problem = self._problem
        if problem is None:
            raise ValueError("a loaded model has no training data to sweep on: call fit first")
        rows: list[SweepRow] = []
        best: tuple[Fitted, SweepRow] | None = None
        for one_tau, one_homophily in itertools.product(
            [self.tau] if tau is None else tau, [self.homophily] if homophily is None else homophily
        ):
            method = dataclasses.replace(self._method(), tau=one_tau, homophily=one_homophily)
            fitted = fit(method, problem, verbose=self.verbose, label=f"tau={one_tau} homophily={one_homophily}")
            row = SweepRow(one_tau, one_homophily, fitted.history.best_score, fitted.history.epochs)
            rows.append(row)
            # A fit that diverged at once has no score, and any other is better.
            if best is None or row.val_score > best[1].val_score or math.isnan(best[1].val_score):
                best = fitted, row
        if best is None:
            raise ValueError("there is nothing to try: pass at least one tau and one homophily")
        self.set_params(tau=best[1].tau, homophily=best[1].homophily)
        self._adopt(best[0], problem, self.classes_)
        return rows

    def predict_proba(self, nodes: Any = None, *, graph: Graph | Data | None = None, x: Any = None) -> np.ndarray:
        """Probability of each class, ``[nodes, classes]``.

        Args:
            nodes: A mask or indices; by default all nodes.
            graph: Another graph, for instance one that has grown; the learned polynomial is applied to it.
            x: Its features; a PyG ``Data`` brings its own.
        """
        probabilities: np.ndarray = torch.softmax(self._logits(nodes, graph, x), dim=1).cpu().numpy()
        return probabilities

    def predict(self, nodes: Any = None, *, graph: Graph | Data | None = None, x: Any = None) -> np.ndarray:
        """The most probable class of each node; see :meth:`predict_proba`."""
        chosen = self._logits(nodes, graph, x).argmax(dim=1).cpu().numpy()
        predicted: np.ndarray = self.classes_[chosen]
        return predicted

    def score(self, y: Any, nodes: Any = None, *, graph: Graph | Data | None = None, x: Any = None) -> float:
        """The estimator's metric on some nodes, by default on all that have a class in ``y``.

        Args:
            y: A class for each node of the graph; -1, ``None`` and NaN mean unknown.
            nodes: A mask or indices; all of them must have a class.
            graph: Another graph than the one of :meth:`fit`.
            x: Its features.
        """
        self._check_fitted()
        logits = self._logits(None, graph, x)
        labels = Classes(self.classes_).indices_of(y, len(logits))
        chosen = labels >= 0 if nodes is None else as_node_mask(nodes, len(logits), "nodes")
        check_labelled(labels, chosen, "nodes")
        if not chosen.any():
            raise ValueError("there is nothing to score: name some nodes, and pass their classes in y")
        mask = torch.from_numpy(chosen)
        return score(self.metric, logits.cpu()[mask], torch.from_numpy(labels)[mask])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file: numbers and settings only, nothing of the training graph."""
        self._check_fitted()
        self._stored.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> UniFilterClassifier:
        """A model from a file that :meth:`save` wrote; it predicts on any graph with the same features."""
        stored = StoredModel.load(path)
        known = cls._get_param_names()
        clf = cls(**{name: value for name, value in stored.parameters.items() if name in known})
        clf._take(stored, None, None)
        return clf

    def _method(self) -> UniFilterMethod:
        names = [field.name for field in dataclasses.fields(UniFilterMethod)]
        return UniFilterMethod(**{name: getattr(self, name) for name in names})

    def _adopt(self, fitted: Fitted, problem: Problem, classes: np.ndarray) -> None:
        fact = problem.workspace.factorization(self.features, self.hops, self.self_loops)
        stored = StoredModel.from_fitted(fitted, fact.tridiagonal, classes, self.get_params())
        self._take(stored, fitted, problem)
        self.history_ = fitted.history
        settings, given = fitted.method.settings(), self._method().settings()
        # tau and homophily are found out, not chosen: they have attributes of their own.
        self.chosen_ = {name: value for name, value in settings.items() if given[name] is None and value is not None}

    def _take(self, stored: StoredModel, fitted: Fitted | None, problem: Problem | None) -> None:
        self._stored, self._fitted, self._problem = stored, fitted, problem
        self.classes_ = stored.classes
        self.weights_ = stored.weights.numpy().copy()
        self.tau_, self.homophily_ = stored.tau, stored.homophily
        self.n_features_in_ = stored.tridiagonal.channels

    def _workspace_for(self, dataset: NodeDataset) -> Workspace:
        device = self.device or "cpu"
        key = (dataset.graph.checksum, features_digest(dataset.features), device)
        known_key, known = getattr(self, "_workspace", (None, None))
        workspace = known.with_labels(dataset) if known is not None and known_key == key else Workspace(dataset, device)
        self._workspace = key, workspace
        return workspace

    def _logits(self, nodes: Any, graph: Graph | Data | None, x: Any) -> Tensor:
        self._check_fitted()
        if graph is not None and not isinstance(graph, Graph):
            graph, x = _graph_and_features(graph, x)
        if (graph is None) != (x is None):
            raise ValueError("another graph comes with its features: pass both graph and x")
        if graph is not None:
            logits = self._stored.logits(graph, x)
            return logits[_picked(torch.arange(len(logits)), nodes, len(logits))]
        if self._fitted is None or self._problem is None:
            raise ValueError("a loaded model has no graph of its own: pass one, predict(graph=graph, x=features)")
        workspace = self._problem.workspace
        every = torch.arange(workspace.dataset.num_nodes, device=workspace.device)
        return self._fitted.logits(_picked(every, nodes, len(every)))

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this UniFilterClassifier is not fitted yet: call fit first, or load a model")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_stored")


def _picked(every: Tensor, nodes: Any, num_nodes: int) -> Tensor:
    """Indices in the order they were given in; of a mask, in ascending order."""
    if nodes is None:
        return every
    mask = as_node_mask(nodes, num_nodes, "nodes")
    values = nodes.detach().cpu().numpy() if isinstance(nodes, Tensor) else np.asarray(nodes)
    chosen = np.flatnonzero(mask) if values.dtype == bool else values.astype(np.int64)
    return every[torch.from_numpy(chosen)]


def _graph_and_features(data: Any, x: Any) -> tuple[Graph, Any]:
    if not hasattr(data, "edge_index"):
        raise ValueError(
            f"a graph is a Graph or a PyG Data, not {type(data).__name__}: build one with Graph.from_edges"
        )
    return Graph.from_data(data), getattr(data, "x", None) if x is None else x


def _mask_of(data: Any, name: str, given: Any) -> Any:
    mask = getattr(data, f"{name}_mask", None) if given is None else given
    if mask is not None and getattr(mask, "ndim", 1) == 2:
        raise ValueError(
            f"{name}_mask has shape {list(mask.shape)}, one column a split: pick one, "
            f"fit(data, {name}=data.{name}_mask[:, 0])"
        )
    return mask


def _fingerprint(method: UniFilterMethod, problem: Problem) -> str:
    """What a checkpoint must be of: the settings, the data and the nodes."""
    digest = hashlib.sha256(f"{method.settings()} {problem.dataset.checksum}\n".encode())
    for nodes in (problem.train, problem.val):
        digest.update(f"{nodes.tolist()}\n".encode())
    return digest.hexdigest()
