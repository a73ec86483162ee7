"""A graph with features, labels and splits: what every loader returns."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.checks import as_labels, as_node_mask, check_choice, without_torch_notices
from unifilter._internal.extras import require
from unifilter.data.features import FeatureScaling, checked_features, features_digest, pack_features, scale_rows
from unifilter.data.metric import METRICS, Metric
from unifilter.data.splits import Split, check_split, masks_to_splits, named_random_splits, stratified_split
from unifilter.graph import Graph

if TYPE_CHECKING:
    from torch_geometric.data import Data

# Splits are named after the shares of the nodes that they train on, and can be asked for by that number.
_SHORT_NAMES = {"60": "random-60-20-20", "48": "geom-gcn-48-32-20"}
# How many stratified splits `to_data` draws: as many as every other rule has.
_STRATIFIED_SPLITS = 10


@dataclass(frozen=True, eq=False, repr=False)
class NodeDataset:
    """A graph whose nodes have features and, some or all of them, labels.

    Attributes:
        name: Name of the data set, or the stem of the file it came from.
        graph: The graph.
        features: ``[num_nodes, num_features]``, float32 or float64; a sparse CSR tensor where they came sparse.
        labels: Class indices, int64 ``[num_nodes]``; -1 is unknown.
        class_names: What the classes are called, in the order of their indices.
        splits: The splits the data set comes with, by the name of their rule.
        metric: How it is scored.
        feature_scaling: ``"raw"``, ``"row"`` (each row divided by its absolute sum) or ``"l2"`` (by its length).
        citation, licence: Whom to cite, and what is allowed.
        source: Where it was found, such as a folder, a file name or a package.

    Example:
        >>> import torch
        >>> from unifilter import Graph
        >>> from unifilter.data import NodeDataset
        >>> path = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
        >>> NodeDataset("path", path, torch.eye(3), torch.tensor([0, 1, -1]))
        NodeDataset('path', nodes=3, edges=2, features=3, classes=2, splits=[])
    """

    name: str
    graph: Graph
    features: Tensor
    labels: Tensor
    class_names: tuple[str, ...] = ()
    splits: Mapping[str, tuple[Split, ...]] = field(default_factory=dict)
    metric: Metric = "accuracy"
    feature_scaling: FeatureScaling = "raw"
    citation: str = ""
    licence: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        check_choice("metric", self.metric, METRICS)
        check_choice("feature_scaling", self.feature_scaling, ("raw", "row", "l2"))
        nodes = self.graph.num_nodes
        labels = as_labels(self.labels, nodes)
        if self.class_names and len(self.class_names) <= labels.max():
            raise ValueError(
                f"node {int(labels.argmax())} is of class {labels.max()}, but there are {len(self.class_names)} "
                "class_names: name every class, or leave class_names out"
            )
        for split_set in self.splits.values():
            for split in split_set:
                check_split(split, labels)
        # The fields are frozen for users; here they are put into the one form that the rest can rely on.
        for name, value in (
            ("features", checked_features(self.features, nodes)),
            ("labels", torch.from_numpy(labels)),
            ("class_names", tuple(self.class_names)),
            ("splits", {name: tuple(split_set) for name, split_set in self.splits.items()}),
        ):
            object.__setattr__(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        # torch cannot pickle sparse tensors, so these are stored as what they are made of.
        state = {**self.__dict__}
        if self.features.layout == torch.sparse_csr:
            x = self.features
            state["features"] = x.crow_indices(), x.col_indices(), x.values(), tuple(x.shape)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state["features"], tuple):
            starts, columns, values, shape = state["features"]
            with without_torch_notices():
                rows = torch.sparse_csr_tensor(starts, columns, values, shape, check_invariants=False)
            state = {**state, "features": rows}
        self.__dict__.update(state)

    def __repr__(self) -> str:
        scaling = "" if self.feature_scaling == "raw" else f", feature_scaling={self.feature_scaling!r}"
        return (
            f"{type(self).__name__}({self.name!r}, nodes={self.num_nodes}, edges={self.graph.num_edges}, "
            f"features={self.num_features}, classes={self.num_classes}, splits={list(self.splits)}{scaling})"
        )

    @property
    def num_nodes(self) -> int:
        return self.graph.num_nodes

    @property
    def num_features(self) -> int:
        return self.features.shape[1]

    @property
    def num_classes(self) -> int:
        """The classes that have a name, and at least those that occur."""
        return max(len(self.class_names), int(self.labels.max()) + 1)

    @property
    def class_values(self) -> np.ndarray:
        """What is predicted: the names of the classes, or their numbers where they have none."""
        return np.array(self.class_names or [str(index) for index in range(self.num_classes)])

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the content: edges and weights, features as they are now, labels.

        It is the same on every machine, wherever the data was found, and whether the features are sparse or dense.
        """
        digest = hashlib.sha256(b"unifilter data set, form 1\n")
        self.graph.update_digest(digest)
        digest.update(features_digest(self.features))
        digest.update(self.labels.numpy().astype("<i8").tobytes())
        return digest.hexdigest()

    def scaled(self, scaling: FeatureScaling) -> NodeDataset:
        """The same data with each row of the features divided by its absolute sum (``"row"``) or its length (``"l2"``).

        Rows of zeros stay zero, and sparse features sparse.
        """
        check_choice("features", scaling, ("raw", "row", "l2"))
        if scaling == self.feature_scaling:
            return self
        if scaling == "raw" or self.feature_scaling != "raw":
            raise ValueError(
                f"the features of {self.name!r} are already scaled ({self.feature_scaling!r}) and cannot become "
                f'{scaling!r}: load the data set again with features="{scaling}"'
            )
        return self.with_checked(features=scale_rows(self.features, scaling), feature_scaling=scaling)

    def with_checked(self, **changes: Any) -> NodeDataset:
        """The same data with some attributes changed to what is known to be right: nothing is checked again."""
        other = copy.copy(self)
        other.__dict__.pop("checksum", None)
        for name, value in changes.items():
            object.__setattr__(other, name, value)
        return other

    def split(self, name: str, index: int = 0) -> Split:
        """One split by the name of its rule.

        Args:
            name: One of ``splits``, or a rule that is drawn on demand: ``"60"``, the random 60/20/20 splits of the
                polynomial papers; the same with other shares, such as ``"random-48-32-20"``; or ``"stratified"``,
                60/20/20 in every class. ``"48"`` is short for the 48/32/20 masks of Geom-GCN, which come with the
                files.
            index: Which of its splits, from 0.
        """
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)) or index < 0:
            raise ValueError(f"the index of a split must be a whole number of at least 0, not {index!r}: pass 0")
        if name == "stratified" and name not in self.splits:
            return stratified_split(self.labels, 0.6, 0.2, seed=int(index))
        found = self._split_set(name)
        if index >= len(found):
            raise ValueError(
                f"{self.name!r} has {len(found)} {name!r} splits, there is no number {index}: "
                f"pass an index from 0 to {len(found) - 1}"
            )
        return found[index]

    def _split_set(self, name: str) -> tuple[Split, ...]:
        full = _SHORT_NAMES.get(name, name)
        if full in self.splits:
            return self.splits[full]
        drawn = named_random_splits(self.labels, full)
        if drawn is not None:
            return drawn
        if full == "stratified":
            return tuple(stratified_split(self.labels, 0.6, 0.2, seed=seed) for seed in range(_STRATIFIED_SPLITS))
        known = [*self.splits, "60", "stratified"]
        if _SHORT_NAMES["48"] in self.splits:
            known.append("48")
        raise ValueError(
            f"{self.name!r} has no split {name!r}: it has {', '.join(map(repr, known))}, "
            "and random ones of any shares, such as 'random-48-32-20'"
        )

    def to_data(self, split: str | None = None, *, sparse: bool = False) -> Data:
        """A PyG ``Data`` with ``x``, ``edge_index`` in both directions, ``y`` and, where there are splits, masks.

        Args:
            split: Whose masks: a name that :meth:`split` takes; by default the first of ``splits``. The masks have
                shape ``[num_nodes, number of splits]``.
            sparse: Keep sparse features sparse, as a torch CSR tensor.
        """
        require("pyg", what="to_data")
        from torch_geometric.data import Data

        adjacency = self.graph.adjacency()
        sources = torch.repeat_interleave(torch.arange(self.num_nodes), self.graph.row_start.cpu().diff())
        keep_sparse = sparse or self.features.layout == torch.strided
        data = Data(
            x=self.features if keep_sparse else self.features.to_dense(),
            edge_index=torch.stack([sources.to(self.graph.device), adjacency.col_indices()]),
            y=self.labels,
        )
        data.num_nodes = self.num_nodes
        data.name = self.name
        if self.graph.weights is not None:
            data.edge_weight = self.graph.weights
        if split is None and self.splits:
            split = next(iter(self.splits))
        if split is not None:
            chosen = self._split_set(split)
            for part in ("train", "val", "test"):
                columns = [as_node_mask(getattr(one, part), self.num_nodes, part) for one in chosen]
                data[f"{part}_mask"] = torch.from_numpy(np.stack(columns, axis=1))
        return data

    @classmethod
    def from_data(cls, data: Data, name: str | None = None, *, metric: Metric = "accuracy") -> NodeDataset:
        """A data set from a PyG ``Data``: ``x``, ``edge_index``, ``y`` and, where it has them, weights and masks.

        Args:
            data: The graph. Without ``y``, every label is unknown. Masks, ``[num_nodes]`` or ``[num_nodes, splits]``,
                become the splits ``"given"``.
            name: Name of the data set; by default ``data.name``, else ``"data"``.
            metric: How it is scored.
        """
        if getattr(data, "x", None) is None:
            raise ValueError("this Data object has no features: set data.x (a [num_nodes, num_features] tensor) first")
        graph = Graph.from_data(data)
        y = getattr(data, "y", None)
        labels = torch.full((graph.num_nodes,), -1) if y is None else y
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]  # OGB's form
        return cls(
            name=str(getattr(data, "name", "data")) if name is None else name,
            graph=graph,
            features=pack_features(data.x),
            labels=labels,
            splits=_splits_of_masks(data, graph.num_nodes),
            metric=metric,
            source="a PyG Data object",
        )


def _splits_of_masks(data: Data, num_nodes: int) -> dict[str, tuple[Split, ...]]:
    masks = {part: getattr(data, f"{part}_mask", None) for part in ("train", "val", "test")}
    there = [part for part, mask in masks.items() if mask is not None]
    if not there:
        return {}
    for part, mask in masks.items():
        if mask is None:
            raise ValueError(
                f"this Data object has {there[0]}_mask but no {part}_mask: set all three, or delete the others"
            )
        if mask.shape[0] != num_nodes:
            raise ValueError(
                f"{part}_mask has shape {list(mask.shape)}, but the graph has {num_nodes} nodes: pass one value, or "
                "one row of values, per node"
            )
    return {"given": masks_to_splits("given", **masks)}
