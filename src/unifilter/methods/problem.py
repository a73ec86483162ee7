"""The input of a method: a graph with features and labels, training nodes, and computations that methods share."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.checks import check_device
from unifilter.data import (
    ArrayPreparation,
    FeatureScaling,
    NodeDataset,
    Preparation,
    TableEncoder,
    TablePreparation,
    check_learnable,
)
from unifilter.factorization import Factorization, SharedFactorization, StoredFactorization, factorize
from unifilter.graph import Graph, SelfLoops, estimate_homophily, label_set_homophily, value_homophily
from unifilter.methods.storage import Storage, computed_once, fits_in_memory, has_room, holds
from unifilter.nn import Features, SparseRows
from unifilter.nn.shared_uni_filter import sketch_for
from unifilter.training import Classification, MultiLabel, Regression, Task


@dataclass(eq=False)
class _Prepared:
    """Features with one scaling, and the factorizations computed from them."""

    preparation: Preparation
    features: Tensor
    sparse: SparseRows | None = None
    factorizations: dict[SelfLoops, Factorization | StoredFactorization] = field(default_factory=dict)
    shared: dict[SelfLoops, SharedFactorization] = field(default_factory=dict)


class Workspace:
    """A data set, and the computations on it that all methods, splits and settings share.

    For each feature scaling and kind of self-loops, the workspace keeps the longest factorization requested so far. It
    contains all shorter ones. A sweep over hops, splits, tau, homophily or polynomial families touches the graph once.
    If columns are scaled by statistics of the training nodes, which differ from split to split, each set of training
    nodes has its own features and factorizations: see :meth:`fitted_on`.

    Args:
        dataset: The data set, with raw features or a table.
        device: Device of features and factorizations.
        storage: Storage for a factorization that does not fit into memory; without storage it is refused.
    """

    def __init__(
        self, dataset: NodeDataset, device: torch.device | str = "cpu", storage: Storage | None = None
    ) -> None:
        self.dataset = dataset
        self.device = check_device(device)
        if storage is not None and self.device.type != "cpu":
            raise ValueError(f"memory_limit is for the CPU, and the device is {self.device}: leave one of them out")
        self.storage = storage
        self._rows: np.ndarray | None = None
        self._shared: dict[str, _Prepared] = {}
        self._own: dict[str, _Prepared] = {}
        self._graphs: dict[SelfLoops, Graph] = {}
        self._expected_hops = 0
        self._latest: Workspace | None = None

    def with_labels(self, dataset: NodeDataset) -> Workspace:
        """A workspace for the same graph and features with other labels. Both share every factorization."""
        other = Workspace(dataset, self.device, self.storage)
        other._rows, other._latest, other._expected_hops = self._rows, self._latest, self._expected_hops
        other._shared, other._own, other._graphs = self._shared, self._own, self._graphs
        return other

    def fitted_on(self, train: np.ndarray) -> Workspace:
        """The workspace with column statistics of these nodes. Everything independent of the nodes is shared."""
        if self._rows is not None and np.array_equal(self._rows, train):
            return self
        if self._latest is not None and np.array_equal(self._latest._rows, train):  # type: ignore[arg-type]
            known = self._latest.with_labels(self.dataset)
            known.expect_hops(self._expected_hops)
            return known
        other = Workspace(self.dataset, self.device, self.storage)
        other._rows, other._expected_hops = train, self._expected_hops
        other._shared, other._graphs = self._shared, self._graphs
        # The latest workspace is kept for another fit on the same nodes.
        self._latest = other
        return other

    def preparation(self, scaling: FeatureScaling) -> Preparation:
        """The preparation of the features for a network."""
        return self._prepared(scaling).preparation

    def features(self, scaling: FeatureScaling) -> Tensor:
        """Dense features on the device."""
        features = self._prepared(scaling).features
        return (features if features.layout == torch.strided else features.to_dense()).to(self.device)

    def inputs(self, scaling: FeatureScaling) -> Features:
        """Features for a model's first layer: sparse where they are stored so and the device is the CPU."""
        prepared = self._prepared(scaling)
        if prepared.features.layout == torch.strided or self.device.type != "cpu":
            return self.features(scaling)
        if prepared.sparse is None:
            prepared.sparse = SparseRows(prepared.features)
        return prepared.sparse

    def graph(self, self_loops: SelfLoops = "remove") -> Graph:
        """The graph on the device, with self-loops added or removed."""
        if self_loops not in self._graphs:
            self._graphs[self_loops] = self.dataset.graph.with_self_loops(self_loops).to(self.device)
        return self._graphs[self_loops]

    def expect_hops(self, *hops: int) -> None:
        """Announce the numbers of hops to come, so that the first factorization is long enough for all."""
        self._expected_hops = max((self._expected_hops, *hops))

    def factorization(self, scaling: FeatureScaling, hops: int, self_loops: SelfLoops = "remove") -> Factorization:
        """The factorization of the prepared features in memory, computed on first use."""
        fact = self.any_factorization(scaling, hops, self_loops, None)
        if isinstance(fact, StoredFactorization):
            raise ValueError(
                "this needs the factorization in memory, and it is on the disk: leave memory_limit out, or raise it"
            )
        return fact

    def any_factorization(
        self, scaling: FeatureScaling, hops: int, self_loops: SelfLoops, nodes: np.ndarray | None
    ) -> Factorization | StoredFactorization:
        """The factorization in memory, or on disk if it does not fit into memory.

        Args:
            scaling: Scaling of the features.
            hops: Number of hops.
            self_loops: Whether self-loops of the graph are removed or added.
            nodes: Training nodes, whose rows are always needed; ``None`` requires all rows in memory.
        """
        prepared = self._prepared(scaling)
        known = prepared.factorizations.get(self_loops)
        if isinstance(known, StoredFactorization) and not holds(known, nodes):
            known = None
        if known is None or known.hops < hops:
            prepared.factorizations.pop(self_loops, None)
            longest = max(hops, self._expected_hops)
            features = prepared.features.to(self.device)
            if self.device.type != "cpu" or fits_in_memory(features, longest, self.storage, nodes is not None):
                work = partial(factorize, self.graph(self_loops), features, longest)
                known = computed_once(work) if self.device.type == "cpu" else work()
            else:
                # Without storage, `fits_in_memory` has already raised the error.
                assert self.storage is not None
                known = self.storage.factorize(self.graph(self_loops), features, longest, nodes)
            prepared.factorizations[self_loops] = known
        return known.truncate(hops)

    def shared_factorization(
        self, scaling: FeatureScaling, hops: int, self_loops: SelfLoops = "remove"
    ) -> SharedFactorization:
        """The factorization with one recurrence for all channels. Only the one for the last number of hops is kept."""
        prepared = self._prepared(scaling)
        known = prepared.shared.get(self_loops)
        if known is None or known.hops != hops:
            x = prepared.features.to(self.device)
            known = factorize(self.graph(self_loops), x, hops, channels="shared", sketch=sketch_for(x.shape[1]))
            prepared.shared[self_loops] = known
        return known

    def vectors_fit(self, scaling: FeatureScaling, hops: int) -> bool:
        """Whether the vectors of a factorization fit into memory."""
        if self.device.type != "cpu":
            return True
        return has_room(self._prepared(scaling).features, hops, self.storage)

    def prepared_features(self, scaling: FeatureScaling) -> Tensor:
        """The prepared features that are factored, dense or sparse."""
        return self._prepared(scaling).features

    @cached_property
    def labels(self) -> Tensor:
        return self.dataset.labels.to(self.device)

    def _prepared(self, scaling: FeatureScaling) -> _Prepared:
        """The features with a scaling. A table is encoded by the types of its columns, for every scaling."""
        form = "table" if self.dataset.table is not None else scaling
        forms = self._own if form in ("table", "standard") else self._shared
        if form not in forms:
            forms[form] = self._prepare(scaling)
        return forms[form]

    def _prepare(self, scaling: FeatureScaling) -> _Prepared:
        dataset = self.dataset
        if dataset.table is not None:
            encoder = TablePreparation(TableEncoder.fit(dataset.table, self._rows))
            # Values of the table that the training rows lack are expected here and raise no error.
            return _Prepared(encoder, encoder.prepare_known(dataset.table, dataset.features.dtype))
        if dataset.feature_scaling != "raw":
            # The features are already scaled. The same scaling is skipped, and a different one is refused. Scaling rows
            # twice is harmless. The column statistics are unknown, so new data must also be scaled by the user.
            again: FeatureScaling = "raw" if scaling == "standard" else scaling
            return _Prepared(ArrayPreparation(dataset.num_features, again), dataset.scaled(scaling).features)
        preparation = ArrayPreparation.fit(dataset.features, scaling, self._rows)
        return _Prepared(preparation, preparation.apply(dataset.features))


