"""What a method is given: a graph with features and labels, nodes to learn from, and what methods can share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.checks import check_device
from unifilter.data import FeatureScaling, NodeDataset, check_learnable
from unifilter.factorization import Factorization, factorize
from unifilter.graph import Graph, SelfLoops
from unifilter.nn import Features, SparseRows


class Workspace:
    """A data set, and what all methods, splits and settings share of it.

    One factorization is kept for each scaling of the features and kind of self-loops, the longest that was asked for:
    it contains all shorter ones. A sweep over hops, splits, tau, homophily or polynomial families touches the graph
    once.

    Args:
        dataset: The data set, with raw features.
        device: Where features and factorizations live.
    """

    def __init__(self, dataset: NodeDataset, device: torch.device | str = "cpu") -> None:
        self.dataset = dataset
        self.device = check_device(device)
        self._scaled: dict[FeatureScaling, NodeDataset] = {}
        self._sparse: dict[FeatureScaling, SparseRows] = {}
        self._graphs: dict[SelfLoops, Graph] = {}
        self._factorizations: dict[tuple[FeatureScaling, SelfLoops], Factorization] = {}
        self._expected_hops = 0

    def with_labels(self, dataset: NodeDataset) -> Workspace:
        """A workspace for the same graph and features with other labels: it shares every factorization."""
        other = Workspace(dataset, self.device)
        other._scaled, other._sparse, other._graphs = self._scaled, self._sparse, self._graphs
        other._factorizations = self._factorizations
        return other

    def scaled(self, scaling: FeatureScaling) -> NodeDataset:
        """The data set with its features scaled."""
        if scaling not in self._scaled:
            self._scaled[scaling] = self.dataset.scaled(scaling)
        return self._scaled[scaling]

    def features(self, scaling: FeatureScaling) -> Tensor:
        """Dense features on the device."""
        features = self.scaled(scaling).features
        return (features if features.layout == torch.strided else features.to_dense()).to(self.device)

    def inputs(self, scaling: FeatureScaling) -> Features:
        """Features for a model's first layer: sparse where they are stored so and the device is the CPU."""
        features = self.scaled(scaling).features
        if features.layout == torch.strided or self.device.type != "cpu":
            return self.features(scaling)
        if scaling not in self._sparse:
            self._sparse[scaling] = SparseRows(features)
        return self._sparse[scaling]

    def graph(self, self_loops: SelfLoops = "remove") -> Graph:
        """The graph on the device, with self-loops added or without any."""
        if self_loops not in self._graphs:
            self._graphs[self_loops] = self.dataset.graph.with_self_loops(self_loops).to(self.device)
        return self._graphs[self_loops]

    def expect_hops(self, *hops: int) -> None:
        """Say how many hops will be asked for, so that the first factorization is long enough for all."""
        self._expected_hops = max((self._expected_hops, *hops))

    def factorization(self, scaling: FeatureScaling, hops: int, self_loops: SelfLoops = "remove") -> Factorization:
        """The factorization of the scaled features, computed when it is first asked for."""
        key = (scaling, self_loops)
        known = self._factorizations.get(key)
        if known is None or known.hops < hops:
            features = self.scaled(scaling).features.to(self.device)
            longest = max(hops, self._expected_hops)
            known = self._factorizations[key] = factorize(self.graph(self_loops), features, longest)
        return known.truncate(hops)

    @cached_property
    def labels(self) -> Tensor:
        return self.dataset.labels.to(self.device)


@dataclass(frozen=True, eq=False)
class Problem:
    """Nodes of a workspace to learn from and to stop by.

    Attributes:
        workspace: The data and what is shared.
        train, val: Node indices.
    """

    workspace: Workspace
    train: np.ndarray
    val: np.ndarray

    def __post_init__(self) -> None:
        check_learnable(self.dataset.labels.cpu().numpy()[self.train], self.dataset.class_names)

    @property
    def dataset(self) -> NodeDataset:
        return self.workspace.dataset

    @property
    def num_classes(self) -> int:
        return self.dataset.num_classes