@dataclass(frozen=True, eq=False)
class Problem:
    """A workspace with training nodes, and validation nodes for early stopping.

    Attributes:
        workspace: The data and shared computations, with column statistics of the training nodes.
        train, val: Node indices.
        weights: Weight of each node in the loss ``[num_nodes]``; ``None`` for equal weights.
    """

    workspace: Workspace
    train: np.ndarray
    val: np.ndarray
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "workspace", self.workspace.fitted_on(np.asarray(self.train)))
        if self.dataset.targets is None:
            check_learnable(self.dataset.labels.cpu().numpy()[self.train], self.dataset.class_names)
        else:
            _check_known(self.dataset.targets.numpy()[self.train], self.dataset.class_values)
        if self.weights is not None:
            for name, nodes in (("training", self.train), ("validation", self.val)):
                if not self.weights[nodes].any():
                    raise ValueError(f"every {name} node has the weight 0: give some of them a positive one")

    @property
    def dataset(self) -> NodeDataset:
        return self.workspace.dataset

    def num_features(self, scaling: FeatureScaling) -> int:
        """Number of input columns of a network."""
        return self.workspace.preparation(scaling).num_features

    @cached_property
    def task(self) -> Task:
        """The learning task, on the device."""
        dataset, device = self.dataset, self.workspace.device
        weights = None if self.weights is None else torch.as_tensor(self.weights, dtype=torch.float64)
        if dataset.targets is None:
            return Classification(dataset.labels, dataset.num_classes, weights).to(device)
        if dataset.task == "multilabel":
            return MultiLabel(dataset.targets, weights).to(device)
        center, scale = _center_and_scale(dataset, self.train, self.weights)
        return Regression(dataset.targets, center, scale, weights).to(device)

    def estimate_homophily(self) -> float:
        """The homophily, estimated from the training labels alone."""
        dataset = self.dataset
        if dataset.targets is None:
            return float(estimate_homophily(dataset.graph, dataset.labels, self.train))
        known = np.full(tuple(dataset.targets.shape), np.nan)
        known[self.train] = dataset.targets.numpy()[self.train]
        measure = label_set_homophily if dataset.task == "multilabel" else value_homophily
        return measure(dataset.graph, known)


def _check_known(targets: np.ndarray, names: np.ndarray) -> None:
    """Check that every target or label is known at some training node."""
    unknown = np.flatnonzero(np.isnan(targets).all(axis=0))
    if len(unknown):
        raise ValueError(
            f"{str(names[unknown[0]])!r} is unknown at every training node: leave it out, or train on nodes with it"
        )


def _center_and_scale(dataset: NodeDataset, train: np.ndarray, weights: np.ndarray | None) -> tuple[Tensor, Tensor]:
    """Weighted mean and standard deviation of each target over the training nodes."""
    values = dataset.targets.numpy()[train]  # type: ignore[union-attr]
    counts = np.ones(len(train)) if weights is None else weights[train]
    found = []
    for name, column in zip(dataset.class_values, values.T, strict=True):
        counted = ~np.isnan(column) & (counts > 0)
        numbers, share = column[counted], counts[counted]
        # A zero deviation is no test: the mean of equal numbers may differ from them by a rounding error.
        if len(np.unique(numbers)) < 2:
            said = f"{numbers[0]:g}" if len(numbers) else "unknown"
            raise ValueError(
                f"{str(name)!r} is {said} at every training node that counts: a regressor needs values that differ"
            )
        mean = np.average(numbers, weights=share)
        found.append((mean, np.sqrt(np.average((numbers - mean) ** 2, weights=share))))
    center, scale = np.array(found).T
    return torch.from_numpy(center.copy()), torch.from_numpy(scale.copy())
